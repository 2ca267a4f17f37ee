# parlance_metal_host(TARGET) puts the host code for Metal into TARGET, and the text of its kernels, where
# find_source("rms_norm") yields it (kernels/metal/host/kernel_text.h). Metal's headers are the system's or, in tests,
# an imitation's.
function(parlance_metal_host target)
  set(folder ${CMAKE_SOURCE_DIR}/src/kernels/metal)
  file(GLOB kernels CONFIGURE_DEPENDS ${folder}/*.metal)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${kernels})
  set(rows)
  foreach(kernel ${kernels})
    get_filename_component(name ${kernel} NAME_WE)
    file(READ ${kernel} text)
    string(APPEND rows "    {\"${name}\", R\"metal(${text})metal\"},\n")
  endforeach()
  set(sources ${CMAKE_BINARY_DIR}/metal/sources.cpp)
  file(GENERATE OUTPUT ${sources} CONTENT
"// Made by cmake/ParlanceMetal.cmake.
#include \"kernels/metal/host/kernel_text.h\"

namespace parlance::metal {

std::string_view find_source(std::string_view name) {
  struct Row {
    std::string_view name, text;
  };
  static const Row rows[] = {
${rows}  };
  for (const Row& row : rows) {
    if (row.name == name) return row.text;
  }
  return {};
}

}  // namespace parlance::metal
")
  file(GLOB host CONFIGURE_DEPENDS ${folder}/host/*.mm ${folder}/host/*.cpp)
  target_sources(${target} PRIVATE ${host} ${sources})
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/src)
endfunction()
