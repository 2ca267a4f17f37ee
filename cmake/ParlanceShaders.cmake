# parlance_embed_shaders(TARGET FOLDER): compiles every FOLDER/**/*.comp to SPIR-V for Vulkan 1.1, checks it, and puts
# the modules into TARGET, where find_shader("rms_norm") yields them (kernels/vulkan/runtime/shaders.h).
find_program(GLSLC glslc)
find_program(SPIRV_VAL spirv-val)

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
    set(module ${out}/${name}.spv)
    add_custom_command(OUTPUT ${module}
      COMMAND ${GLSLC} --target-env=vulkan1.1 -O -Werror -I ${folder} -MD -MF ${module}.d -o ${module} ${shader}
      COMMAND ${SPIRV_VAL} --target-env vulkan1.1 ${module}
      DEPENDS ${shader} DEPFILE ${module}.d
      COMMENT "Compiling shader ${name}" VERBATIM)
    list(APPEND modules ${module})
    string(APPEND assembly
      "  .balign 16\n  .global parlance_shader_${name}\n  .global parlance_shader_${name}_end\n"
      "parlance_shader_${name}:\n  .incbin \"${module}\"\nparlance_shader_${name}_end:\n")
    string(APPEND declarations "extern \"C\" const uint32_t parlance_shader_${name}[], parlance_shader_${name}_end[];\n")
    string(APPEND rows "    {\"${name}\", parlance_shader_${name}, parlance_shader_${name}_end},\n")
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
