#include "models/qwen3vl.h"

#include "models/layers/rope.h"
#include "models/transformer.h"

namespace parlance {

namespace {

Result<HyperParameters> read_qwen3vl(const GgufFile& file) {
  PARLANCE_TRY(HyperParameters hp, read_common_parameters(file));
  const ModelKeys keys(file, hp.architecture);
  PARLANCE_TRY(const auto sections, require_rope_sections(file, keys));
  hp.rope.sections = interleaved_sections(sections, hp.rope.n_rot / 2);
  PARLANCE_TRY(hp.n_deepstack, keys.integer_or("n_deepstack_layers", 0, 0, hp.n_layer));
  const std::string mapping = keys.key("deepstack_mapping");
  PARLANCE_TRY(const auto mapped, file.find_ints(mapping, -1, kMaxLayers));
  if (mapped) {
    return fail(ErrorCode::unsupported,
                "{}: {} leads images to layers of its choice, and this program to the first ones only; use a "
                "model without it",
                file.name(), mapping);
  }
  return hp;
}

Result<std::unique_ptr<Model>> load_qwen3vl(const HyperParameters& hp, const Placement& placement,
                                            WeightLoader weights) {
  return Transformer::load(hp, placement, std::move(weights),
                           {.rope_style = RopeStyle::halves,
                            .has_qk_norm = true,
                            .has_rope_factors = false,
                            .may_classify = true});
}

}  // namespace

Architecture qwen3vl_architecture() {
  return {"qwen3vl", read_qwen3vl, load_qwen3vl};
}

}  // namespace parlance
