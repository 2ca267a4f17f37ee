#include "convert/language_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <numbers>

#include "base/parse_number.h"
#include "convert/vocabulary_source.h"
#include "gguf/contents.h"

namespace parlance {

namespace {

constexpr int64_t kMostCount = int64_t{1} << 24;  // of any dimension of a model
constexpr int64_t kMostLayers = 4096;

struct ArchitectureRow {
  std::string_view of_config, of_file;
};
constexpr std::array kArchitectures = {
    ArchitectureRow{"Qwen3ForCausalLM", "qwen3"},
    ArchitectureRow{"Qwen3Model", "qwen3"},
    ArchitectureRow{"Qwen2ForCausalLM", "qwen2"},
    ArchitectureRow{"Qwen2Model", "qwen2"},
    ArchitectureRow{"LlamaForCausalLM", "llama"},
    ArchitectureRow{"LLaMAForCausalLM", "llama"},
    ArchitectureRow{"MistralForCausalLM", "llama"},
    ArchitectureRow{"LlamaModel", "llama"},
    ArchitectureRow{"Qwen3ASRForConditionalGeneration", "qwen3vl"},
};

struct NameRow {
  std::string_view of_source, of_file;
};
constexpr std::array kModelNames = {NameRow{"embed_tokens", "token_embd"}, NameRow{"norm", "output_norm"},
                                    NameRow{"lm_head", "output"}};
constexpr std::array kLayerNames = {
    NameRow{"input_layernorm", "attn_norm"},    NameRow{"self_attn.q_proj", "attn_q"},
    NameRow{"self_attn.k_proj", "attn_k"},      NameRow{"self_attn.v_proj", "attn_v"},
    NameRow{"self_attn.o_proj", "attn_output"}, NameRow{"self_attn.q_norm", "attn_q_norm"},
    NameRow{"self_attn.k_norm", "attn_k_norm"}, NameRow{"post_attention_layernorm", "ffn_norm"},
    NameRow{"mlp.gate_proj", "ffn_gate"},       NameRow{"mlp.up_proj", "ffn_up"},
    NameRow{"mlp.down_proj", "ffn_down"},
};

template <size_t N>
std::string_view file_name_of(const std::array<NameRow, N>& rows, std::string_view name) {
  const auto found = std::ranges::find(rows, name, &NameRow::of_source);
  return found == rows.end() ? std::string_view() : found->of_file;
}

// What the tensors of the language model are called without the modules around it.
std::optional<std::string_view> own_name(std::string_view name) {
  if (name.starts_with("thinker.")) name.remove_prefix(std::string_view("thinker.").size());
  if (name.starts_with("audio_tower.")) return std::nullopt;
  if (name.starts_with("model.")) name.remove_prefix(std::string_view("model.").size());
  if (name.starts_with("language_model.")) name.remove_prefix(std::string_view("language_model.").size());
  return name;
}

// Computed from others, or of no use.
bool is_left_out(std::string_view name) {
  return name.ends_with(".rotary_emb.inv_freq") || name.ends_with(".attention.masked_bias") ||
         name.ends_with(".attention.bias");
}

struct LayerName {
  int64_t layer = -1;  // of none
  std::string name;    // in the file
};

std::optional<LayerName> translated(std::string_view name) {
  const size_t dot = name.rfind('.');
  if (dot == name.npos) return std::nullopt;
  const std::string_view suffix = name.substr(dot);
  if (suffix != ".weight" && suffix != ".bias") return std::nullopt;
  std::string_view module = name.substr(0, dot);
  constexpr std::string_view kLayers = "layers.";
  if (!module.starts_with(kLayers)) {
    const std::string_view file_name = file_name_of(kModelNames, module);
    if (file_name.empty()) return std::nullopt;
    return LayerName{-1, std::string(file_name) + std::string(suffix)};
  }
  module.remove_prefix(kLayers.size());
  const size_t end = std::min(module.find('.'), module.size());
  const auto layer = parse_number<int64_t>(module.substr(0, end));
  const std::string_view file_name =
      end < module.size() ? file_name_of(kLayerNames, module.substr(end + 1)) : std::string_view();
  if (!layer || *layer < 0 || file_name.empty()) return std::nullopt;
  return LayerName{*layer, fmt::format("blk.{}.{}{}", *layer, file_name, suffix)};
}

// Rows of a head from halves to neighbours, as the file's rotation of Llama has its pairs: row j of the first
// half and row j of the second become rows 2j and 2j + 1.
void interleave_halves(std::vector<std::byte>& bytes, size_t row_bytes, int64_t n_head) {
  const size_t n_rows = bytes.size() / row_bytes;
  const size_t head_rows = n_rows / static_cast<size_t>(n_head);
  const std::vector<std::byte> before = bytes;
  for (size_t row = 0; row < n_rows; ++row) {
    const size_t in_head = row % head_rows;
    const size_t from = row - in_head + in_head / 2 + (in_head % 2) * (head_rows / 2);
    std::memcpy(bytes.data() + row * row_bytes, before.data() + from * row_bytes, row_bytes);
  }
}

class LanguageModel {
 public:
  LanguageModel(GgufWriter& writer, const WeightFolder& folder, const Json& config, std::string architecture)
      : writer_(writer),
        folder_(folder),
        config_(inner_config(config, "text_config")),
        fields_{config_, (folder.path() / "config.json").string()},
        architecture_(std::move(architecture)) {}

