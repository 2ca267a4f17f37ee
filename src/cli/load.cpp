#include "cli/load.h"

#include <algorithm>
#include <filesystem>

#include "cli/default_model.h"
#include "kernels/cpu/cpu_device.h"

namespace parlance {

Result<std::unique_ptr<Device>> make_device(const std::string& name, int n_threads) {
  if (name == "cpu") return make_cpu_device({.n_threads = n_threads});
  return fail(ErrorCode::not_found, "--device: there is no device '{}' in this build; use --device cpu",
              name);
}

Result<LoadedModel> load(const ModelChoice& choice, const Console& io, int64_t n_ctx_wanted) {
  PARLANCE_TRY(const std::filesystem::path path, find_model(choice.path));
  LoadedModel loaded;
  PARLANCE_TRY(loaded.device, make_device(choice.device, choice.n_threads));
  PARLANCE_TRY(loaded.text, TextModel::load(path, *loaded.device));

  const int64_t n_ctx_train = loaded.text->hyper_parameters().n_ctx_train;
  SessionOptions options = choice.session;
  options.n_ctx = choice.n_ctx.value_or(std::min(n_ctx_wanted, n_ctx_train));
  if (options.n_ctx > n_ctx_train) {
    io.warn(fmt::format(
        "--ctx-size {} is more than the {} tokens this model was trained for; expect nonsense beyond them",
        options.n_ctx, n_ctx_train));
  }
  PARLANCE_TRY(loaded.session, Session::create(*loaded.text, options));
  return loaded;
}

Result<LoadedModel> load(const ModelChoice& choice, const Console& io) {
  return load(choice, io, choice.session.n_ctx);
}

std::string display_name(const TextModel& text) {
  const auto name = text.file().find_string("general.name");
  if (name && *name && !(*name)->empty()) return printable(**name);
  return std::filesystem::path(text.file().name()).stem().string();
}

}  // namespace parlance
