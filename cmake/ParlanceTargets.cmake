# Targets by folder, so that a new source file, test or fuzz target needs no edit of a CMake file.

# Many small sources that include the same headers: several are compiled as one, which is most of what makes a build
# fast. OFF compiles each source by itself, as editors like it and as an edit of one file is tried soonest.
option(PARLANCE_UNITY "Compile several sources of a folder at once" ON)
set(unity_batch 48)
if(PARLANCE_SANITIZE)  # what is instrumented takes the compiler long as it is
  set(unity_batch 8)
endif()

# Kernels for one instruction set are compiled by themselves (each defines what the set's shared headers need), and those
# for other processors than the one that is built for not at all.
set(instruction_sets "(/|_)(avx2|avx512|amx|neon)(/|\\.cpp$)")
set(foreign_sets "(/|_)neon(/|\\.cpp$)")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  set(foreign_sets "(/|_)(avx2|avx512|amx)(/|\\.cpp$)")
endif()

# Where loops are arithmetic, they are optimised as far as the compiler can.
set(arithmetic_folders kernels kernels/cpu quant kv audio echo vad sampling)
# Where others are told what to compute, light optimisation makes a fifth less to compile and no difference to anybody; and
# where that happens once for each command, request or phrase, the lightest makes another fifth.
set(directing_folders kernels/vulkan models voice verify)
set(commanding_folders assistant bundle capi chat cli convert eval http hub jinja measure realtime server wyoming)

# Tests and fuzz targets are compiled more often than they run long: light optimisation halves their share of a build.
# What they take from a container that does not have it ends them with a word, not with a guess; what they test has
# assertions where it is compiled for that.
set(test_options $<$<NOT:$<CONFIG:Debug>>:-Og> -UNDEBUG -D_GLIBCXX_ASSERTIONS $<$<CONFIG:Debug>:-DPARLANCE_HAS_ASSERTIONS>)
# And linked by the faster of binutils' two linkers, where it is: 80 programs in half the time.
set(test_link_options)
find_program(PARLANCE_GOLD ld.gold)
if(PARLANCE_GOLD AND NOT CMAKE_CROSSCOMPILING AND NOT PARLANCE_SANITIZE)
  set(test_link_options -fuse-ld=gold)
endif()

# parlance_library(kernels/cpu DEPENDS ...) makes the static library parlance_kernels_cpu of src/kernels/cpu/**.
# Sub-folders that are libraries of their own (kernels/cpu below kernels) are left out.
function(parlance_library folder)
  cmake_parse_arguments(ARG "" "" "DEPENDS" ${ARGN})
  string(REPLACE "/" "_" name parlance_${folder})
  set(recurse GLOB_RECURSE)
  if(folder STREQUAL "kernels")
    set(recurse GLOB)
  endif()
  file(${recurse} sources RELATIVE ${CMAKE_SOURCE_DIR} CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${folder}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "/cli/main\\.cpp$|/capi/profile\\.cpp$|${foreign_sets}")
  if(NOT sources)
    add_library(${name} INTERFACE)
    target_include_directories(${name} INTERFACE ${CMAKE_SOURCE_DIR}/src)
    target_link_libraries(${name} INTERFACE ${ARG_DEPENDS})
    return()
  endif()
  add_library(${name} STATIC ${sources})
  target_include_directories(${name} PUBLIC ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(${name} PUBLIC ${ARG_DEPENDS})
  if(folder IN_LIST arithmetic_folders)
    target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O3>)
  elseif(folder IN_LIST directing_folders)
    target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  elseif(folder IN_LIST commanding_folders)
    target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-Og>)
  endif()
  set_target_properties(${name} PROPERTIES UNITY_BUILD ${PARLANCE_UNITY} UNITY_BUILD_BATCH_SIZE ${unity_batch})
  list(FILTER sources INCLUDE REGEX ${instruction_sets})
  set_source_files_properties(${sources} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# parlance_compiled_together(server listener connection): these sources of src/server/ are compiled as one, and not with
# the others.
function(parlance_compiled_together folder)
  string(REPLACE "/" "_" name parlance_${folder})
  list(TRANSFORM ARGN REPLACE "(.+)" "${CMAKE_SOURCE_DIR}/src/${folder}/\\1.cpp" OUTPUT_VARIABLE together)
  get_target_property(sources ${name} SOURCES)
  list(TRANSFORM sources PREPEND ${CMAKE_SOURCE_DIR}/)
  list(REMOVE_ITEM sources ${together})
  set_target_properties(${name} PROPERTIES UNITY_BUILD_MODE GROUP)
  set_source_files_properties(${together} PROPERTIES UNITY_GROUP together)
  set(n 0)
  foreach(source ${sources})
    math(EXPR batch "${n} / ${unity_batch}")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP others_${batch})
    math(EXPR n "${n} + 1")
  endforeach()
endfunction()

