#include "convert/audio_encoder.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/parse_number.h"
#include "convert/language_model.h"
#include "gguf/contents.h"

namespace parlance {

namespace {

constexpr int64_t kMostEncoderSize = int64_t{1} << 20;
constexpr int64_t kPositions = 1500;  // 30 seconds, as the converter has it
constexpr double kLongestWave = 10000;

struct EncoderName {
  std::string_view of_source, of_file;
};
constexpr std::array kEncoderNames = {
    EncoderName{"conv2d1", "a.conv2d.1"}, EncoderName{"conv2d2", "a.conv2d.2"},
    EncoderName{"conv2d3", "a.conv2d.3"}, EncoderName{"conv_out", "a.conv_out"},
    EncoderName{"ln_post", "a.post_ln"},  EncoderName{"proj1", "mm.a.mlp.1"},
    EncoderName{"proj2", "mm.a.mlp.2"},
};
constexpr std::array kEncoderLayerNames = {
    EncoderName{"self_attn.q_proj", "attn_q"},
    EncoderName{"self_attn.k_proj", "attn_k"},
    EncoderName{"self_attn.v_proj", "attn_v"},
    EncoderName{"self_attn.out_proj", "attn_out"},
    EncoderName{"self_attn_layer_norm", "ln1"},
    EncoderName{"final_layer_norm", "ln2"},
    EncoderName{"fc1", "ffn_up"},
    EncoderName{"fc2", "ffn_down"},
};

// "audio_tower.layers.3.fc1.weight" -> "a.blk.3.ffn_up.weight"; empty: unknown.
std::string encoder_name(std::string_view name) {
  const size_t dot = name.rfind('.');
  if (dot == name.npos || (name.substr(dot) != ".weight" && name.substr(dot) != ".bias")) return {};
  const std::string_view suffix = name.substr(dot);
  std::string_view module = name.substr(0, dot);
  constexpr std::string_view kLayers = "layers.";
  if (!module.starts_with(kLayers)) {
    const auto found = std::ranges::find(kEncoderNames, module, &EncoderName::of_source);
    return found == kEncoderNames.end() ? std::string() : fmt::format("{}{}", found->of_file, suffix);
  }
  module.remove_prefix(kLayers.size());
  const size_t end = std::min(module.find('.'), module.size());
  const auto layer = parse_number<uint32_t>(module.substr(0, end));
  const auto found = end < module.size() ? std::ranges::find(kEncoderLayerNames, module.substr(end + 1),
                                                             &EncoderName::of_source)
                                         : kEncoderLayerNames.end();
  if (!layer || found == kEncoderLayerNames.end()) return {};
  return fmt::format("a.blk.{}.{}{}", *layer, found->of_file, suffix);
}

// Sines, then cosines, of wavelengths from 2 pi to `kLongestWave` times that: what the network was trained
// with instead of weights.
std::vector<float> sinusoids(int64_t width) {
  const int64_t half = width / 2;
  const double step = std::log(kLongestWave) / static_cast<double>(half - 1);
  std::vector<float> values(static_cast<size_t>(kPositions * width));
  for (int64_t position = 0; position < kPositions; ++position) {
    float* row = values.data() + position * width;
    for (int64_t i = 0; i < half; ++i) {
      const auto speed = static_cast<float>(std::exp(-step * static_cast<double>(i)));
      const float angle = static_cast<float>(position) * speed;
      row[i] = static_cast<float>(std::sin(static_cast<double>(angle)));
      row[half + i] = static_cast<float>(std::cos(static_cast<double>(angle)));
    }
  }
  return values;
}

}  // namespace

Result<std::vector<TensorPlan>> plan_audio_encoder(GgufWriter& writer, const WeightFolder& folder,
                                                   const Json& config, const ConvertType& type) {
  const Json audio = inner_config(config, "audio_config");
  const Json text = inner_config(config, "text_config");
  const JsonFields fields{audio, (folder.path() / "config.json").string() + ": audio_config"};
  PARLANCE_TRY(const int64_t width, fields.integer("d_model", 4, kMostEncoderSize));
  PARLANCE_TRY(const int64_t n_layer, fields.integer("encoder_layers", 1, kMostEncoderSize));
  PARLANCE_TRY(const int64_t n_head, fields.integer("encoder_attention_heads", 1, kMostEncoderSize));
  PARLANCE_TRY(const int64_t n_ff, fields.integer("encoder_ffn_dim", 1, kMostEncoderSize));
  PARLANCE_TRY(const int64_t n_mel, fields.integer("num_mel_bins", 1, kMostEncoderSize));
  PARLANCE_TRY(const int64_t n_out,
               (JsonFields{text, "config.json: text_config"}.integer("hidden_size", 1, kMostEncoderSize)));

  std::vector<TensorPlan> tensors;
  tensors.push_back({.name = "a.position_embd.weight",
                     .ne = {width, kPositions},
                     .values = [width]() -> Result<std::vector<float>> { return sinusoids(width); }});
  for (const auto& [name, source] : folder.tensors()) {
    std::string_view own = name;
    if (own.starts_with("thinker.")) own.remove_prefix(std::string_view("thinker.").size());
    constexpr std::string_view kTower = "audio_tower.";
    if (!own.starts_with(kTower)) continue;
    const std::string file_name = encoder_name(own.substr(kTower.size()));
    if (file_name.empty()) {
      return fail(ErrorCode::unsupported, "{}: nothing is known here of the tensor {} in an audio encoder",
                  folder.path().string(), printable(name));
    }
    DType dtype = usual_type(*source, file_name, type);
    // Convolutions are f16 whatever the others are, unless all is f32.
    const bool is_convolution = file_name.starts_with("a.conv") && file_name.ends_with(".weight");
    if (is_convolution && type.of(source->dtype.value_or(DType::f32)) != DType::f32) dtype = DType::f16;
    std::vector<int64_t> ne;
    if (file_name.starts_with("a.conv2d.") && file_name.ends_with(".bias")) ne = {1, 1, source->n_values()};
    PARLANCE_TRY(tensors.emplace_back(), plan_tensor(folder, *source, file_name, dtype, std::move(ne)));
  }
  if (tensors.size() == 1) {
    return fail(ErrorCode::corrupt_file, "{}: there is no audio encoder (audio_tower) in it",
                folder.path().string());
  }

  write_general(writer, "clip", "mmproj", folder.name());
  writer.set_u32("general.file_type", file_type_of(tensors));
  writer.set_bool("clip.has_audio_encoder", true);
  const auto set = [&](const char* key, int64_t value) {
    writer.set_u32(fmt::format("clip.audio.{}", key), static_cast<uint32_t>(value));
  };
  set("projection_dim", n_out);
  set("embedding_length", width);
  set("feed_forward_length", n_ff);
  set("block_count", n_layer);
  set("attention.head_count", n_head);
  set("num_mel_bins", n_mel);
  writer.set_f32("clip.audio.attention.layer_norm_epsilon",
                 static_cast<float>(fields.number_or("layer_norm_eps", 1e-5)));
  writer.set_string("clip.audio.projector_type", "qwen3a");
  constexpr uint32_t kQuantizationVersion = 2;
  writer.set_u32("general.quantization_version", kQuantizationVersion);
  return tensors;
}

}  // namespace parlance
