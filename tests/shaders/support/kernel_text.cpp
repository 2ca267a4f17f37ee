#include "shaders/support/kernel_text.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <regex>
#include <stdexcept>
#include <vector>

namespace parlance::test {

namespace {

constexpr int kMostBuffers = 31;

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

// The definition that starts with `head`, up to the brace that ends it.
void erase_definition(std::string& text, const std::string& head) {
  const size_t at = text.find(head);
  if (at == std::string::npos) return;
  int depth = 0;
  size_t end = text.find('{', at);
  do {
    depth += text[end] == '{' ? 1 : text[end] == '}' ? -1 : 0;
    ++end;
  } while (depth > 0);
  if (text[end] == ';') ++end;
  text.erase(at, end - at);
}

// Parameters of the kernel function, by what Metal hands to them.
std::string argument_for(const std::string& parameter) {
  static const std::regex buffer(R"(^\s*(?:const |constant |device )*(\w+)& \w+ \[\[buffer\((\d+)\)\]\]$)");
  static const std::regex builtin(R"(^\s*(uint3|uint) \w+ \[\[(\w+)\]\]$)");
  std::smatch m;
  if (std::regex_match(parameter, m, buffer)) {
    if (std::stoi(m[2]) >= kMostBuffers) throw std::runtime_error("Metal has 31 buffers: " + parameter);
    return fmt::format("*static_cast<text::{}*>(bindings[{}].data)", m[1].str(), m[2].str());
  }
  static const std::map<std::string, std::string> builtins = {
      {"thread_position_in_threadgroup", "uint3(p.thread[0], p.thread[1], p.thread[2])"},
      {"threadgroup_position_in_grid", "uint3(p.group[0], p.group[1], p.group[2])"},
      {"threadgroups_per_grid", "uint3(p.n_groups[0], p.n_groups[1], p.n_groups[2])"},
      {"simdgroup_index_in_threadgroup", "p.simdgroup"},
      {"simdgroups_per_threadgroup", "p.n_simdgroups"}};
  if (std::regex_match(parameter, m, builtin) && builtins.contains(m[2])) return builtins.at(m[2]);
  throw std::runtime_error("a parameter of a kind that the shim does not know: " + parameter);
}

// What is handed as a reference to thread memory must have an address of its own.
std::string call_of_kernel(const std::string& text, const std::string& name) {
  const std::string head = "kernel void " + name + "(";
  const size_t begin = text.find(head);
  if (begin == std::string::npos) throw std::runtime_error("there is no kernel " + name);
  const size_t first = begin + head.size();
  size_t end = first;
  for (int depth = 1; depth > 0; ++end) depth += text[end] == '(' ? 1 : text[end] == ')' ? -1 : 0;
  const std::string parameters = text.substr(first, end - 1 - first);
  std::string call;
  for (size_t at = 0; at < parameters.size();) {
    size_t comma = parameters.find(", ", at);
    if (comma == std::string::npos) comma = parameters.size();
    call += (call.empty() ? "" : ", ") + argument_for(parameters.substr(at, comma - at));
    at = comma + 2;
  }
  return fmt::format("text::{}({});", name, call);
}

uint64_t hash_of(const std::string& text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  return hash;
}

std::string contents_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void run(const std::string& line, const std::string& log, const std::string& what) {
  if (std::system(fmt::format("{} >'{}' 2>&1", line, log).c_str()) == 0) return;
  throw std::runtime_error(
      fmt::format("{}: does not compile: {}\n{}", what, line, contents_of(log).substr(0, 4000)));
}

constexpr const char* kShim = "shaders/support/metal_shim.h";

// The command that compiles kernels. Their shim is read once for all: g++ takes what it made of it from the
// first folder that it is told of.
std::string compiler_in(const std::filesystem::path& folder) {
  const std::string shim = contents_of(fmt::format("{}/{}", PARLANCE_METAL_INCLUDE, kShim)) +
                           contents_of(PARLANCE_METAL_INCLUDE "/../src/base/half.h");
  const auto [first, others] = [] {
    const std::string all = PARLANCE_METAL_COMPILER;
    const size_t end = all.find(" -I ");
    return std::pair(all.substr(0, end), all.substr(end));
  }();
  const auto mine = folder / fmt::format("shim-{:016x}", hash_of(shim + first + others));
  const std::string command = fmt::format("{} -I '{}'{}", first, mine.string(), others);
  const std::string header = (mine / kShim).string() + ".gch";
  if (!std::filesystem::exists(header)) {
    std::filesystem::create_directories(std::filesystem::path(header).parent_path());
    run(fmt::format("{} -x c++-header -o '{}.new' '{}/{}'", command, header, PARLANCE_METAL_INCLUDE, kShim),
        header + ".log", kShim);
    std::filesystem::rename(header + ".new", header);
  }
  return command;
}

}  // namespace

std::string prepared_kernel(const std::string& text, const std::string& name, const ConstantValues& macros,
                            const ConstantValues& functions) {
  if (std::regex_search(text, std::regex(R"(\bdouble\b)")))
    throw std::runtime_error(name + ": Metal has no double");
  std::string body = text;
  replace_all(body, "volatile device ", "device ");  // workgroups run one after the other
  const std::string call = call_of_kernel(body, name);
  erase_definition(body, "template<typename T, size_t Num>\nstruct spvUnsafeArray");
  for (const char* line : {"#include <metal_stdlib>\n", "#include <simd/simd.h>\n",
                           "#include <metal_atomic>\n", "using namespace metal;\n"})
    replace_all(body, line, "");
  // Memory of the workgroup, which its threads find in the order of declarations.
  body = std::regex_replace(body, std::regex(R"(\n    threadgroup ([^\n;=]+?) (\w+)\[([^\n;]+)\];)"),
                            "\n    auto& $2 = metal_shim::threadgroup_array<$1[$3]>();");
  body = std::regex_replace(body, std::regex(R"(\n    threadgroup ([\w<>, ]+) (\w+);)"),
                            "\n    auto& $2 = metal_shim::threadgroup_array<$1>();");
  body = std::regex_replace(body, std::regex(R"(\n    (\w+) (\w+)\[1\];)"),
                            "\n    metal_shim::Unbounded<$1> $2;");
  body = std::regex_replace(
      body, std::regex(R"(constant (\w+) (\w+) \[\[function_constant\((\d+)\)\]\];)"),
      "\n#ifdef FUNCTION_CONSTANT_$3\n"
      "constexpr $1 $2 = static_cast<$1>(FUNCTION_CONSTANT_$3);\nconstexpr bool $2_is_defined = true;\n"
      "#else\nconstexpr $1 $2{};\nconstexpr bool $2_is_defined = false;\n#endif\n");
  body = std::regex_replace(body, std::regex(R"(is_function_constant_defined\((\w+)\))"), "$1_is_defined");
  body = std::regex_replace(body, std::regex(R"( ?\[\[[^\n\[\]]*\]\])"), "");
  // Metal's literals are floats.
  body = std::regex_replace(body, std::regex(R"((\b[0-9]+\.[0-9]+(?:e[-+]?[0-9]+)?)(?![0-9fhe]))"), "$1f");
  body = std::regex_replace(body, std::regex(R"(threadgroup_barrier\()"), "metal_shim::barrier(__LINE__, ");
  body = std::regex_replace(body, std::regex(R"(simd_sum\()"), "metal_shim::simd_reduce(__LINE__, true, ");
  body = std::regex_replace(body, std::regex(R"(simd_max\()"), "metal_shim::simd_reduce(__LINE__, false, ");
  body = std::regex_replace(body, std::regex(R"(simd_is_first\(\))"), "metal_shim::simd_is_first(__LINE__)");

  std::string out = fmt::format("#include \"{}\"\n", kShim);
  for (const auto& [index, value] : macros)
    out += fmt::format("#define SPIRV_CROSS_CONSTANT_ID_{} {}u\n", index, value);
  for (const auto& [index, value] : functions)
    out += fmt::format("#define FUNCTION_CONSTANT_{} {}u\n", index, value);
  // Address spaces are one here.
  out += "#define kernel\n#define device\n#define thread\n#define threadgroup\n#define constant const\n";
  out += "namespace metal_shim::text {\n" + body + "\n}\n";
  out += "#undef kernel\n#undef device\n#undef thread\n#undef threadgroup\n#undef constant\n";
  out += fmt::format(R"(using namespace metal_shim;
extern "C" void metal_kernel_run(const Position& p) {{
  (void)p;
  {}
}}
extern "C" void metal_kernel_set(const Host* h, const Binding* b, int n) {{
  host = h, bindings = b, n_bindings = n;
}}
extern "C" uint32_t metal_kernel_threads() {{ return text::gl_WorkGroupSize.x; }}
)",
                     call);
  return out;
}

MetalKernel load_kernel(const std::string& prepared, const std::string& name,
                        const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  static const std::string command = compiler_in(folder);
  const auto stem = folder / fmt::format("{}-{:016x}", name, hash_of(prepared + command));
  const std::string source = stem.string() + ".cpp", library = stem.string() + ".so";
  if (!std::filesystem::exists(library)) {
    std::ofstream(source) << prepared;
    const std::string fresh = library + ".new";
    run(fmt::format("{} -o '{}' '{}'", command, fresh, source), stem.string() + ".log", name);
    std::filesystem::rename(fresh, library);
  }
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) throw std::runtime_error(dlerror());
  MetalKernel kernel;
  kernel.run = reinterpret_cast<decltype(kernel.run)>(dlsym(handle, "metal_kernel_run"));
  kernel.set = reinterpret_cast<decltype(kernel.set)>(dlsym(handle, "metal_kernel_set"));
  kernel.n_threads = reinterpret_cast<uint32_t (*)()>(dlsym(handle, "metal_kernel_threads"))();
  return kernel;
}

}  // namespace parlance::test
