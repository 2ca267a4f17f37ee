#include "assistant/default_model.h"

#include "base/os/environment.h"
#include "base/os/folder.h"
#include "base/parameter.h"
#include "bundle/bundle.h"
#include "bundle/manifest.h"
#include "hub/local_model.h"

namespace parlance {

namespace fs = std::filesystem;

namespace {

bool has_model(const fs::path& folder) {
  return !first_model_in(folder).empty();
}

// models/demo, as far as `is_it` says so of it, from the current folder upwards and from the program's.
template <class IsIt>
fs::path find_demo(const IsIt& is_it) {
  const fs::path demo = fs::path("models") / "demo";
  std::error_code error;
  for (const fs::path& start : {fs::current_path(error), program_folder()}) {
    // Upwards, so that a build folder in the source tree finds the tree's models.
    for (fs::path folder = start; !folder.empty(); folder = folder.parent_path()) {
      for (const fs::path& candidate : {folder / demo, folder / "share" / "parlance" / demo}) {
        if (is_it(candidate)) return candidate;
      }
      if (folder == folder.root_path()) break;
    }
  }
  return {};
}

// A file as it is; of a bundle, its language model.
Result<fs::path> model_of(const std::string& named) {
  PARLANCE_TRY(const fs::path given, on_this_machine(named));
  if (!is_folder(given)) return given;
  PARLANCE_TRY(const Bundle bundle, open_bundle(given, {.text = Need::must}));
  return bundle.text;
}

}  // namespace

Result<fs::path> on_this_machine(const std::string& named) {
  if (!is_remote_name(named)) return named;
  PARLANCE_TRY(const LocalModel model, find_local_model(named));
  if (model.kind == RepoKind::bundle) return model.folder;
  if (model.kind == RepoKind::model) return model.model;
  return fail(ErrorCode::unsupported,
              "{}: these are safetensors; make a model file of them with: parlance convert {} -o MODEL.gguf",
              named, model.folder.string());
}

fs::path find_demo_folder(std::string_view name) {
  const fs::path demo = find_demo([&](const fs::path& folder) { return has_model(folder / name); });
  return demo.empty() ? demo : demo / name;
}

fs::path find_demo_bundle() {
  return find_demo(
      [](const fs::path& folder) { return is_file(folder / kManifestName) || has_model(folder / "text"); });
}

fs::path find_demo_set(std::string_view name) {
  const fs::path demo = find_demo_bundle();
  const fs::path set = demo.parent_path() / "demo-eval" / name;
  std::error_code error;
  return !demo.empty() && fs::exists(set, error) ? set : fs::path();
}

Result<void> choose_set(std::string& set, std::string_view name) {
  if (set.empty()) set = find_demo_set(name).string();
  if (!set.empty()) return {};
  return fail(
      ErrorCode::invalid_argument,
      "{} names what is to be measured with; there is no models/demo-eval/{} near this folder or the program",
      set_to(Parameter::eval_set, "PATH"), name);
}

Result<fs::path> find_model(const std::string& given) {
  if (!given.empty()) return model_of(given);
  if (const auto variable = environment("PARLANCE_MODEL")) return model_of(*variable);
  const fs::path folder = find_demo_folder("text");
  if (!folder.empty()) return model_of(folder.parent_path().string());
  return fail(ErrorCode::not_found,
              "no model: there is no models/demo/text/*.gguf near this folder or the program; name a GGUF "
              "file or a bundle with {} or the environment variable PARLANCE_MODEL",
              Parameter::model);
}

}  // namespace parlance
