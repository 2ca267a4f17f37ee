# libelizainference: the C library, in the profiles of which src/capi/exports.txt says what each exports. Its objects are
# compiled once; a profile is one small source and a list for the linker.
include(GNUInstallDirs)

parlance_library(capi DEPENDS parlance_assistant)
target_include_directories(parlance_capi PUBLIC ${CMAKE_SOURCE_DIR}/include)
target_compile_definitions(parlance_capi PRIVATE ELIZA_INFERENCE_ABI=12 ELIZA_INFERENCE_EVERY_FUNCTION)
set_source_files_properties(src/capi/ov.cpp PROPERTIES COMPILE_DEFINITIONS PARLANCE_VERSION="${PROJECT_VERSION}")

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
endfunction()

add_custom_target(lib)
parlance_profile(3 "")
parlance_profile(4 /parlance/abi4)
parlance_profile(12 /parlance/abi12)
