// Finds the sizes and weights of OmniVoice's language model in a file.
#include <string>

#include "kernels/widens_weights.h"
#include "models/layers/rope.h"
#include "models/omnivoice_lm.h"

namespace parlance {

namespace {

constexpr int64_t kMaxCodebooks = 64;
constexpr int64_t kMaxAudioVocab = 1 << 20;
constexpr int64_t kMaxTextVocab = 1 << 24;

Result<OmniVoiceParameters> read_omnivoice(const GgufFile& file) {
  OmniVoiceParameters hp;
  PARLANCE_TRY(const std::string_view architecture, file.get_string("general.architecture"));
  if (architecture != "omnivoice-lm") {
    return fail(
        ErrorCode::unsupported,
        "{}: expected the language model of OmniVoice (architecture omnivoice-lm), the file has {}; give its "
        "base file",
        file.name(), architecture);
  }
  PARLANCE_TRY(hp.text, read_common_parameters(file));
  PARLANCE_TRY(hp.n_text_vocab, file.get_int("omnivoice-lm.vocab_size", 1, kMaxTextVocab));
  PARLANCE_TRY(hp.n_codebook, file.get_int("omnivoice.num_audio_codebook", 1, kMaxCodebooks));
  PARLANCE_TRY(hp.n_audio_vocab, file.get_int("omnivoice.audio_vocab_size", 2, kMaxAudioVocab));
  PARLANCE_TRY(const int64_t mask, file.get_int("omnivoice.audio_mask_id", 0, hp.n_audio_vocab - 1));
  hp.mask = static_cast<int32_t>(mask);
  const std::pair<const char*, int32_t*> specials[] = {
      {"denoise", &hp.special.denoise},           {"lang_start", &hp.special.lang_start},
      {"lang_end", &hp.special.lang_end},         {"instruct_start", &hp.special.instruct_start},
      {"instruct_end", &hp.special.instruct_end}, {"text_start", &hp.special.text_start},
      {"text_end", &hp.special.text_end}};
  for (const auto& [name, token] : specials) {
    PARLANCE_TRY(const int64_t id,
                 file.get_int(fmt::format("omnivoice.special.{}", name), 0, hp.n_text_vocab - 1));
    *token = static_cast<int32_t>(id);
  }
  if (mask >= hp.n_text_vocab || hp.text.head_dim_k != hp.text.head_dim_v) {
    return fail(
        ErrorCode::corrupt_file,
        "{}: a mask {} of {} text tokens and heads of {} and {} values cannot be; export the file again",
        file.name(), mask, hp.n_text_vocab, hp.text.head_dim_k, hp.text.head_dim_v);
  }
  return hp;
}

Result<OmniVoiceLayer> load_omnivoice_layer(WeightLoader& weights, const HyperParameters& hp, int64_t layer) {
  const std::string name = fmt::format("llm.layers.{}.", layer);
  const int64_t n_q = hp.n_head * hp.head_dim_k, n_kv = hp.n_head_kv * hp.head_dim_k;
  OmniVoiceLayer l;
  PARLANCE_TRY(l.input_norm, weights.vector(name + "input_layernorm.weight", hp.n_embd));
  PARLANCE_TRY(l.q, weights.linear(name + "self_attn.q_proj", hp.n_embd, n_q));
  PARLANCE_TRY(l.k, weights.linear(name + "self_attn.k_proj", hp.n_embd, n_kv));
  PARLANCE_TRY(l.v, weights.linear(name + "self_attn.v_proj", hp.n_embd, n_kv));
  PARLANCE_TRY(l.o, weights.linear(name + "self_attn.o_proj", n_q, hp.n_embd));
  PARLANCE_TRY(l.q_norm, weights.vector(name + "self_attn.q_norm.weight", hp.head_dim_k));
  PARLANCE_TRY(l.k_norm, weights.vector(name + "self_attn.k_norm.weight", hp.head_dim_k));
  PARLANCE_TRY(l.mlp_norm, weights.vector(name + "post_attention_layernorm.weight", hp.n_embd));
  PARLANCE_TRY(l.mlp.gate, weights.linear(name + "mlp.gate_proj", hp.n_embd, hp.n_ff));
  PARLANCE_TRY(l.mlp.up, weights.linear(name + "mlp.up_proj", hp.n_embd, hp.n_ff));
  PARLANCE_TRY(l.mlp.down, weights.linear(name + "mlp.down_proj", hp.n_ff, hp.n_embd));
  return l;
}

}  // namespace

Result<std::unique_ptr<OmniVoiceLm>> OmniVoiceLm::load(const GgufFile& file, Device& device,
                                                       WeightPrecision precision, bool may_widen) {
  PARLANCE_TRY(OmniVoiceParameters hp, read_omnivoice(file));
  PARLANCE_TRY(auto weights, WeightLoader::create(file, precision));
  std::unique_ptr<OmniVoiceLm> model(new OmniVoiceLm(file.name(), std::move(hp)));
  PARLANCE_CHECK(model->load_weights(file, std::move(weights), device));
  if (may_widen) {
    PARLANCE_CHECK(model->widen_weights(device));
  }
  return model;
}

Result<void> OmniVoiceLm::widen_weights(Device& device) {
  constexpr size_t kAmple = 4;  // times what is taken
  auto* const widener = dynamic_cast<WidensWeights*>(&device);
  if (!widener) return {};
  std::vector<const Tensor*> list{&audio_heads_.weight};
  for (const OmniVoiceLayer& l : layers_) {
    for (const Linear* linear : {&l.q, &l.k, &l.v, &l.o, &l.mlp.gate, &l.mlp.up, &l.mlp.down}) {
      // Of f32, sums are wanted that are as near as they get.
      if (linear->weight.dtype != DType::f32) list.push_back(&linear->weight);
    }
  }
  size_t bytes = 0;
  for (const Tensor* weight : list) bytes += widener->widened_bytes(*weight);
  if (device.memory().free / kAmple < bytes) return {};
  for (const Tensor* weight : list) {
    if (widener->widened_bytes(*weight) == 0) continue;
    PARLANCE_CHECK(widener->widen(*weight));
  }
  widened_bytes_ = bytes;
  return {};
}

Result<void> OmniVoiceLm::load_weights(const GgufFile& file, WeightLoader weights, Device& device) {
  const HyperParameters& hp = hp_.text;
  weights.place_on(device);
  const int64_t n_rows = hp_.n_codebook * hp_.n_audio_vocab;
  PARLANCE_TRY(embed_tokens_, weights.matrix("llm.embed_tokens.weight", hp.n_embd, hp_.n_text_vocab));
  PARLANCE_TRY(audio_embeddings_, weights.matrix("audio_embeddings.weight", hp.n_embd, n_rows));
  for (int64_t layer = 0; layer < hp.n_layer; ++layer) {
    PARLANCE_TRY(const OmniVoiceLayer loaded, load_omnivoice_layer(weights, hp, layer));
    layers_.push_back(loaded);
  }
  PARLANCE_TRY(norm_, weights.vector("llm.norm.weight", hp.n_embd));
  // Rounding what the heads see to bytes costs a quarter of the right answers, so quantised ones are decoded.
  const GgufTensor* const heads = file.find_tensor("audio_heads.weight");
  const bool is_float = heads && (heads->dtype == DType::f16 || heads->dtype == DType::bf16);
  PARLANCE_TRY(audio_heads_.weight, is_float ? weights.matrix("audio_heads.weight", hp.n_embd, n_rows)
                                             : weights.f32_matrix("audio_heads.weight", hp.n_embd, n_rows));
  PARLANCE_TRY(rope_inverse_, weights.constant(rope_frequencies(hp.rope, {}).inverse, hp.rope.n_rot / 2, 2));
  PARLANCE_TRY(buffers_, std::move(weights).finish());
  return {};
}

}  // namespace parlance
