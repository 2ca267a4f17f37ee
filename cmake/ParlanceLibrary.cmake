# libelizainference: the C library, in the profiles of which src/capi/exports.txt says what each exports. Its objects are
# compiled once; a profile is one small source and a list for the linker.
include(GNUInstallDirs)

parlance_library(capi DEPENDS parlance_assistant)
target_include_directories(parlance_capi PUBLIC ${CMAKE_SOURCE_DIR}/include)
target_compile_definitions(parlance_capi PRIVATE ELIZA_INFERENCE_ABI=12 ELIZA_INFERENCE_EVERY_FUNCTION
  PARLANCE_VERSION="${PROJECT_VERSION}")

# Sound comes from whoever calls: a library that opens no microphone should not load what microphones take.
add_library(parlance_no_audio_devices STATIC EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/src/audio_devices/absent.cpp)
target_link_libraries(parlance_no_audio_devices PUBLIC parlance_base)

set(exports ${CMAKE_SOURCE_DIR}/src/capi/exports.txt)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${exports})

# parlance_version_script(12 map) writes the linker's list of a profile and puts its name into `map`.
function(parlance_version_script abi result)
  file(STRINGS ${exports} lines REGEX "^[a-z]")
  set(symbols)
  foreach(line ${lines})
    string(REGEX MATCHALL "[^ ]+" words "${line}")
    list(POP_FRONT words symbol)
    if(abi IN_LIST words)
      string(APPEND symbols "    ${symbol};\n")
    endif()
  endforeach()
  set(map ${CMAKE_BINARY_DIR}/exports/abi${abi}.map)
  file(CONFIGURE OUTPUT ${map} CONTENT "{\n  global:\n${symbols}  local:\n    *;\n};\n")
  set(${result} ${map} PARENT_SCOPE)
endfunction()

# The interface with nothing behind it: never installed, and refused by what verifies an installation.
add_library(elizainference_stub SHARED ${CMAKE_SOURCE_DIR}/src/capi_stub/stub.cpp)
target_include_directories(elizainference_stub PRIVATE ${CMAKE_SOURCE_DIR}/include)
set_target_properties(elizainference_stub PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib/stub)

# An installation without one of the names that loaders look for fails.
function(parlance_verified_install abi folder)
  install(CODE "
    execute_process(COMMAND python3 ${CMAKE_SOURCE_DIR}/tools/verify-symbols.py --no-server --abi ${abi}
      --target ${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR}
      --out-dir \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}${folder} RESULT_VARIABLE status)
    if(NOT status EQUAL 0)
      message(FATAL_ERROR \"libelizainference: the profile ${abi} was not verified (by python3) to be what loaders expect\")
    endif()" COMPONENT library)
endfunction()

# elizainference.pc, elizainference-4.pc: which library, and which profile of the header.
function(parlance_pkg_config abi folder)
  set(name elizainference)
  if(NOT folder STREQUAL "")
    set(name elizainference-${abi})
  endif()
  file(RELATIVE_PATH to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  set(pkg_config ${CMAKE_BINARY_DIR}/pkgconfig/${name}.pc)
  file(CONFIGURE OUTPUT ${pkg_config} @ONLY CONTENT [[prefix=${pcfiledir}/@to_prefix@
libdir=${pcfiledir}/..@folder@
includedir=${prefix}/@CMAKE_INSTALL_INCLUDEDIR@

Name: @name@
Description: @PROJECT_DESCRIPTION@: the C library, profile @abi@
Version: @PROJECT_VERSION@
Cflags: -I${includedir} -DELIZA_INFERENCE_ABI=@abi@
Libs: -L${libdir} -lelizainference
]])
  install(FILES ${pkg_config} DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT library)
endfunction()

# parlance_profile(4 /parlance/abi4) makes the target elizainference_4, whose file is there in the folder of libraries, of the
# build and of an installation.
function(parlance_profile abi folder)
  parlance_version_script(${abi} map)
  add_library(elizainference_${abi} SHARED ${CMAKE_SOURCE_DIR}/src/capi/profile.cpp)
  target_link_libraries(elizainference_${abi} PRIVATE $<LINK_LIBRARY:WHOLE_ARCHIVE,parlance_capi,parlance_no_audio_devices>)
  target_compile_definitions(elizainference_${abi} PRIVATE ELIZA_INFERENCE_ABI=${abi})
  # Loaders look for this name in whatever folder they are given, so it has no number behind it.
  set_target_properties(elizainference_${abi} PROPERTIES OUTPUT_NAME elizainference
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib${folder} LINK_DEPENDS ${map})
  # A name that the library has itself is its own, whatever else the process has loaded.
  target_link_options(elizainference_${abi} PRIVATE -Wl,--version-script=${map} -Wl,-Bsymbolic -Wl,--as-needed)
  if(NOT PARLANCE_SANITIZE)  # the sanitizers' runtimes are found in the program
    target_link_options(elizainference_${abi} PRIVATE -Wl,-z,defs)
  endif()
  add_dependencies(lib elizainference_${abi})
  install(TARGETS elizainference_${abi} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}${folder} COMPONENT library)
  parlance_verified_install(${abi} "${folder}")
  parlance_pkg_config(${abi} "${folder}")
endfunction()

add_custom_target(lib)
parlance_profile(3 "")
parlance_profile(4 /parlance/abi4)
parlance_profile(12 /parlance/abi12)
install(FILES ${CMAKE_SOURCE_DIR}/include/elizainference.h ${CMAKE_SOURCE_DIR}/include/ov.h
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT library)

# What a loader is given: the library beside the program that serves, checked as it will be.
set(loader_folder ${CMAKE_BINARY_DIR}/eliza)
set(verify_symbols python3 ${CMAKE_SOURCE_DIR}/tools/verify-symbols.py --target ${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR})
if(TARGET parlance)
  add_custom_target(verify_library
    COMMAND ${CMAKE_COMMAND} -E make_directory ${loader_folder}
    COMMAND ${CMAKE_COMMAND} -E copy $<TARGET_FILE:elizainference_3> ${loader_folder}/
    COMMAND ${CMAKE_COMMAND} -E create_symlink $<TARGET_FILE:parlance> ${loader_folder}/llama-server
    COMMAND ${verify_symbols} --out-dir ${loader_folder}
    DEPENDS elizainference_3 parlance VERBATIM)
endif()