  Result<void> read_counts() {
    PARLANCE_TRY(n_layer_, fields_.integer("num_hidden_layers", 1, kMostLayers));
    PARLANCE_TRY(n_embd_, fields_.integer("hidden_size", 1, kMostCount));
    PARLANCE_TRY(n_ff_, fields_.integer("intermediate_size", 1, kMostCount));
    PARLANCE_TRY(n_head_, fields_.integer("num_attention_heads", 1, kMostCount));
    n_head_kv_ = fields_.integer_or("num_key_value_heads", n_head_);
    PARLANCE_TRY(n_vocab_, fields_.integer("vocab_size", 1, kMostCount));
    head_dim_ = fields_.integer_or("head_dim", n_embd_ / n_head_);
    if (n_head_kv_ < 1 || n_head_ % n_head_kv_ != 0 || head_dim_ < 2 || head_dim_ % 2 != 0) {
      return fail(ErrorCode::corrupt_file, "{}: {} heads of {} with {} for keys and values cannot be",
                  fields_.name, n_head_, head_dim_, n_head_kv_);
    }
    return {};
  }

  // In the order of the converter.
  Result<void> write_parameters() {
    set_u32("block_count", n_layer_);
    if (const auto length = fields_.find("max_position_embeddings")) {
      set_u32("context_length", length->integer().value_or(0));
    }
    set_u32("embedding_length", n_embd_);
    set_u32("feed_forward_length", n_ff_);
    set_u32("attention.head_count", n_head_);
    set_u32("attention.head_count_kv", n_head_kv_);
    PARLANCE_CHECK(write_rope());
    PARLANCE_TRY(const double epsilon, fields_.number("rms_norm_eps"));
    set_f32("attention.layer_norm_rms_epsilon", epsilon);
    if (fields_.find("head_dim")) {
      set_u32("attention.key_length", head_dim_);
      set_u32("attention.value_length", head_dim_);
    }
    if (architecture_ == "llama") {
      set_u32("vocab_size", n_vocab_);
      set_u32("rope.dimension_count", head_dim_);
    }
    if (architecture_ == "qwen3vl") set_u32("n_deepstack_layers", 0);
    return {};
  }

  Result<std::vector<TensorPlan>> plan(const ConvertType& type) {
    std::map<std::pair<int64_t, std::string>, TensorPlan> layers;
    std::vector<TensorPlan> first, last;
    PARLANCE_CHECK(plan_rope_factors(first));
    for (const auto& [name, source] : folder_.tensors()) {
      const auto own = own_name(name);
      if (!own || is_left_out(*own)) continue;
      const auto translation = translated(*own);
      if (!translation || translation->layer >= n_layer_) {
        return fail(ErrorCode::unsupported, "{}: nothing is known here of the tensor {} in a model {}",
                    folder_.path().string(), printable(name), architecture_);
      }
      if (translation->name == "output.weight" && fields_.truth_or("tie_word_embeddings", false)) continue;
      PARLANCE_TRY(TensorPlan plan, plan_tensor(folder_, *source, translation->name,
                                                usual_type(*source, translation->name, type)));
      if (architecture_ == "llama") PARLANCE_CHECK(undo_rotation_order(plan));
      if (translation->layer >= 0) {
        layers.emplace(std::pair(translation->layer, plan.name), std::move(plan));
      } else {
        (plan.name.starts_with("token_embd") ? first : last).push_back(std::move(plan));
      }
    }
    if (static_cast<int64_t>(layers.size()) < n_layer_ || first.empty() || last.empty()) {
      return fail(ErrorCode::corrupt_file,
                  "{}: there are not all tensors of {} layers; fetch the weights again",
                  folder_.path().string(), n_layer_);
    }
    for (auto& [key, plan] : layers) first.push_back(std::move(plan));
    for (TensorPlan& plan : last) first.push_back(std::move(plan));
    return first;
  }

  Result<VocabularySource> vocabulary() const {
    return read_vocabulary(folder_, config_, n_vocab_, /*prefers_sentencepiece=*/true);
  }

