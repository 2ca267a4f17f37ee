#include "cli/default_model.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace parlance {

namespace fs = std::filesystem;

namespace {

// The first GGUF file by name; empty when the folder has none or is absent.
fs::path first_model_in(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() == ".gguf") files.push_back(it->path());
  }
  return files.empty() ? fs::path() : *std::min_element(files.begin(), files.end());
}

fs::path program_folder() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).parent_path();
}

}  // namespace

fs::path find_demo_folder(std::string_view name) {
  const fs::path demo = fs::path("models") / "demo" / name;
  std::error_code error;
  for (const fs::path& start : {fs::current_path(error), program_folder()}) {
    // Upwards, so that a build folder in the source tree finds the tree's model.
    for (fs::path folder = start; !folder.empty(); folder = folder.parent_path()) {
      for (const fs::path& candidate : {folder / demo, folder / "share" / "parlance" / demo}) {
        if (!first_model_in(candidate).empty()) return candidate;
      }
      if (folder == folder.root_path()) break;
    }
  }
  return {};
}

Result<fs::path> find_model(const std::string& given) {
  if (!given.empty()) return given;
  if (const char* variable = std::getenv("PARLANCE_MODEL"); variable && *variable) return variable;
  const fs::path folder = find_demo_folder("text");
  if (!folder.empty()) return first_model_in(folder);
  return fail(ErrorCode::not_found,
              "no model: there is no models/demo/text/*.gguf near this folder or the program; name a GGUF "
              "file with --model FILE or the environment variable PARLANCE_MODEL");
}

}  // namespace parlance
