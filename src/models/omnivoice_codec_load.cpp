// Finds the sizes and weights of OmniVoice's codec in a file.
#include <numeric>
#include <string>

#include "models/omnivoice_codec.h"

namespace parlance {

namespace {

constexpr int64_t kMaxCodecSize = int64_t{1} << 16;
constexpr int64_t kMaxCodecLevels = 64;
constexpr int64_t kMaxRatio = 64;

Result<std::vector<int64_t>> list_of(const GgufFile& file, const std::string& key, int64_t max) {
  PARLANCE_TRY(const auto values, file.find_ints(key, 1, max));
  if (values && !values->empty() && values->size() <= 16) return *values;
  return fail(ErrorCode::corrupt_file, "{}: {} must be a list of 1 to 16 numbers; export the file again",
              file.name(), key);
}

Result<void> read_hubert(const GgufFile& file, OmniVoiceCodecParameters& hp) {
  const std::string key = "omnivoice.semantic.";
  PARLANCE_TRY(hp.n_embd, file.get_int(key + "hidden_size", 1, kMaxCodecSize));
  PARLANCE_TRY(hp.n_ff, file.get_int(key + "intermediate_size", 1, kMaxCodecSize));
  PARLANCE_TRY(hp.n_head, file.get_int(key + "num_attention_heads", 1, kMaxCodecSize));
  PARLANCE_TRY(hp.n_layer, file.get_int(key + "num_hidden_layers", 1, 1024));
  PARLANCE_TRY(hp.conv_dim, list_of(file, key + "conv_dim", kMaxCodecSize));
  PARLANCE_TRY(hp.conv_kernel, list_of(file, key + "conv_kernel", kMaxRatio));
  PARLANCE_TRY(hp.conv_stride, list_of(file, key + "conv_stride", kMaxRatio));
  PARLANCE_TRY(hp.pos_kernel, file.get_int(key + "num_conv_pos_embeddings", 2, 4096));
  PARLANCE_TRY(hp.n_pos_group, file.get_int(key + "num_conv_pos_embedding_groups", 1, kMaxCodecSize));
  PARLANCE_TRY(const double eps, file.get_float(key + "layer_norm_eps"));
  hp.norm_eps = static_cast<float>(eps);
  if (hp.conv_dim.size() != hp.conv_kernel.size() || hp.conv_dim.size() != hp.conv_stride.size() ||
      hp.n_embd % hp.n_head != 0 || hp.n_embd % hp.n_pos_group != 0 || !(eps >= 0 && eps < 1)) {
    return fail(ErrorCode::corrupt_file, "{}: the sizes {}* contradict each other; export the file again",
                file.name(), key);
  }
  return {};
}

Result<OmniVoiceCodecParameters> read_codec(const GgufFile& file) {
  OmniVoiceCodecParameters hp;
  PARLANCE_TRY(const std::string_view architecture, file.get_string("general.architecture"));
  if (architecture != "omnivoice-tokenizer") {
    return fail(
        ErrorCode::unsupported,
        "{}: expected the codec of OmniVoice (architecture omnivoice-tokenizer), the file has {}; give its "
        "tokenizer file",
        file.name(), architecture);
  }
  PARLANCE_TRY(hp.sample_rate_hz, file.get_int("omnivoice.sample_rate", 8000, 192000));
  PARLANCE_TRY(hp.semantic_rate_hz, file.get_int("omnivoice.semantic_sample_rate", 8000, 192000));
  PARLANCE_TRY(hp.hop_length, file.get_int("omnivoice.acoustic.hop_length", 1, kMaxCodecSize));
  PARLANCE_TRY(hp.n_codes, file.get_int("omnivoice.codebook_size", 2, kMaxCodecSize));
  PARLANCE_TRY(hp.codebook_dim, file.get_int("omnivoice.codebook_dim", 1, kMaxCodecSize));
  PARLANCE_TRY(hp.n_encoder, file.get_int("omnivoice.acoustic.encoder_hidden_size", 1, kMaxCodecSize));
  PARLANCE_TRY(hp.n_decoder, file.get_int("omnivoice.acoustic.decoder_hidden_size", 1, kMaxCodecSize));
  PARLANCE_TRY(hp.n_hidden, file.get_int("omnivoice.acoustic.hidden_size", 1, kMaxCodecSize));
  PARLANCE_TRY(hp.upsampling, list_of(file, "omnivoice.acoustic.upsampling_ratios", kMaxRatio));
  PARLANCE_TRY(hp.downsampling, list_of(file, "omnivoice.acoustic.downsampling_ratios", kMaxRatio));
  while (hp.n_codebook < kMaxCodecLevels &&
         file.find_tensor(fmt::format("quantizer.quantizers.{}.codebook.embed", hp.n_codebook))) {
    ++hp.n_codebook;
  }
  PARLANCE_TRY(hp.n_latent, size_of_tensor(file, "fc.weight", 1));
  PARLANCE_CHECK(read_hubert(file, hp));
  const auto product = [](const std::vector<int64_t>& ratios) {
    return std::accumulate(ratios.begin(), ratios.end(), int64_t{1},
                           [](int64_t a, int64_t b) { return std::min<int64_t>(a * b, kMaxCodecSize); });
  };
  const bool can_halve =
      hp.n_decoder >> hp.upsampling.size() > 0 && hp.n_encoder << hp.downsampling.size() <= kMaxCodecSize;
  if (product(hp.upsampling) != hp.hop_length || product(hp.downsampling) != hp.hop_length || !can_halve ||
      hp.n_codebook == 0) {
    return fail(ErrorCode::corrupt_file,
                "{}: {} quantisers, ratios whose products are {} and {}, and a hop of {}: expected some, and "
                "the same "
                "three times; export the file again",
                file.name(), hp.n_codebook, product(hp.upsampling), product(hp.downsampling), hp.hop_length);
  }
  return hp;
}

Result<CodecResidualUnit> load_unit(WeightLoader& weights, const std::string& name, int64_t n) {
  CodecResidualUnit unit;
  PARLANCE_TRY(unit.snake1, weights.vector(name + ".snake1.alpha", {1, n, 1}));
  PARLANCE_TRY(unit.conv1, weights.filters(name + ".conv1", {7, n, n}));
  PARLANCE_TRY(unit.snake2, weights.vector(name + ".snake2.alpha", {1, n, 1}));
  PARLANCE_TRY(unit.conv2, weights.filters(name + ".conv2", {1, n, n}));
  return unit;
}

// The file has [window, n_out, n_in]; the product takes rows of n_in values, outputs before places of the
// window.
Result<Linear> load_transposed(WeightLoader& weights, const std::string& name, int64_t n_in, int64_t n_out,
                               int64_t width) {
  Linear linear;
  PARLANCE_TRY(const std::vector<float> stored, weights.values(name + ".weight", {width, n_out, n_in}));
  std::vector<float> rows(stored.size());
  for (int64_t i = 0; i < n_in; ++i) {
    for (int64_t o = 0; o < n_out; ++o) {
      for (int64_t k = 0; k < width; ++k) {
        rows[static_cast<size_t>((k * n_out + o) * n_in + i)] =
            stored[static_cast<size_t>((i * n_out + o) * width + k)];
      }
    }
  }
  PARLANCE_TRY(linear.weight, weights.constant(std::move(rows), n_in, width * n_out));
  PARLANCE_TRY(linear.bias, weights.vector(name + ".bias", n_out));
  return linear;
}

Result<CodecTower> load_decoder(WeightLoader& weights, const OmniVoiceCodecParameters& hp) {
  const std::string name = "acoustic_decoder.";
  CodecTower tower;
  int64_t n = hp.n_decoder;
  PARLANCE_TRY(tower.conv1, weights.filters(name + "conv1", {7, hp.n_hidden, n}));
  for (size_t i = 0; i < hp.upsampling.size(); ++i, n /= 2) {
    const std::string block_name = fmt::format("{}block.{}.", name, i);
    CodecBlock block;
    block.stride = hp.upsampling[i];
    PARLANCE_TRY(block.snake, weights.vector(block_name + "snake1.alpha", {1, n, 1}));
    PARLANCE_TRY(block.resample,
                 load_transposed(weights, block_name + "conv_t1", n, n / 2, 2 * block.stride));
    for (size_t unit = 0; unit < block.units.size(); ++unit) {
      PARLANCE_TRY(block.units[unit],
                   load_unit(weights, fmt::format("{}res_unit{}", block_name, unit + 1), n / 2));
    }
    tower.blocks.push_back(std::move(block));
  }
  PARLANCE_TRY(tower.snake, weights.vector(name + "snake1.alpha", {1, n, 1}));
  PARLANCE_TRY(tower.conv2, weights.filters(name + "conv2", {7, n, 1}));
  return tower;
}

Result<CodecTower> load_encoder(WeightLoader& weights, const OmniVoiceCodecParameters& hp) {
  const std::string name = "acoustic_encoder.";
  CodecTower tower;
  int64_t n = hp.n_encoder;
  PARLANCE_TRY(tower.conv1, weights.filters(name + "conv1", {7, 1, n}));
  for (size_t i = 0; i < hp.downsampling.size(); ++i, n *= 2) {
    const std::string block_name = fmt::format("{}block.{}.", name, i);
    CodecBlock block;
    block.stride = hp.downsampling[i];
    for (size_t unit = 0; unit < block.units.size(); ++unit) {
      PARLANCE_TRY(block.units[unit],
                   load_unit(weights, fmt::format("{}res_unit{}", block_name, unit + 1), n));
    }
    PARLANCE_TRY(block.snake, weights.vector(block_name + "snake1.alpha", {1, n, 1}));
    PARLANCE_TRY(block.resample, weights.filters(block_name + "conv1", {2 * block.stride, n, 2 * n}));
    tower.blocks.push_back(std::move(block));
  }
  PARLANCE_TRY(tower.snake, weights.vector(name + "snake1.alpha", {1, n, 1}));
  PARLANCE_TRY(tower.conv2, weights.filters(name + "conv2", {3, n, hp.n_hidden}));
  return tower;
}

Result<SemanticEncoderWeights> load_semantic_encoder(WeightLoader& weights, int64_t n) {
  const std::string name = "encoder_semantic.";
  SemanticEncoderWeights w;
  PARLANCE_TRY(w.conv, weights.filters(name + "conv", {3, n, n}));
  for (size_t i = 0; i < w.blocks.size(); ++i) {
    const std::string block = fmt::format("{}conv_blocks.{}.", name, i);
    for (size_t j = 0; j < w.blocks[i].units.size(); ++j) {
      const std::string unit = fmt::format("{}res_units.{}.", block, j);
      PARLANCE_TRY(w.blocks[i].units[j].conv1, weights.filters(unit + "conv1", {3, n, n}));
      PARLANCE_TRY(w.blocks[i].units[j].conv2, weights.filters(unit + "conv2", {1, n, n}));
    }
    PARLANCE_TRY(w.blocks[i].conv, weights.filters(block + "conv", {3, n, n}));
  }
  return w;
}

Result<HubertLayer> load_hubert_layer(WeightLoader& weights, const OmniVoiceCodecParameters& hp,
                                      int64_t layer) {
  const std::string name = fmt::format("semantic_model.encoder.layers.{}.", layer);
  HubertLayer l;
  PARLANCE_TRY(l.q, weights.linear(name + "attention.q_proj", hp.n_embd, hp.n_embd));
  PARLANCE_TRY(l.k, weights.linear(name + "attention.k_proj", hp.n_embd, hp.n_embd));
  PARLANCE_TRY(l.v, weights.linear(name + "attention.v_proj", hp.n_embd, hp.n_embd));
  PARLANCE_TRY(l.out, weights.linear(name + "attention.out_proj", hp.n_embd, hp.n_embd));
  PARLANCE_TRY(l.norm, weights.layer_norm(name + "layer_norm", hp.n_embd));
  PARLANCE_TRY(l.up, weights.linear(name + "feed_forward.intermediate_dense", hp.n_embd, hp.n_ff));
  PARLANCE_TRY(l.down, weights.linear(name + "feed_forward.output_dense", hp.n_ff, hp.n_embd));
  PARLANCE_TRY(l.final_norm, weights.layer_norm(name + "final_layer_norm", hp.n_embd));
  return l;
}

}  // namespace

Result<void> OmniVoiceCodec::load_hubert(WeightLoader& weights) {
  const std::string name = "semantic_model.";
  int64_t n_in = 1;
  for (size_t i = 0; i < hp_.conv_dim.size(); ++i) {
    PARLANCE_TRY(const Linear conv,
                 weights.filters(fmt::format("{}feature_extractor.conv_layers.{}.conv", name, i),
                                 {hp_.conv_kernel[i], n_in, hp_.conv_dim[i]}));
    hubert_.convs.push_back(conv);
    n_in = hp_.conv_dim[i];
  }
  PARLANCE_TRY(hubert_.conv_norm,
               weights.layer_norm(name + "feature_extractor.conv_layers.0.layer_norm", hp_.conv_dim[0]));
  PARLANCE_TRY(hubert_.projection_norm, weights.layer_norm(name + "feature_projection.layer_norm", n_in));
  PARLANCE_TRY(hubert_.projection, weights.linear(name + "feature_projection.projection", n_in, hp_.n_embd));
  const int64_t n_group = hp_.n_embd / hp_.n_pos_group;
  PARLANCE_TRY(const Linear pos,
               weights.filters(name + "encoder.pos_conv_embed.conv", {hp_.pos_kernel, n_group, hp_.n_embd}));
  for (int64_t group = 0; group < hp_.n_pos_group; ++group) {
    Linear part{pos.weight.rows(group * n_group, n_group), {}};
    if (pos.bias) {
      part.bias = pos.bias;
      part.bias.data += static_cast<size_t>(group * n_group) * sizeof(float);
      part.bias.ne = {n_group, 1, 1, 1};
    }
    hubert_.pos_conv.push_back(part);
  }
  PARLANCE_TRY(hubert_.norm, weights.layer_norm(name + "encoder.layer_norm", hp_.n_embd));
  for (int64_t layer = 0; layer < hp_.n_layer; ++layer) {
    PARLANCE_TRY(const HubertLayer loaded, load_hubert_layer(weights, hp_, layer));
    hubert_.layers.push_back(loaded);
  }
  return {};
}

Result<void> OmniVoiceCodec::load_quantisers(WeightLoader& weights) {
  const int64_t dim = hp_.codebook_dim, n_latent = hp_.n_latent;
  for (int64_t level = 0; level < hp_.n_codebook; ++level) {
    const std::string name = fmt::format("quantizer.quantizers.{}.", level);
    CodecQuantiser w;
    PARLANCE_TRY(w.codebook, weights.f32_matrix(name + "codebook.embed", dim, hp_.n_codes));
    PARLANCE_TRY(w.project_out, weights.linear(name + "project_out", dim, n_latent));
    PARLANCE_TRY(w.host_codebook, weights.values(name + "codebook.embed", {dim, hp_.n_codes}));
    PARLANCE_TRY(w.host_in, weights.values(name + "project_in.weight", {n_latent, dim}));
    PARLANCE_TRY(w.host_in_bias, weights.values(name + "project_in.bias", {dim}));
    PARLANCE_TRY(w.host_out, weights.values(name + "project_out.weight", {dim, n_latent}));
    PARLANCE_TRY(w.host_out_bias, weights.values(name + "project_out.bias", {n_latent}));
    quantisers_.push_back(std::move(w));
  }
  return {};
}

Result<std::unique_ptr<OmniVoiceCodec>> OmniVoiceCodec::load(const GgufFile& file, Device& device,
                                                             WeightPrecision precision) {
  PARLANCE_TRY(OmniVoiceCodecParameters hp, read_codec(file));
  PARLANCE_TRY(auto weights, WeightLoader::create(file, precision));
  std::unique_ptr<OmniVoiceCodec> codec(new OmniVoiceCodec(file.name(), std::move(hp)));
  PARLANCE_CHECK(codec->load_weights(std::move(weights), device));
  return codec;
}

Result<void> OmniVoiceCodec::load_weights(WeightLoader weights, Device& device) {
  weights.place_on(device);
  PARLANCE_CHECK(load_quantisers(weights));
  PARLANCE_TRY(fc_, weights.linear("fc", hp_.n_hidden + hp_.n_embd, hp_.n_latent));
  PARLANCE_TRY(fc2_, weights.linear("fc2", hp_.n_latent, hp_.n_hidden));
  PARLANCE_TRY(decoder_, load_decoder(weights, hp_));
  PARLANCE_TRY(encoder_, load_encoder(weights, hp_));
  PARLANCE_CHECK(load_hubert(weights));
  PARLANCE_TRY(semantic_, load_semantic_encoder(weights, hp_.n_embd));
  PARLANCE_TRY(buffers_, std::move(weights).finish());
  return {};
}

}  // namespace parlance