 private:
  void set_u32(std::string_view key, int64_t value) {
    writer_.set_u32(fmt::format("{}.{}", architecture_, key), static_cast<uint32_t>(value));
  }
  void set_f32(std::string_view key, double value) {
    writer_.set_f32(fmt::format("{}.{}", architecture_, key), static_cast<float>(value));
  }

  // The newer name first.
  Json rope() const {
    for (const char* key : {"rope_parameters", "rope_scaling"}) {
      if (const auto object = fields_.find(key)) return *object;
    }
    return Json::object();
  }

  static std::string rope_type(const JsonFields& rope) {
    return rope.text_or("rope_type", rope.text_or("type", ""));
  }

  Result<void> write_rope() {
    const Json object = rope();
    const JsonFields rope_fields{object, fields_.name + ": rope_scaling"};
    const std::string kind = rope_type(rope_fields);
    if (kind == "linear" || kind == "yarn") {
      PARLANCE_TRY(const double factor, rope_fields.number("factor"));
      writer_.set_string(architecture_ + ".rope.scaling.type", kind);
      set_f32("rope.scaling.factor", factor);
      if (kind == "yarn") {
        PARLANCE_TRY(const int64_t original,
                     rope_fields.integer("original_max_position_embeddings", 1, int64_t{1} << 31));
        set_u32("rope.scaling.original_context_length", original);
        for (const auto& [from, to] : std::initializer_list<std::pair<const char*, const char*>>{
                 {"extrapolation_factor", "yarn_ext_factor"},
                 {"attention_factor", "yarn_attn_factor"},
                 {"beta_fast", "yarn_beta_fast"},
                 {"beta_slow", "yarn_beta_slow"}}) {
          if (const auto value = rope_fields.find(from)) {
            set_f32(fmt::format("rope.scaling.{}", to), value->number().value_or(0));
          }
        }
      }
    } else if (!kind.empty() && kind != "default" && kind != "llama3") {
      return fail(ErrorCode::unsupported,
                  "{}: positions scaled by '{}' are not known here; linear, yarn and llama3 are",
                  fields_.name, printable(kind));
    }
    if (rope_fields.find("mrope_section")) {
      PARLANCE_TRY(std::vector<int32_t> sections, rope_fields.integers("mrope_section"));
      sections.resize(4);
      writer_.set_i32s(architecture_ + ".rope.dimension_sections", sections);
    }
    const double base = rope_fields.number_or("rope_theta", fields_.number_or("rope_theta", 0));
    if (base > 0) set_f32("rope.freq_base", base);
    return {};
  }

  // Llama 3.1 and later: what each frequency is divided by.
  Result<void> plan_rope_factors(std::vector<TensorPlan>& plans) const {
    const Json object = rope();
    const JsonFields rope_fields{object, fields_.name + ": rope_scaling"};
    if (architecture_ != "llama" || rope_type(rope_fields) != "llama3") return {};
    const auto base =
        static_cast<float>(rope_fields.number_or("rope_theta", fields_.number_or("rope_theta", 10000)));
    const auto factor = static_cast<float>(rope_fields.number_or("factor", 8));
    const auto low = static_cast<float>(rope_fields.number_or("low_freq_factor", 1));
    const auto high = static_cast<float>(rope_fields.number_or("high_freq_factor", 4));
    const auto length = static_cast<float>(rope_fields.number_or("original_max_position_embeddings", 8192));
    std::vector<float> factors;
    for (int64_t i = 0; i < head_dim_; i += 2) {
      const float frequency = 1.0F / std::pow(base, static_cast<float>(i) / static_cast<float>(head_dim_));
      const float wavelength = 2 * std::numbers::pi_v<float> / frequency;
      if (wavelength < length / high) {
        factors.push_back(1);
      } else if (wavelength > length / low) {
        factors.push_back(factor);
      } else {
        const float smooth = (length / wavelength - low) / (high - low);
        factors.push_back(1 / ((1 - smooth) / factor + smooth));
      }
    }
    plans.push_back({.name = "rope_freqs.weight",
                     .ne = {head_dim_ / 2},
                     .values = [factors]() -> Result<std::vector<float>> { return factors; }});
    return {};
  }

  Result<void> undo_rotation_order(TensorPlan& plan) const {
    const bool is_q = plan.name.find(".attn_q.") != std::string::npos;
    const bool is_k = plan.name.find(".attn_k.") != std::string::npos;
    if (!is_q && !is_k) return {};
    const int64_t n_head = is_q ? n_head_ : n_head_kv_;
    // A bias is one row for each of a matrix's.
    const bool is_bias = plan.ne.size() == 1;
    const int64_t n_rows = is_bias ? plan.ne[0] : plan.ne[1];
    if (n_rows != n_head * head_dim_) {
      return fail(ErrorCode::corrupt_file, "{}: {} has {} rows, {} heads of {} need {}",
                  folder_.path().string(), printable(plan.source->name), n_rows, n_head, head_dim_,
                  n_head * head_dim_);
    }
    plan.reorder = [n_head, is_bias, n_rows](std::vector<std::byte>& bytes, size_t row_bytes) {
      interleave_halves(bytes, is_bias ? row_bytes / static_cast<size_t>(n_rows) : row_bytes, n_head);
    };
    return {};
  }

