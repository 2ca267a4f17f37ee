#include "cli/load.h"

#include <algorithm>
#include <filesystem>

#include "assistant/default_model.h"
#include "engine/layer_split.h"

namespace parlance {

namespace {

// The context that was asked for, or `wanted` as far as the model was trained for it.
int64_t context_size(const ModelChoice& choice, const Console& io, int64_t wanted, int64_t n_ctx_train) {
  const int64_t n_ctx = choice.n_ctx.value_or(std::min(wanted, n_ctx_train));
  if (n_ctx > n_ctx_train) {
    io.warn(fmt::format(
        "--ctx-size {} is more than the {} tokens this model was trained for; expect nonsense beyond them",
        n_ctx, n_ctx_train));
  }
  return n_ctx;
}

// Which layers run on the chosen device; a remark when memory, not the user, decided that they are not all.
Result<Placement> place(const ModelChoice& choice, const Console& io, const GgufFile& file,
                        const HyperParameters& hp, const SessionOptions& options, LoadedModel& loaded) {
  if (loaded.device->name() == "cpu") {
    if (choice.n_gpu_layers.value_or(0) > 0) {
      io.warn("--gpu-layers does nothing on the CPU; name a GPU with --device, 'parlance doctor' lists them");
    }
    return Placement(*loaded.device, hp.n_layer);
  }
  PARLANCE_TRY(const int64_t n, choose_device_layers(file, hp, options, *loaded.device, choice.n_gpu_layers));
  if (n == hp.n_layer) return Placement(*loaded.device, hp.n_layer);
  if (!choice.n_gpu_layers) {
    io.warn(
        fmt::format("{} has room for {} of {} layers; the others run on the CPU, which is slower. A smaller "
                    "--ctx-size or model would fit whole.",
                    loaded.device->name(), n, hp.n_layer));
  }
  PARLANCE_TRY(loaded.host, make_device("cpu", choice.n_threads));
  return Placement(*loaded.device, *loaded.host, hp.n_layer, n);
}

}  // namespace

Result<LoadedModel> load_weights(const ModelChoice& choice, const Console& io, int64_t n_ctx_wanted,
                                 SessionOptions& options) {
  PARLANCE_TRY(const std::filesystem::path path, find_model(choice.path));
  LoadedModel loaded;
  PARLANCE_TRY(loaded.device, make_device(choice.device, choice.n_threads));
  PARLANCE_TRY(auto file, GgufFile::open(path));
  PARLANCE_CHECK(architecture_of(file));
  PARLANCE_TRY(const HyperParameters hp, read_hyper_parameters(file));
  options = choice.session;
  options.n_ctx = context_size(choice, io, n_ctx_wanted, hp.n_ctx_train);
  PARLANCE_TRY(const Placement placement, place(choice, io, file, hp, options, loaded));
  PARLANCE_TRY(loaded.text,
               TextModel::load(std::move(file), placement, {.huge_pages = !choice.no_huge_pages}));
  return loaded;
}

Result<LoadedModel> load(const ModelChoice& choice, const Console& io, int64_t n_ctx_wanted) {
  SessionOptions options;
  PARLANCE_TRY(LoadedModel loaded, load_weights(choice, io, n_ctx_wanted, options));
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
