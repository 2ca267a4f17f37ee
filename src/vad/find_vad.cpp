#include "base/os/environment.h"
#include "base/os/folder.h"
#include "vad/silero_weights.h"

namespace parlance {

namespace fs = std::filesystem;

Result<fs::path> find_vad(const fs::path& bundle_dir, const fs::path& user_dir) {
  constexpr const char* kVariable = "ELIZA_VAD_MODEL_PATH";
  std::string places;
  const auto is_there = [&](const fs::path& path) {
    places += (places.empty() ? "" : ", ") + path.string();
    return is_file(path);
  };
  for (const fs::path& folder : {bundle_dir, user_dir}) {
    if (folder.empty()) continue;
    for (const char* name : {"silero-vad-v5.1.2.ggml.bin", "silero-vad-v5.gguf"}) {
      const fs::path path = folder / "vad" / name;
      if (is_there(path)) return path;
    }
  }
  const auto named = environment(kVariable);
  if (named && is_there(*named)) return fs::path(*named);
  return fail(ErrorCode::not_found,
              "no weights of the voice activity detector at {}; put a file there or name one in {}",
              places.empty() ? "any place" : places, kVariable);
}

}  // namespace parlance