  GgufWriter& writer_;
  const WeightFolder& folder_;
  const Json config_;
  const JsonFields fields_;
  const std::string architecture_;
  int64_t n_layer_ = 0, n_embd_ = 0, n_ff_ = 0, n_head_ = 0, n_head_kv_ = 0, head_dim_ = 0, n_vocab_ = 0;
};

// What the makers recommend for answers.
void write_sampling(GgufWriter& writer, const Json& generation) {
  const JsonFields fields{generation, "generation_config.json"};
  if (!fields.truth_or("do_sample", false)) return;
  for (const auto& [from, to] : std::initializer_list<std::pair<const char*, const char*>>{
           {"top_p", "top_p"}, {"min_p", "min_p"}, {"temperature", "temp"}}) {
    if (const auto value = fields.find(from)) {
      writer.set_f32(fmt::format("general.sampling.{}", to), static_cast<float>(value->number().value_or(0)));
    }
  }
  if (const auto value = fields.find("top_k")) {
    writer.set_i32("general.sampling.top_k", static_cast<int32_t>(value->integer().value_or(0)));
  }
}

// The recogniser's file has no template of its own, and the tokens of a conversation.
void suit_recogniser(VocabularySource& vocabulary) {
  vocabulary.chat_template =
      "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + "
      "'<|im_end|>' + "
      "'\\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";
  const auto end = vocabulary.find("<|im_end|>");
  if (!end) return;
  std::erase_if(vocabulary.special,
                [](const auto& entry) { return entry.first == "bos" || entry.first == "eos"; });
  vocabulary.special.insert(vocabulary.special.begin(), {{"bos", *end}, {"eos", *end}});
}

}  // namespace

std::string language_architecture(std::string_view of_config) {
  const auto found = std::ranges::find(kArchitectures, of_config, &ArchitectureRow::of_config);
  return found == kArchitectures.end() ? std::string() : std::string(found->of_file);
}

Json inner_config(const Json& config, std::string_view name) {
  for (const std::string_view outer : {std::string_view("thinker_config"), std::string_view()}) {
    const auto around = outer.empty() ? std::optional<Json>(config) : config.member(outer);
    const auto inner = around ? around->member(name) : std::nullopt;
    if (inner && inner->is_object()) return *inner;
  }
  return config;
}

void write_general(GgufWriter& writer, const std::string& architecture, std::string_view kind,
                   const std::string& name) {
  writer.set_string("general.architecture", architecture);
  if (!kind.empty()) writer.set_string("general.type", kind);
  writer.set_string("general.name", name);
}

uint32_t file_type_of(const std::vector<TensorPlan>& tensors) {
  std::map<DType, int64_t> values;
  for (const TensorPlan& tensor : tensors) {
    if (tensor.ne.size() < 2) continue;
    int64_t n = 1;
    for (const int64_t size : tensor.ne) n *= size;
    values[tensor.dtype] += n;
  }
  const auto most = std::ranges::max_element(values, {}, [](const auto& entry) { return entry.second; });
  if (most == values.end()) return 0;
  switch (most->first) {
    case DType::f16:
      return 1;
    case DType::q8_0:
      return 7;
    case DType::bf16:
      return 32;
    default:
      return 0;
  }
}

Result<std::vector<TensorPlan>> plan_language_model(GgufWriter& writer, const WeightFolder& folder,
                                                    const Json& config, const std::string& architecture,
                                                    const ConvertType& type) {
  if (config.member("quantization_config")) {
    return fail(ErrorCode::unsupported, "{}: the weights are quantised already; fetch the original ones",
                folder.path().string());
  }
  LanguageModel model(writer, folder, config, architecture);
  PARLANCE_CHECK(model.read_counts());
  write_general(writer, architecture, "model", folder.name());
  PARLANCE_TRY(const Json generation, folder.read_json_if_there("generation_config.json"));
  write_sampling(writer, generation);
  PARLANCE_TRY(std::vector<TensorPlan> tensors, model.plan(type));
  PARLANCE_CHECK(model.write_parameters());
  writer.set_u32("general.file_type", file_type_of(tensors));
  constexpr uint32_t kQuantizationVersion = 2;
  writer.set_u32("general.quantization_version", kQuantizationVersion);
  PARLANCE_TRY(VocabularySource vocabulary, model.vocabulary());
  if (architecture == "qwen3vl") suit_recogniser(vocabulary);
  write_vocabulary(writer, vocabulary);
  return tensors;
}

}  // namespace parlance