# parlance_precompile(parlance_test_headers support/precompiled DEPENDS ...): reads support/precompiled.h once for all programs
# that share it; by g++, to which it does not matter that some of them are compiled with definitions of their own.
# Sources include what they need themselves, since other compilers and editors have nothing else.
set(pch_launcher)
if(CCACHE)  # which takes what was read before for a header like others only where it is told to
  set(pch_launcher ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
endif()
function(parlance_precompile target stem)
  cmake_parse_arguments(ARG "" "" "DEPENDS" ${ARGN})
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    return()
  endif()
  add_executable(${target} EXCLUDE_FROM_ALL ${stem}.cpp)
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/src)
  target_include_directories(${target} SYSTEM PRIVATE ${FMT_INCLUDE_DIR})
  target_link_libraries(${target} PRIVATE ${ARG_DEPENDS})
  target_compile_options(${target} PRIVATE ${test_options} -fpch-preprocess)
  target_precompile_headers(${target} PRIVATE ${stem}.h)
  set_target_properties(${target} PROPERTIES CXX_COMPILER_LAUNCHER "${pch_launcher}")
endfunction()

# parlance_headers_of(gguf_test parlance_test_headers): a program is one of those.
function(parlance_headers_of program target)
  if(TARGET ${target})
    target_precompile_headers(${program} REUSE_FROM ${target})
    target_compile_options(${program} PRIVATE -fpch-preprocess)
    set_target_properties(${program} PROPERTIES CXX_COMPILER_LAUNCHER "${pch_launcher}")
  endif()
endfunction()

# parlance_tests(tokenizer DEPENDS ...) makes one GoogleTest program of tests/tokenizer/**_test.cpp.
function(parlance_tests folder)
  cmake_parse_arguments(ARG "" "" "DEPENDS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*_test.cpp)
  if(NOT sources)
    return()
  endif()
  string(REPLACE "/" "_" name ${folder}_test)
  add_executable(${name} ${sources})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests)
  target_link_libraries(${name} PRIVATE parlance_test_main ${ARG_DEPENDS} parlance_test_support)
  target_compile_options(${name} PRIVATE ${test_options})
  target_link_options(${name} PRIVATE $<$<NOT:$<BOOL:${CMAKE_CUDA_COMPILER}>>:${test_link_options}>)
  set_target_properties(${name} PROPERTIES UNITY_BUILD ${PARLANCE_UNITY} UNITY_BUILD_BATCH_SIZE ${unity_batch})
  parlance_headers_of(${name} parlance_test_headers)
  add_test(NAME ${folder} COMMAND ${name})
  # What tests find out about models is nothing that their user should keep.
  set_property(TEST ${folder} APPEND PROPERTY ENVIRONMENT XDG_CACHE_HOME=${CMAKE_BINARY_DIR}/tests-cache GTEST_BRIEF=1)
  set_tests_properties(${folder} PROPERTIES TIMEOUT 600)
endfunction()

# parlance_fuzz(gguf DEPENDS ... FIXTURES text/models) makes one program for each fuzz/gguf/*_fuzz.cpp: a libFuzzer
# target with clang and PARLANCE_LIBFUZZER, else linked with fuzz/driver.cpp, which runs a bounded number of
# mutations of a corpus, and registered as the test fuzz_<name>. The corpus is fuzz/gguf/corpus/<name>_fuzz/ and the
# named files or folders of the recorded fixtures.
function(parlance_fuzz folder)
  cmake_parse_arguments(ARG "" "" "DEPENDS;FIXTURES" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*_fuzz.cpp)
  foreach(source ${sources})
    get_filename_component(name ${source} NAME_WE)
    add_executable(${name} ${source} $<TARGET_OBJECTS:parlance_fuzz_allocations>)
    target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/fuzz)
    target_compile_options(${name} PRIVATE ${test_options})
    target_link_options(${name} PRIVATE $<$<NOT:$<BOOL:${CMAKE_CUDA_COMPILER}>>:${test_link_options}>)
    target_link_libraries(${name} PRIVATE ${ARG_DEPENDS})
    parlance_headers_of(${name} parlance_fuzz_headers)
    if(PARLANCE_LIBFUZZER)
      target_link_options(${name} PRIVATE -fsanitize=fuzzer)
      continue()
    endif()
    target_sources(${name} PRIVATE $<TARGET_OBJECTS:parlance_fuzz_driver>)
    set(corpus ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/corpus/${name})
    if(NOT EXISTS ${corpus})
      set(corpus)
    endif()
    foreach(fixture ${ARG_FIXTURES})
      list(APPEND corpus --fixtures ${fixture})
    endforeach()
    string(REGEX REPLACE "_fuzz$" "" test ${name})
    add_test(NAME fuzz_${test} COMMAND ${name} --runs 1000000 --seconds ${PARLANCE_FUZZ_SECONDS} ${corpus})
    set_tests_properties(fuzz_${test} PROPERTIES TIMEOUT 600)
  endforeach()
endfunction()
