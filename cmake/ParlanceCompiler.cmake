# Flags that every target of the project is built with.
set(PARLANCE_SANITIZE "" CACHE STRING "Sanitizers, as -fsanitize= takes them (empty: none)")
option(PARLANCE_LIBFUZZER "Link the fuzz targets with libFuzzer (clang only)" OFF)

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()

# Sums are rounded as written: a contraction to fused multiply-add is chosen by hand, in the kernels.
add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-ffp-contract=off;-fno-math-errno>")
# g++ 12 sees overlapping copies in std::string where there are none (GCC bug 105651).
add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-restrict>)
# It takes sources that are compiled together for headers, whose types should not have members of unnamed namespaces.
add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
# nlohmann-json's comparisons for C++20 are members, and clang does not turn string == json around, as g++ 12 does.
add_compile_definitions($<$<COMPILE_LANG_AND_ID:CXX,Clang>:JSON_HAS_THREE_WAY_COMPARISON=0>)
# g++ 12's library sorts with what its own headers call deprecated.
add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wno-deprecated-declarations>)
# Where there is memory for it, g++ collects no garbage before it has used a gigabyte: a seventh less time for a build.
cmake_host_system_information(RESULT memory_mib QUERY TOTAL_PHYSICAL_MEMORY)
if(memory_mib GREATER 7000)
  add_compile_options("$<$<COMPILE_LANG_AND_ID:CXX,GNU>:SHELL:--param ggc-min-heapsize=1048576>")
endif()
# The most optimisation, and debug information, are for those who gain by them: arithmetic (ParlanceTargets.cmake),
# debug builds, sanitizers' reports. They cost a third of a build.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1 -DNDEBUG")
# Only what a shared library is made for is visible outside of it.
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_CUDA_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
# Contraction is left on in the GPU's kernels: their sums are ordered differently anyway.
add_compile_options("$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra>")
set(CMAKE_CUDA_FLAGS_RELEASE "-O3 -DNDEBUG")
if(PARLANCE_SANITIZE)
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${PARLANCE_SANITIZE};-fno-omit-frame-pointer;-fno-sanitize-recover=all>")
  add_link_options(-fsanitize=${PARLANCE_SANITIZE})
endif()
if(PARLANCE_LIBFUZZER)  # what the targets link is instrumented too, or libFuzzer could not see where an input went
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
