# The web page becomes part of the program: one source with the files of webui/, their types and their checksums.
# Included by CMakeLists.txt it adds that source to a library; run as a script (-P) it writes it.
set(page_files index.html app.js audio-worklet.js style.css favicon.svg)

if(CMAKE_SCRIPT_MODE_FILE)
  set(type_html "text/html; charset=utf-8")
  set(type_js "text/javascript; charset=utf-8")
  set(type_css "text/css; charset=utf-8")
  set(type_svg "image/svg+xml")
  set(entries)
  foreach(file ${page_files})
    file(READ ${FOLDER}/${file} content)
    file(SHA256 ${FOLDER}/${file} checksum)
    string(SUBSTRING ${checksum} 0 32 checksum)
    get_filename_component(extension ${file} LAST_EXT)
    string(SUBSTRING ${extension} 1 -1 extension)
    string(REPLACE "index.html" "" path ${file})
    string(APPEND entries "    {\"/${path}\", \"${type_${extension}}\", R\"page(${content})page\", \"\\\"${checksum}\\\"\"},\n")
  endforeach()
  file(WRITE ${OUTPUT} "// Made of webui/ by cmake/ParlancePage.cmake.
#include <array>

#include \"server/page.h\"

namespace parlance {

namespace {

constexpr std::array<PageFile, 5> kPageFiles = {{
${entries}}};

}  // namespace

std::span<const PageFile> page_files() {
  return kPageFiles;
}

}  // namespace parlance
")
  return()
endif()

list(TRANSFORM page_files PREPEND ${CMAKE_SOURCE_DIR}/webui/ OUTPUT_VARIABLE page_sources)
set(page_source ${CMAKE_BINARY_DIR}/server/page_files.cpp)
add_custom_command(OUTPUT ${page_source}
  COMMAND ${CMAKE_COMMAND} -D FOLDER=${CMAKE_SOURCE_DIR}/webui -D OUTPUT=${page_source} -P ${CMAKE_CURRENT_LIST_FILE}
  DEPENDS ${page_sources} ${CMAKE_CURRENT_LIST_FILE} VERBATIM)
target_sources(parlance_server PRIVATE ${page_source})
set_source_files_properties(${page_source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
