// Finds an audio encoder's sizes and weights in a file.
#include <cmath>
#include <string>

#include "models/audio_encoder.h"

namespace parlance {

namespace {

constexpr int64_t kMaxEncoderLayers = 1024;
constexpr int64_t kMaxEncoderSize = int64_t{1} << 20;

Result<void> check_projector(const GgufFile& file) {
  PARLANCE_TRY(const std::string_view architecture, file.get_string("general.architecture"));
  PARLANCE_TRY(auto type, file.find_string("clip.projector_type"));
  if (!type) {
    PARLANCE_TRY(type, file.find_string("clip.audio.projector_type"));
  }
  if (architecture == "clip" && type == "qwen3a") return {};
  return fail(
      ErrorCode::unsupported,
      "{}: expected an audio encoder (architecture clip, projector qwen3a), the file has {} and {}; give "
      "the mmproj file of Qwen3-ASR",
      file.name(), architecture, type.value_or("no projector"));
}

Result<AudioEncoderParameters> read_parameters(const GgufFile& file) {
  PARLANCE_CHECK(check_projector(file));
  AudioEncoderParameters hp;
  PARLANCE_TRY(hp.n_layer, file.get_int("clip.audio.block_count", 1, kMaxEncoderLayers));
  PARLANCE_TRY(hp.n_embd, file.get_int("clip.audio.embedding_length", 2, kMaxEncoderSize));
  PARLANCE_TRY(hp.n_ff, file.get_int("clip.audio.feed_forward_length", 1, kMaxEncoderSize));
  PARLANCE_TRY(hp.n_head, file.get_int("clip.audio.attention.head_count", 1, kMaxEncoderSize));
  PARLANCE_TRY(hp.n_mel, file.get_int("clip.audio.num_mel_bins", 8, 1024));
  PARLANCE_TRY(hp.n_out, file.get_int("clip.audio.projection_dim", 1, kMaxEncoderSize));
  PARLANCE_TRY(const double eps, file.get_float("clip.audio.attention.layer_norm_epsilon"));
  PARLANCE_TRY(hp.n_channel, size_of_tensor(file, "a.conv2d.1.weight", 3));
  PARLANCE_TRY(hp.n_pos, size_of_tensor(file, "a.position_embd.weight", 1));
  if (hp.n_embd % hp.n_head != 0 || hp.n_mel % 8 != 0 || !(eps >= 0 && eps < 1)) {
    return fail(ErrorCode::corrupt_file,
                "{}: an encoder of width {} with {} heads, {} mel bands and a norm epsilon of {} cannot be; "
                "export the file again",
                file.name(), hp.n_embd, hp.n_head, hp.n_mel, eps);
  }
  hp.norm_eps = static_cast<float>(eps);
  return hp;
}

Result<AudioEncoderLayer> load_encoder_layer(WeightLoader& weights, const AudioEncoderParameters& hp,
                                             int64_t layer) {
  const std::string block = fmt::format("a.blk.{}.", layer);
  AudioEncoderLayer l;
  PARLANCE_TRY(l.ln1, weights.layer_norm(block + "ln1", hp.n_embd));
  PARLANCE_TRY(l.q, weights.linear(block + "attn_q", hp.n_embd, hp.n_embd));
  PARLANCE_TRY(l.k, weights.linear(block + "attn_k", hp.n_embd, hp.n_embd));
  PARLANCE_TRY(l.v, weights.linear(block + "attn_v", hp.n_embd, hp.n_embd));
  PARLANCE_TRY(l.out, weights.linear(block + "attn_out", hp.n_embd, hp.n_embd));
  PARLANCE_TRY(l.ln2, weights.layer_norm(block + "ln2", hp.n_embd));
  PARLANCE_TRY(l.up, weights.linear(block + "ffn_up", hp.n_embd, hp.n_ff));
  PARLANCE_TRY(l.down, weights.linear(block + "ffn_down", hp.n_ff, hp.n_embd));
  return l;
}

}  // namespace

Result<std::unique_ptr<AudioEncoder>> AudioEncoder::load(const GgufFile& file, Device& device,
                                                         WeightPrecision precision) {
  PARLANCE_TRY(const AudioEncoderParameters hp, read_parameters(file));
  PARLANCE_TRY(auto weights, WeightLoader::create(file, precision));
  std::unique_ptr<AudioEncoder> encoder(new AudioEncoder(file.name(), hp));
  PARLANCE_CHECK(encoder->load_weights(std::move(weights), device));
  return encoder;
}

Result<void> AudioEncoder::load_weights(WeightLoader weights, Device& device) {
  weights.place_on(device);
  const int64_t n_channel = hp_.n_channel;
  PARLANCE_TRY(w_.conv1, weights.filters("a.conv2d.1", {3, 3, 1, n_channel}));
  PARLANCE_TRY(w_.conv2, weights.filters("a.conv2d.2", {3, 3, n_channel, n_channel}));
  PARLANCE_TRY(w_.conv3, weights.filters("a.conv2d.3", {3, 3, n_channel, n_channel}));
  PARLANCE_TRY(w_.conv_out, weights.linear("a.conv_out", hp_.n_mel / 8 * n_channel, hp_.n_embd));
  PARLANCE_TRY(w_.position, weights.f32_matrix("a.position_embd.weight", hp_.n_embd, hp_.n_pos));
  for (int64_t layer = 0; layer < hp_.n_layer; ++layer) {
    PARLANCE_TRY(const AudioEncoderLayer loaded, load_encoder_layer(weights, hp_, layer));
    w_.layers.push_back(loaded);
  }
  PARLANCE_TRY(w_.post_ln, weights.layer_norm("a.post_ln", hp_.n_embd));
  PARLANCE_TRY(w_.project1, weights.linear("mm.a.mlp.1", hp_.n_embd, hp_.n_embd));
  PARLANCE_TRY(w_.project2, weights.linear("mm.a.mlp.2", hp_.n_embd, hp_.n_out));
  PARLANCE_TRY(buffers_, std::move(weights).finish());
  return {};
}

}  // namespace parlance
