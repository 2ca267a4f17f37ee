#include "assistant/text_region.h"

#include <algorithm>
#include <filesystem>

#include "assistant/batch_size.h"
#include "assistant/cache_settling.h"
#include "assistant/draft_region.h"
#include "assistant/model_files.h"
#include "base/parameter.h"
#include "engine/layer_split.h"

namespace parlance {

namespace {

// The context that was asked for, or the usual one as far as the model was trained for it.
int64_t context_size(const Choice& choice, int64_t n_ctx_train, const OnRemark& on_remark) {
  const int64_t n_ctx = choice.n_ctx.value_or(std::min(choice.context.n_ctx, n_ctx_train));
  if (n_ctx > n_ctx_train) {
    remark(on_remark,
           fmt::format("{} is more than the {} tokens this model was trained for; expect nonsense beyond "
                       "them",
                       set_to(Parameter::ctx_size, n_ctx), n_ctx_train));
  }
  return n_ctx;
}

// Which layers run on the chosen device; a remark when memory, not the user, decided that they are not all.
Result<Placement> place(const Choice& choice, const GgufFile& file, const HyperParameters& hp,
                        DeviceShelf& devices, const OnRemark& on_remark, TextWeights& weights) {
  const std::optional<int64_t> wanted = choice.devices.n_gpu_layers;
  weights.options.n_batch = choice.n_batch.value_or(choice.context.n_batch);
  if (weights.device->name() == "cpu") {
    if (wanted.value_or(0) > 0) {
      remark(on_remark,
             fmt::format("{} does nothing on the CPU; name a GPU with {}, 'parlance doctor' lists them",
                         Parameter::gpu_layers, Parameter::device));
    }
    return Placement(*weights.device, hp.n_layer);
  }
  SessionOptions planned =
      weights.options;  // drafters are loaded later, what they make layers keep counts now
  PARLANCE_TRY(planned.looks_up, may_draft(choice));
  planned.n_batch = weights.options.n_batch = batch_size(choice, file, hp, planned, *weights.device);
  PARLANCE_TRY(const int64_t n, choose_device_layers(file, hp, planned, *weights.device, wanted));
  if (n == hp.n_layer) return Placement(*weights.device, hp.n_layer);
  if (!wanted) {
    remark(
        on_remark,
        fmt::format("{} has room for {} of {} layers; the others run on the CPU, which is slower. A smaller "
                    "{} or model would fit whole.",
                    weights.device->name(), n, hp.n_layer, Parameter::ctx_size));
  }
  PARLANCE_TRY(weights.host, devices.get("cpu", CpuRank::mind));
  return Placement(*weights.device, *weights.host, hp.n_layer, n);
}

}  // namespace

Result<TextWeights> load_text_weights(const Choice& choice, DeviceShelf& devices, const OnRemark& on_remark) {
  PARLANCE_TRY(const std::filesystem::path path, find_text_file(choice.files));
  TextWeights weights;
  PARLANCE_TRY(weights.device, devices.get(choice.devices.text, CpuRank::mind));
  PARLANCE_TRY(auto file, GgufFile::open(path));
  PARLANCE_CHECK(architecture_of(file));
  PARLANCE_TRY(const HyperParameters hp, read_hyper_parameters(file));
  weights.options = choice.context;
  weights.options.n_ctx = context_size(choice, hp.n_ctx_train, on_remark);
  PARLANCE_TRY(const Placement placement, place(choice, file, hp, devices, on_remark, weights));
  PARLANCE_TRY(weights.model,
               TextModel::load(std::move(file), placement, {.huge_pages = choice.devices.huge_pages}));
  settle_cache(*weights.model, weights.options, on_remark);
  return weights;
}

Result<std::shared_ptr<TextRegion>> TextRegion::load(const Choice& choice, DeviceShelf& devices,
                                                     const OnRemark& on_remark) {
  PARLANCE_TRY(TextWeights weights, load_text_weights(choice, devices, on_remark));
  weights.options.looks_up = choice.draft.looks_up;
  PARLANCE_TRY(DraftModels drafter, load_drafter(choice, *weights.model, *weights.device, on_remark));
  const bool is_named = !choice.files.drafter.empty();
  const int64_t least_batch = choice.n_batch.value_or(choice.context.n_batch);
  PARLANCE_TRY(auto context, create_context(*weights.model, weights.options, drafter, least_batch,
                                            /*may_go=*/!is_named, on_remark));
  return std::shared_ptr<TextRegion>(new TextRegion(std::move(weights), drafter.bytes, std::move(context)));
}

RegionBytes TextRegion::bytes() const {
  return {.weights = model().file().n_bytes() + draft_weight_bytes_,
          .working = context_->kv_bytes() + context_->draft_bytes() + context_->recurrent_bytes() +
                     context_->workspace_bytes()};
}

std::string display_name(const TextModel& model) {
  const auto name = model.file().find_string("general.name");
  if (name && *name && !(*name)->empty()) return std::string(**name);
  return std::filesystem::path(model.file().name()).stem().string();
}

}  // namespace parlance
