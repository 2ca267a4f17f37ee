#include "models/hyper_parameters.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <string_view>

namespace parlance {

namespace {

// Far beyond any real model, near enough that products of sizes fit 64 bits.
constexpr int64_t kMaxLayers = 4096;
constexpr int64_t kMaxSize = int64_t{1} << 24;
constexpr int64_t kMaxHeads = 4096;
constexpr int64_t kMaxHeadDim = 4096;
constexpr int64_t kMaxContext = int64_t{1} << 31;
constexpr int64_t kMaxTaps = 8;

class Keys {
 public:
  Keys(const GgufFile& file, std::string prefix) : file_(file), prefix_(std::move(prefix)) {}

  std::string key(std::string_view name) const { return prefix_ + "." + std::string(name); }

  Result<int64_t> integer(std::string_view name, int64_t min, int64_t max) const {
    return file_.get_int(key(name), min, max);
  }

  Result<int64_t> integer_or(std::string_view name, int64_t fallback, int64_t min, int64_t max) const {
    PARLANCE_TRY(const auto value, file_.find_int(key(name), min, max));
    return value.value_or(fallback);
  }

  // A key that may be an array with one value a layer; this program wants them all equal.
  Result<std::optional<int64_t>> uniform(std::string_view name, int64_t min, int64_t max) const {
    PARLANCE_TRY(const auto values, file_.find_ints(key(name), min, max));
    if (!values) return std::nullopt;
    if (values->empty()) {
      return fail(ErrorCode::corrupt_file, "{}: {} is empty; export the model again", file_.name(),
                  key(name));
    }
    for (const int64_t value : *values) {
      if (value != values->front()) {
        return fail(
            ErrorCode::unsupported,
            "{}: {} differs between layers ({} and {}), which this architecture's code does not support",
            file_.name(), key(name), values->front(), value);
      }
    }
    return values->front();
  }

  Result<int64_t> uniform_required(std::string_view name, int64_t min, int64_t max) const {
    PARLANCE_TRY(const auto value, uniform(name, min, max));
    if (value) return *value;
    return fail(ErrorCode::corrupt_file,
                "{}: key {} is missing; export the model again with a current converter", file_.name(),
                key(name));
  }

  Result<double> number_or(std::string_view name, double fallback) const {
    PARLANCE_TRY(const auto value, file_.find_float(key(name)));
    return value.value_or(fallback);
  }

  // A number that only makes sense finite and above zero.
  Result<double> positive_or(std::string_view name, double fallback) const {
    PARLANCE_TRY(const double value, number_or(name, fallback));
    if (std::isfinite(value) && value > 0) return value;
    return fail(ErrorCode::corrupt_file,
                "{}: {} must be a positive number, the file has {}; export the model again", file_.name(),
                key(name), value);
  }

 private:
  const GgufFile& file_;
  std::string prefix_;
};

Result<RopeParameters> read_rope(const GgufFile& file, const Keys& keys, const HyperParameters& hp) {
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

// What Qwen3-VL has beyond Qwen3: sections of rotary positions, and perhaps layers that images reach
// directly.
Result<void> read_sections(const GgufFile& file, const Keys& keys, HyperParameters& hp) {
  constexpr std::string_view kSections = "rope.dimension_sections";
  PARLANCE_TRY(const auto sections, file.find_ints(keys.key(kSections), 0, kMaxHeadDim));
  if (!sections || sections->size() != 4 ||
      std::accumulate(sections->begin(), sections->end(), int64_t{0}) == 0) {
    return fail(ErrorCode::corrupt_file,
                "{}: {} must be four numbers of rotated pairs, the file has {}; export the model again",
                file.name(), keys.key(kSections),
                sections ? fmt::format("{} numbers", sections->size()) : "none");
  }
  hp.rope.sections = *sections;
  PARLANCE_TRY(const int64_t n_deepstack, keys.integer_or("n_deepstack_layers", 0, 0, kMaxLayers));
  if (n_deepstack == 0) return {};
  return fail(ErrorCode::unsupported,
              "{}: {} is {}; this program runs the architecture for speech only, with 0", file.name(),
              keys.key("n_deepstack_layers"), n_deepstack);
}

// A layer is recurrent when it has the tensors of one; `full_attention_interval` has to agree.
Result<void> read_layer_kinds(const GgufFile& file, const Keys& keys, HyperParameters& hp) {
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

Result<void> read_delta_net(const GgufFile& file, const Keys& keys, DeltaNetParameters& net) {
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

// What Qwen3.5 has beyond a transformer: recurrent layers, and perhaps layers at the end that predict further
// tokens.
Result<void> read_hybrid(const GgufFile& file, const Keys& keys, HyperParameters& hp) {
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
  return read_delta_net(file, keys, hp.delta_net);
}

}  // namespace

int64_t HyperParameters::n_layers_of(LayerKind kind, int64_t first, int64_t end) const {
  return std::count(layer_kinds.begin() + first, layer_kinds.begin() + end, kind);
}

Result<HyperParameters> read_hyper_parameters(const GgufFile& file) {
  HyperParameters hp;
  PARLANCE_TRY(const std::string_view architecture, file.get_string("general.architecture"));
  hp.architecture = architecture;
  const Keys keys(file, hp.architecture);

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
  if (hp.architecture == "qwen35") PARLANCE_CHECK(read_hybrid(file, keys, hp));
  if (hp.architecture == "qwen3vl") PARLANCE_CHECK(read_sections(file, keys, hp));
  return hp;
}

}  // namespace parlance
