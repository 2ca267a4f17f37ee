#include "convert/omnivoice.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "convert/language_model.h"
#include "convert/vocabulary_source.h"
#include "gguf/contents.h"
#include "quant/block_format.h"

namespace parlance {

namespace {

constexpr int64_t kMostSize = int64_t{1} << 24;

constexpr std::array<std::string_view, 7> kMarks = {
    "denoise", "lang_start", "lang_end", "instruct_start", "instruct_end", "text_start", "text_end"};

// Of the codec: only for training, or of a decoder that nobody asks.
bool is_dropped(std::string_view name) {
  return name.starts_with("decoder_semantic.") || name.starts_with("fc1.") ||
         name.ends_with(".cluster_size") || name.ends_with(".embed_avg") || name.ends_with(".inited") ||
         name.find(".parametrizations.") != name.npos || name.ends_with(".weight_g") ||
         name.ends_with(".weight_v") || name.ends_with(".masked_spec_embed");
}

constexpr std::string_view kPositional = "semantic_model.encoder.pos_conv_embed.conv";

Result<std::vector<float>> floats_of(const WeightFolder& folder, const SafeTensor& tensor) {
  PARLANCE_TRY(const std::vector<std::byte> bytes, folder.read(tensor));
  std::vector<float> values(static_cast<size_t>(tensor.n_values()));
  block_format(*tensor.dtype).decode_row(bytes.data(), values.data(), tensor.n_values());
  return values;
}

// Weight norm folded in: w[o, i, k] = v[o, i, k] * g[k] / |v[., ., k]|.
Result<std::vector<float>> folded(const WeightFolder& folder, const SafeTensor& g, const SafeTensor& v) {
  PARLANCE_TRY(const std::vector<float> scales, floats_of(folder, g));
  PARLANCE_TRY(std::vector<float> weights, floats_of(folder, v));
  const size_t n_taps = scales.size();
  std::vector<double> squares(n_taps);
  for (size_t i = 0; i < weights.size(); ++i) {
    squares[i % n_taps] += static_cast<double>(weights[i]) * static_cast<double>(weights[i]);
  }
  for (size_t i = 0; i < weights.size(); ++i) {
    const size_t tap = i % n_taps;
    weights[i] = static_cast<float>(static_cast<double>(weights[i]) * static_cast<double>(scales[tap]) /
                                    std::sqrt(squares[tap]));
  }
  return weights;
}

// The positional convolution, whose weight may be in two parts.
Result<void> plan_positional(const WeightFolder& folder, std::vector<TensorPlan>& tensors) {
  const std::string name(kPositional);
  const SafeTensor* g = folder.find(name + ".parametrizations.weight.original0");
  const SafeTensor* v = folder.find(name + ".parametrizations.weight.original1");
  if (!g || !v) {
    g = folder.find(name + ".weight_g");
    v = folder.find(name + ".weight_v");
  }
  if (!g || !v) return {};  // folded already
  if (!g->dtype || !v->dtype || v->shape.size() != 3 || g->n_values() != v->shape.back() ||
      v->n_values() == 0) {
    return fail(ErrorCode::corrupt_file, "{}: the parts of {} do not fit each other; fetch the weights again",
                folder.path().string(), name);
  }
  tensors.push_back({.name = name + ".weight",
                     .ne = {v->shape[2], v->shape[1], v->shape[0]},
                     .dtype = *v->dtype,
                     .values = [&folder, g, v] { return folded(folder, *g, *v); }});
  return {};
}

Json member_or_empty(const Json& object, std::string_view key) {
  return object.member(key).value_or(Json::object());
}

}  // namespace

bool is_omnivoice(const Json& config) {
  return JsonFields{config, ""}.text_or("model_type", "") == "omnivoice" ||
         (config.member("audio_codebook_weights") && config.member("llm_config"));
}

Result<std::vector<TensorPlan>> plan_omnivoice_base(GgufWriter& writer, const WeightFolder& folder,
                                                    const Json& config, const ConvertType& type) {
  const std::string file = (folder.path() / "config.json").string();
  const Json llm = inner_config(config, "llm_config");
  const JsonFields own{config, file}, fields{llm, file + ": llm_config"};
  write_general(writer, "omnivoice-lm", "", "OmniVoice");
  const auto set = [&](const char* key, const char* field) -> Result<int64_t> {
    PARLANCE_TRY(const int64_t value, fields.integer(field, 1, kMostSize));
    writer.set_u32(fmt::format("omnivoice-lm.{}", key), static_cast<uint32_t>(value));
    return value;
  };
  PARLANCE_CHECK(set("block_count", "num_hidden_layers"));
  PARLANCE_TRY(const int64_t width, set("embedding_length", "hidden_size"));
  PARLANCE_CHECK(set("feed_forward_length", "intermediate_size"));
  PARLANCE_TRY(const int64_t n_head, set("attention.head_count", "num_attention_heads"));
  PARLANCE_CHECK(set("attention.head_count_kv", "num_key_value_heads"));
  const auto head_dim = static_cast<uint32_t>(fields.integer_or("head_dim", width / n_head));
  writer.set_u32("omnivoice-lm.attention.key_length", head_dim);
  writer.set_u32("omnivoice-lm.attention.value_length", head_dim);
  PARLANCE_TRY(const int64_t n_vocab, set("vocab_size", "vocab_size"));
  PARLANCE_CHECK(set("context_length", "max_position_embeddings"));
  PARLANCE_TRY(const double epsilon, fields.number("rms_norm_eps"));
  writer.set_f32("omnivoice-lm.attention.layer_norm_rms_epsilon", static_cast<float>(epsilon));
  const Json rope = member_or_empty(llm, "rope_parameters");
  const double base = JsonFields{rope, ""}.number_or("rope_theta", fields.number_or("rope_theta", 10000));
  writer.set_f32("omnivoice-lm.rope.freq_base", static_cast<float>(base));
  writer.set_bool("omnivoice.tie_word_embeddings", fields.truth_or("tie_word_embeddings", true));
  for (const char* key : {"num_audio_codebook", "audio_vocab_size", "audio_mask_id"}) {
    PARLANCE_TRY(const int64_t value, own.integer(key, 1, kMostSize));
    writer.set_u32(fmt::format("omnivoice.{}", key), static_cast<uint32_t>(value));
  }
  PARLANCE_TRY(const std::vector<int32_t> weights, own.integers("audio_codebook_weights"));
  writer.set_i32s("omnivoice.audio_codebook_weights", weights);
  PARLANCE_TRY(const VocabularySource vocabulary, read_vocabulary(folder, llm, n_vocab, false));
  for (const std::string_view mark : kMarks) {
    const auto id = vocabulary.find(fmt::format("<|{}|>", mark));
    if (!id) {
      return fail(ErrorCode::corrupt_file, "{}: the vocabulary lacks <|{}|>; fetch tokenizer.json again",
                  folder.path().string(), mark);
    }
    writer.set_u32(fmt::format("omnivoice.special.{}", mark), *id);
  }
  writer.set_string("tokenizer.ggml.model", "gpt2");
  writer.set_strings("tokenizer.ggml.tokens", vocabulary.tokens);
  writer.set_strings("tokenizer.ggml.merges", vocabulary.merges);

  std::vector<TensorPlan> tensors;
  for (const auto& [name, source] : folder.tensors()) {
    if (name.ends_with("codebook_layer_offsets")) continue;
    const bool is_known =
        name.starts_with("llm.") || name.starts_with("audio_embeddings.") || name.starts_with("audio_heads.");
    if (!is_known) {
      return fail(ErrorCode::unsupported, "{}: nothing is known here of the tensor {} in OmniVoice",
                  folder.path().string(), printable(name));
    }
    PARLANCE_TRY(tensors.emplace_back(), plan_tensor(folder, *source, name, usual_type(*source, name, type)));
  }
  if (type.dtype == DType::q8_0) {
    constexpr uint32_t kQuantizationVersion = 2;
    writer.set_u32("general.quantization_version", kQuantizationVersion);
    writer.set_string("general.file_type", "Q8_0");  // a name, in these files
  }
  return tensors;
}

Result<std::vector<TensorPlan>> plan_omnivoice_codec(GgufWriter& writer, const WeightFolder& folder) {
  PARLANCE_TRY(const Json config, folder.read_json("config.json"));
  const std::string file = (folder.path() / "config.json").string();
  const Json acoustic = member_or_empty(config, "acoustic_model_config");
  const Json semantic = member_or_empty(config, "semantic_model_config");
  write_general(writer, "omnivoice-tokenizer", "", "OmniVoice-tokenizer");
  const auto set = [&](const JsonFields& fields, const std::string& prefix,
                       std::initializer_list<const char*> keys) -> Result<void> {
    for (const char* key : keys) {
      PARLANCE_TRY(const int64_t value, fields.integer(key, 0, kMostSize));
      writer.set_u32(prefix + key, static_cast<uint32_t>(value));
    }
    return {};
  };
  const auto set_lists = [&](const JsonFields& fields, const std::string& prefix,
                             std::initializer_list<const char*> keys) -> Result<void> {
    for (const char* key : keys) {
      PARLANCE_TRY(const std::vector<int32_t> values, fields.integers(key));
      writer.set_i32s(prefix + key, values);
    }
    return {};
  };
  const JsonFields whole{config, file}, sound{acoustic, file + ": acoustic_model_config"},
      meaning{semantic, file + ": semantic_model_config"};
  PARLANCE_CHECK(
      set(whole, "omnivoice.",
          {"sample_rate", "semantic_sample_rate", "downsample_factor", "codebook_size", "codebook_dim"}));
  PARLANCE_CHECK(
      set(sound, "omnivoice.acoustic.",
          {"encoder_hidden_size", "decoder_hidden_size", "hidden_size", "n_codebooks", "hop_length"}));
  PARLANCE_CHECK(set_lists(sound, "omnivoice.acoustic.", {"upsampling_ratios", "downsampling_ratios"}));
  PARLANCE_CHECK(set(meaning, "omnivoice.semantic.",
                     {"hidden_size", "intermediate_size", "num_attention_heads", "num_hidden_layers",
                      "num_feat_extract_layers"}));
  PARLANCE_CHECK(set_lists(meaning, "omnivoice.semantic.", {"conv_dim", "conv_kernel", "conv_stride"}));
  PARLANCE_CHECK(
      set(meaning, "omnivoice.semantic.", {"num_conv_pos_embeddings", "num_conv_pos_embedding_groups"}));
  writer.set_f32("omnivoice.semantic.layer_norm_eps",
                 static_cast<float>(meaning.number_or("layer_norm_eps", 1e-5)));

  std::vector<TensorPlan> tensors;
  PARLANCE_CHECK(plan_positional(folder, tensors));
  for (const auto& [name, source] : folder.tensors()) {
    if (is_dropped(name)) continue;
    const DType dtype = source->shape.size() <= 1 ? DType::f32 : source->dtype.value_or(DType::f32);
    PARLANCE_TRY(tensors.emplace_back(), plan_tensor(folder, *source, name, dtype));
  }
  return tensors;
}

}  // namespace parlance
