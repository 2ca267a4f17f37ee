#include "models/hyper_parameters.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>

namespace parlance {

namespace {

Result<RopeParameters> read_rope(const GgufFile& file, const ModelKeys& keys, const HyperParameters& hp) {
  RopeParameters rope;
  PARLANCE_TRY(rope.n_rot, keys.integer_or("rope.dimension_count", hp.head_dim_k, 0, kMaxHeadDim));
  if (rope.n_rot > hp.head_dim_k || rope.n_rot % 2 != 0 || rope.n_rot == 0) {
    return fail(ErrorCode::corrupt_file,
                "{}: {} must be even and at most the head size {}, the file has {}; export the model again",
                file.name(), keys.key("rope.dimension_count"), hp.head_dim_k, rope.n_rot);
  }
  PARLANCE_TRY(rope.theta, keys.positive_or("rope.freq_base", 10000.0));
  PARLANCE_TRY(const double old_factor, keys.positive_or("rope.scale_linear", 1.0));
  PARLANCE_TRY(rope.factor, keys.number_or("rope.scaling.factor", old_factor));
  if (rope.factor == 0) rope.factor = 1;  // converters write 0 for "no scaling"
  if (!std::isfinite(rope.factor) || rope.factor < 0) {
    return fail(ErrorCode::corrupt_file,
                "{}: {} must be a positive number, the file has {}; export the model again", file.name(),
                keys.key("rope.scaling.factor"), rope.factor);
  }
  PARLANCE_TRY(const auto type, file.find_string(keys.key("rope.scaling.type")));
  const std::string_view name = type.value_or("linear");
  if (name == "none") {
    rope.scaling = RopeScaling::none;
  } else if (name == "linear") {
    rope.scaling = rope.factor == 1 ? RopeScaling::none : RopeScaling::linear;
  } else if (name == "yarn") {
    rope.scaling = RopeScaling::yarn;
  } else {
    return fail(ErrorCode::unsupported, "{}: {} is \"{}\"; supported are none, linear and yarn", file.name(),
                keys.key("rope.scaling.type"), name);
  }
  PARLANCE_TRY(rope.original_context_length,
               keys.positive_or("rope.scaling.original_context_length", static_cast<double>(hp.n_ctx_train)));
  PARLANCE_TRY(rope.attn_factor, keys.positive_or("rope.scaling.attn_factor", 1.0));
  PARLANCE_TRY(rope.beta_fast, keys.positive_or("rope.scaling.yarn_beta_fast", 32.0));
  PARLANCE_TRY(rope.beta_slow, keys.positive_or("rope.scaling.yarn_beta_slow", 1.0));
  return rope;
}

}  // namespace

int64_t HyperParameters::n_layers_of(LayerKind kind, int64_t first, int64_t end) const {
  return std::count(layer_kinds.begin() + first, layer_kinds.begin() + end, kind);
}

Result<HyperParameters> read_common_parameters(const GgufFile& file) {
  HyperParameters hp;
  PARLANCE_TRY(const std::string_view architecture, file.get_string("general.architecture"));
  hp.architecture = architecture;
  const ModelKeys keys(file, hp.architecture);

  PARLANCE_TRY(hp.n_layer, keys.integer("block_count", 1, kMaxLayers));
  PARLANCE_TRY(hp.n_ctx_train, keys.integer("context_length", 1, kMaxContext));
  PARLANCE_TRY(hp.n_embd, keys.integer("embedding_length", 1, kMaxSize));
  PARLANCE_TRY(hp.n_ff, keys.uniform_required("feed_forward_length", 1, kMaxSize));
  PARLANCE_TRY(hp.n_head, keys.uniform_required("attention.head_count", 1, kMaxHeads));
  PARLANCE_TRY(const auto n_head_kv, keys.uniform("attention.head_count_kv", 1, kMaxHeads));
  hp.n_head_kv = n_head_kv.value_or(hp.n_head);
  if (hp.n_head % hp.n_head_kv != 0) {
    return fail(ErrorCode::corrupt_file,
                "{}: {} query heads are not a multiple of {} key/value heads; export the model again",
                file.name(), hp.n_head, hp.n_head_kv);
  }
  const int64_t default_head_dim = hp.n_embd / hp.n_head;
  PARLANCE_TRY(hp.head_dim_k, keys.integer_or("attention.key_length", default_head_dim, 0, kMaxHeadDim));
  PARLANCE_TRY(hp.head_dim_v, keys.integer_or("attention.value_length", default_head_dim, 0, kMaxHeadDim));
  if (hp.head_dim_k < 2 || hp.head_dim_k % 2 != 0 || hp.head_dim_v < 1) {
    return fail(
        ErrorCode::corrupt_file,
        "{}: head sizes {} (keys, must be even) and {} (values) cannot be used; export the model again",
        file.name(), hp.head_dim_k, hp.head_dim_v);
  }

  const std::string eps_key = keys.key("attention.layer_norm_rms_epsilon");
  PARLANCE_TRY(const double eps, file.get_float(eps_key));
  if (!(eps >= 0 && eps < 1)) {
    return fail(ErrorCode::corrupt_file, "{}: {} must lie in [0, 1), the file has {}; export the model again",
                file.name(), eps_key, eps);
  }
  hp.norm_eps = static_cast<float>(eps);
  PARLANCE_TRY(const double scale, keys.number_or("attention.scale", 0.0));
  if (!std::isfinite(scale)) {
    return fail(ErrorCode::corrupt_file, "{}: {} is not a finite number; export the model again", file.name(),
                keys.key("attention.scale"));
  }
  hp.attention_scale =
      static_cast<float>(scale != 0 ? scale : 1.0 / std::sqrt(static_cast<double>(hp.head_dim_k)));
  PARLANCE_TRY(hp.rope, read_rope(file, keys, hp));
  hp.layer_kinds.assign(static_cast<size_t>(hp.n_layer), LayerKind::attention);
  PARLANCE_TRY(const int64_t pooling, keys.integer_or("pooling_type", 0, 0, 4));
  hp.pooling = static_cast<Pooling>(pooling);
  return hp;
}

Result<std::vector<int64_t>> read_rope_sections(const GgufFile& file, const ModelKeys& keys) {
  const std::string key = keys.key("rope.dimension_sections");
  PARLANCE_TRY(const auto sections, file.find_ints(key, 0, kMaxHeadDim));
  if (!sections) return std::vector<int64_t>{};
  if (sections->size() == 4 && std::accumulate(sections->begin(), sections->end(), int64_t{0}) > 0) {
    return *sections;
  }
  return fail(ErrorCode::corrupt_file,
              "{}: {} must be four numbers of rotated pairs, the file has {}; export the model again",
              file.name(), key,
              sections->size() == 4 ? "zeros" : fmt::format("{} numbers", sections->size()));
}

Result<std::vector<int64_t>> require_rope_sections(const GgufFile& file, const ModelKeys& keys) {
  PARLANCE_TRY(auto sections, read_rope_sections(file, keys));
  if (!sections.empty()) return sections;
  return fail(ErrorCode::corrupt_file,
              "{}: key {} is missing; export the model again with a current converter", file.name(),
              keys.key("rope.dimension_sections"));
}

}  // namespace parlance
