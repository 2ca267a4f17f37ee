# parlance_embed_shaders(TARGET FOLDER): compiles every FOLDER/**/*.comp to SPIR-V for Vulkan 1.1, checks it, and puts
# the modules into TARGET, where find_shader("rms_norm") yields them (kernels/vulkan/runtime/shaders.h). Those that
# include subgroups.glsl are compiled twice: "rms_norm_no_subgroups" is for devices without subgroup arithmetic.
find_program(GLSLC glslc)
find_program(SPIRV_VAL spirv-val)

# Whether a shader, or what it includes, includes subgroups.glsl.
function(parlance_uses_subgroups file folder result)
  file(STRINGS ${file} includes REGEX "^#include \"")
  foreach(line ${includes})
    string(REGEX REPLACE ".*\"(.*)\".*" "\\1" name "${line}")
    if(name STREQUAL "subgroups.glsl")
      set(${result} TRUE PARENT_SCOPE)
      return()
    endif()
    parlance_uses_subgroups(${folder}/${name} ${folder} uses)
    if(uses)
      set(${result} TRUE PARENT_SCOPE)
      return()
    endif()
  endforeach()
  set(${result} FALSE PARENT_SCOPE)
endfunction()

function(parlance_embed_shaders target folder)
  file(GLOB_RECURSE shaders CONFIGURE_DEPENDS ${folder}/*.comp)
  set(out ${CMAKE_BINARY_DIR}/shaders)
  file(MAKE_DIRECTORY ${out})
  set(modules)
  set(assembly "  .section .rodata\n")
  set(rows)
  set(declarations)
  foreach(shader ${shaders})
    get_filename_component(name ${shader} NAME_WE)
    set(variants ${name})
    parlance_uses_subgroups(${shader} ${folder} uses_subgroups)
    if(uses_subgroups)
      list(APPEND variants ${name}_no_subgroups)
    endif()
    foreach(variant ${variants})
      set(defines)
      if(NOT variant STREQUAL name)
        set(defines -DPARLANCE_NO_SUBGROUPS)
      endif()
      set(module ${out}/${variant}.spv)
      add_custom_command(OUTPUT ${module}
        COMMAND ${GLSLC} --target-env=vulkan1.1 -O -Werror ${defines} -I ${folder} -MD -MF ${module}.d -o ${module}
          ${shader}
        COMMAND ${SPIRV_VAL} --target-env vulkan1.1 ${module}
        DEPENDS ${shader} DEPFILE ${module}.d
        COMMENT "Compiling shader ${variant}" VERBATIM)
      list(APPEND modules ${module})
      string(APPEND assembly
        "  .balign 16\n  .global parlance_shader_${variant}\n  .global parlance_shader_${variant}_end\n"
        "parlance_shader_${variant}:\n  .incbin \"${module}\"\nparlance_shader_${variant}_end:\n")
      string(APPEND declarations
        "extern \"C\" const uint32_t parlance_shader_${variant}[], parlance_shader_${variant}_end[];\n")
      string(APPEND rows "    {\"${variant}\", parlance_shader_${variant}, parlance_shader_${variant}_end},\n")
    endforeach()
  endforeach()
  string(APPEND assembly "  .section .note.GNU-stack,\"\",%progbits\n")
  file(CONFIGURE OUTPUT ${out}/modules.S CONTENT "${assembly}" @ONLY)
  file(CONFIGURE OUTPUT ${out}/modules.cpp @ONLY CONTENT
"// Made by cmake/ParlanceShaders.cmake.
#include \"kernels/vulkan/runtime/shaders.h\"

${declarations}
namespace parlance::vulkan {

std::span<const uint32_t> find_shader(std::string_view name) {
  struct Row {
    std::string_view name;
    const uint32_t* begin;
    const uint32_t* end;
  };
  static const Row rows[] = {
${rows}    {\"\", nullptr, nullptr},
  };
  for (const Row& row : rows) {
    if (row.name == name) return {row.begin, row.end};
  }
  return {};
}

}  // namespace parlance::vulkan
")
  set_source_files_properties(${out}/modules.S PROPERTIES OBJECT_DEPENDS "${modules}")
  target_sources(${target} PRIVATE ${out}/modules.S ${out}/modules.cpp)
endfunction()
