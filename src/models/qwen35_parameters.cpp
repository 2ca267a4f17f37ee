// Reads what Qwen3.5 has beyond a transformer: recurrent layers, and perhaps sections of rotary positions,
// and layers at the end that predict further tokens.
#include "models/layers/rope.h"
#include "models/qwen35.h"

namespace parlance {

namespace {

constexpr int64_t kMaxTaps = 8;

// A layer is recurrent when it has the tensors of one; `full_attention_interval` has to agree.
Result<void> read_layer_kinds(const GgufFile& file, const ModelKeys& keys, HyperParameters& hp) {
  constexpr std::string_view kInterval = "full_attention_interval";
  PARLANCE_TRY(const int64_t interval, keys.integer_or(kInterval, 0, 1, kMaxLayers));
  for (int64_t layer = 0; layer < hp.n_layer; ++layer) {
    const std::string tensor = fmt::format("blk.{}.ssm_conv1d.weight", layer);
    const bool is_recurrent = file.find_tensor(tensor) != nullptr;
    hp.layer_kinds[static_cast<size_t>(layer)] = is_recurrent ? LayerKind::delta_net : LayerKind::attention;
    if (interval > 0 && is_recurrent != ((layer + 1) % interval != 0)) {
      return fail(ErrorCode::corrupt_file,
                  "{}: {} is {}, by which layer {} {} be recurrent, but the file has {}tensor {}; export the "
                  "model again",
                  file.name(), keys.key(kInterval), interval, layer, is_recurrent ? "would not" : "would",
                  is_recurrent ? "" : "no ", tensor);
    }
  }
  return {};
}

Result<void> read_delta_net(const GgufFile& file, const ModelKeys& keys, DeltaNetParameters& net) {
  PARLANCE_TRY(net.head_dim, keys.integer("ssm.state_size", 1, kMaxHeadDim));
  PARLANCE_TRY(net.n_key_head, keys.integer("ssm.group_count", 1, kMaxHeads));
  PARLANCE_TRY(net.n_value_head, keys.integer("ssm.time_step_rank", 1, kMaxHeads));
  PARLANCE_TRY(net.n_tap, keys.integer("ssm.conv_kernel", 2, kMaxTaps));
  PARLANCE_TRY(const int64_t n_inner, keys.integer("ssm.inner_size", 1, kMaxSize));
  if (net.n_value_head % net.n_key_head != 0) {
    return fail(ErrorCode::corrupt_file,
                "{}: {} value heads ({}) are not a multiple of {} key heads ({}); export the model again",
                file.name(), net.n_value_head, keys.key("ssm.time_step_rank"), net.n_key_head,
                keys.key("ssm.group_count"));
  }
  if (n_inner != net.n_inner()) {
    return fail(ErrorCode::corrupt_file,
                "{}: {} must be {} heads of {}, the file has {}; export the model again", file.name(),
                keys.key("ssm.inner_size"), net.n_value_head, net.head_dim, n_inner);
  }
  return {};
}

}  // namespace

Result<HyperParameters> Qwen35::read(const GgufFile& file) {
  PARLANCE_TRY(HyperParameters hp, read_common_parameters(file));
  const ModelKeys keys(file, hp.architecture);
  PARLANCE_TRY(const auto sections, read_rope_sections(file, keys));
  if (!sections.empty()) hp.rope.sections = interleaved_sections(sections, hp.rope.n_rot / 2);
  PARLANCE_TRY(hp.n_layer_nextn, keys.integer_or("nextn_predict_layers", 0, 0, kMaxLayers));
  if (hp.n_layer_nextn >= hp.n_layer) {
    return fail(ErrorCode::corrupt_file, "{}: {} is {} of {} layers, which leaves no model; export it again",
                file.name(), keys.key("nextn_predict_layers"), hp.n_layer_nextn, hp.n_layer);
  }
  hp.n_layer -= hp.n_layer_nextn;
  if (!file.find_tensor("blk.0.attn_norm.weight")) {
    return fail(ErrorCode::unsupported,
                "{}: tensor blk.0.attn_norm.weight is missing; the file is incomplete, or holds only the "
                "layers that predict further tokens for another file",
                file.name());
  }
  hp.layer_kinds.resize(static_cast<size_t>(hp.n_layer));
  PARLANCE_CHECK(read_layer_kinds(file, keys, hp));
  PARLANCE_CHECK(read_delta_net(file, keys, hp.delta_net));
  return hp;
}

}  // namespace parlance
