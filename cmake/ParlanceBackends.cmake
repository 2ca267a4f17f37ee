# Which devices beside the CPU are built in. A backend whose compiler is missing becomes a stub that says so.
include(CheckLanguage)
include(ParlanceShaders)
option(PARLANCE_CUDA "Build the CUDA kernels where nvcc is found" ON)
option(PARLANCE_VULKAN "Build the Vulkan kernels where glslc and spirv-val are found" ON)

# parlance_absent(cuda) makes parlance_kernels_cuda of the stub.
function(parlance_absent backend)
  add_library(parlance_kernels_${backend} STATIC ${CMAKE_SOURCE_DIR}/src/kernels/absent/${backend}.cpp)
  target_include_directories(parlance_kernels_${backend} PUBLIC ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(parlance_kernels_${backend} PUBLIC parlance_kernels)
endfunction()

# CUDA: the runtime library is linked statically and looks for the driver when it is first used, so that the program
# starts on machines without one. PARLANCE_CUDA_ARCHITECTURES is what the kernels are compiled for.
function(parlance_cuda_backend)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/kernels/cuda/*.cpp ${CMAKE_SOURCE_DIR}/src/kernels/cuda/*.cu)
  add_library(parlance_kernels_cuda STATIC ${sources})
  target_include_directories(parlance_kernels_cuda PUBLIC ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(parlance_kernels_cuda PUBLIC parlance_kernels CUDA::cudart_static)
  set_target_properties(parlance_kernels_cuda PROPERTIES CUDA_ARCHITECTURES "${PARLANCE_CUDA_ARCHITECTURES}" CUDA_STANDARD 20)
endfunction()

# Vulkan: one SPIR-V module per .comp file, compiled and checked at build time, embedded in the library.
function(parlance_vulkan_backend)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/kernels/vulkan/*.cpp)
  add_library(parlance_kernels_vulkan STATIC ${sources})
  target_include_directories(parlance_kernels_vulkan PUBLIC ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(parlance_kernels_vulkan PUBLIC parlance_kernels ${CMAKE_DL_LIBS})
  parlance_embed_shaders(parlance_kernels_vulkan ${CMAKE_SOURCE_DIR}/src/kernels/vulkan)
endfunction()

if(PARLANCE_CUDA)
  check_language(CUDA)
endif()
if(PARLANCE_CUDA AND CMAKE_CUDA_COMPILER)
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
  set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
  # For the GPU of this machine; without one for 8.0, whose PTX later GPUs compile when they first load it. A build for
  # others to use takes "80-real;90": code for 8.x and 9.0, and PTX for what comes later.
  set(cuda_architectures 80)
  if(EXISTS /dev/nvidia0)
    set(cuda_architectures native)
  endif()
  set(PARLANCE_CUDA_ARCHITECTURES ${cuda_architectures} CACHE STRING "Compute capabilities of the CUDA kernels, as CMAKE_CUDA_ARCHITECTURES")
  set(CMAKE_CUDA_ARCHITECTURES ${PARLANCE_CUDA_ARCHITECTURES})
  enable_language(CUDA)
endif()
if(PARLANCE_CUDA AND CMAKE_CUDA_COMPILER AND CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 13.0)
  if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know that nvcc speaks C++20
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
  endif()
  find_package(CUDAToolkit REQUIRED)
  parlance_cuda_backend()
else()
  message(STATUS "CUDA: not built (nvcc 13.0 or newer not found, or PARLANCE_CUDA is off)")
  parlance_absent(cuda)
endif()

find_path(VOLK_INCLUDE_DIR volk.h)
if(PARLANCE_VULKAN AND GLSLC AND SPIRV_VAL AND VOLK_INCLUDE_DIR)
  enable_language(ASM)
  parlance_vulkan_backend()
else()
  message(STATUS "Vulkan: not built (volk, glslc or spirv-val not found, or PARLANCE_VULKAN is off)")
  parlance_absent(vulkan)
endif()
