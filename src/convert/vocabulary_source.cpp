#include "convert/vocabulary_source.h"

#include <algorithm>
#include <array>

#include "base/parse_number.h"
#include "gguf/contents.h"

namespace parlance {

namespace {

constexpr std::array<std::string_view, 7> kSpecialKinds = {"bos", "eos", "unk", "sep", "pad", "cls", "mask"};
constexpr std::string_view kSentencePieceSpace = "\xE2\x96\x81";  // U+2581
constexpr float kUnusedScore = -10000, kAddedScore = -1000;

// The converter's words for what keys call otherwise.
std::string_view key_of(std::string_view kind) {
  if (kind == "unk") return "unknown";
  if (kind == "sep") return "seperator";
  if (kind == "pad") return "padding";
  return kind;
}

bool looks_special(std::string_view token) {
  return token == "<pad>" || token == "<mask>" || token == "<2mass>" || token == "[@BOS@]" ||
         (token.starts_with("<|") && token.ends_with("|>")) ||
         (token.starts_with("<unused") && token.ends_with(">"));
}

std::string with_spaces(std::string text) {
  for (size_t at = text.find(kSentencePieceSpace); at != text.npos;
       at = text.find(kSentencePieceSpace, at + 1)) {
    text.replace(at, kSentencePieceSpace.size(), " ");
  }
  return text;
}

struct AddedToken {
  int64_t id = 0;
  std::string text;
  bool is_special = false;
};

// What texts the model treats as one token: of tokenizer.json, else of tokenizer_config.json.
std::vector<AddedToken> added_tokens(const Json& tokenizer, const Json& tokenizer_config) {
  std::vector<AddedToken> added;
  const auto list = tokenizer.member("added_tokens");
  for (const Json& entry : (list ? list->elements() : std::nullopt).value_or(std::vector<Json>())) {
    const JsonFields fields{entry, "added_tokens"};
    added.push_back(
        {fields.integer_or("id", -1), fields.text_or("content", ""), fields.truth_or("special", false)});
  }
  const auto decoder = tokenizer_config.member("added_tokens_decoder");
  for (const auto& [key, entry] :
       (decoder ? decoder->members() : std::nullopt).value_or(std::vector<std::pair<std::string, Json>>())) {
    const auto id = parse_number<int64_t>(key);
    const bool is_known = id && std::ranges::find(added, *id, &AddedToken::id) != added.end();
    if (!id || is_known) continue;
    const JsonFields fields{entry, "added_tokens_decoder"};
    added.push_back({*id, fields.text_or("content", ""), fields.truth_or("special", false)});
  }
  return added;
}

class VocabularyReader {
 public:
  VocabularyReader(const WeightFolder& folder, const Json& config, int64_t n_vocab)
      : folder_(folder), config_(config), n_vocab_(static_cast<size_t>(n_vocab)) {}

  Result<VocabularySource> read(bool prefers_sentencepiece) {
    PARLANCE_TRY(tokenizer_, folder_.read_json_if_there("tokenizer.json"));
    PARLANCE_TRY(tokenizer_config_, folder_.read_json_if_there("tokenizer_config.json"));
    const bool has_pieces = folder_.has_file("tokenizer.model");
    if (has_pieces && (prefers_sentencepiece || tokenizer_.is_null())) {
      PARLANCE_CHECK(read_pieces());
    } else {
      PARLANCE_CHECK(read_byte_level());
    }
    read_special();
    PARLANCE_CHECK(read_templates());
    return std::move(vocabulary_);
  }

 private:
  Result<void> put(int64_t id, std::string text, TokenType type) {
    if (id < 0 || static_cast<size_t>(id) >= n_vocab_) {
      return fail(ErrorCode::corrupt_file, "{}: token {} ('{}') is beyond the {} that config.json has",
                  folder_.path().string(), id, printable(text), n_vocab_);
    }
    vocabulary_.tokens[static_cast<size_t>(id)] = std::move(text);
    vocabulary_.types[static_cast<size_t>(id)] = type;
    return {};
  }

  void fill_with_unused() {
    vocabulary_.types.assign(n_vocab_, TokenType::unused);
    vocabulary_.tokens.resize(n_vocab_);
    for (size_t i = 0; i < n_vocab_; ++i) vocabulary_.tokens[i] = fmt::format("[PAD{}]", i);
  }

  Result<void> put_added() {
    for (const AddedToken& token : added_tokens(tokenizer_, tokenizer_config_)) {
      const bool is_control = token.is_special || looks_special(token.text);
      PARLANCE_CHECK(put(token.id, is_control ? token.text : with_spaces(token.text),
                         is_control ? TokenType::control : TokenType::user_defined));
      if (!vocabulary_.scores.empty()) vocabulary_.scores[static_cast<size_t>(token.id)] = kAddedScore;
    }
    return {};
  }

  Result<void> read_byte_level() {
    vocabulary_.model = "gpt2";
    fill_with_unused();
    const auto model = tokenizer_.member("model");
    PARLANCE_CHECK(check_model(model));
    Json vocabulary = Json();
    if (model) {
      vocabulary = model->member("vocab").value_or(Json());
    } else {
      PARLANCE_TRY(vocabulary, folder_.read_json_if_there("vocab.json"));
    }
    const auto entries = vocabulary.members();
    if (!entries || entries->empty()) {
      return fail(ErrorCode::not_found,
                  "{}: there is no vocabulary; expected tokenizer.json, vocab.json and merges.txt, or "
                  "tokenizer.model",
                  folder_.path().string());
    }
    for (const auto& [text, id] : *entries) {
      PARLANCE_CHECK(put(id.integer().value_or(-1), text, TokenType::normal));
    }
    PARLANCE_CHECK(put_added());
    PARLANCE_CHECK(read_merges(model));
    return find_pre();
  }

  Result<void> check_model(const std::optional<Json>& model) const {
    if (!model) return {};
    const JsonFields fields{*model, "tokenizer.json: model"};
    const std::string type = fields.text_or("type", "BPE");
    if (type == "BPE" && !fields.truth_or("byte_fallback", false)) return {};
    return fail(ErrorCode::unsupported,
                "{}: the tokenizer is {}{}; byte-level BPE is known, and tokenizer.model of SentencePiece, "
                "which is not "
                "there",
                (folder_.path() / "tokenizer.json").string(), printable(type),
                type == "BPE" ? " with byte fallback" : "");
  }

  Result<void> read_merges(const std::optional<Json>& model) {
    const auto list = model ? model->member("merges") : std::nullopt;
    const auto elements = list ? list->elements() : std::nullopt;
    for (const Json& element : elements.value_or(std::vector<Json>())) {
      if (const auto text = element.text()) {
        vocabulary_.merges.push_back(*text);
        continue;
      }
      // Since 2024 a pair, whose parts may hold spaces.
      const auto pair = element.elements();
      if (!pair || pair->size() != 2) {
        return fail(ErrorCode::corrupt_file, "tokenizer.json: merges: expected pairs of texts, found {}",
                    element.line().substr(0, 60));
      }
      vocabulary_.merges.push_back(without_spaces((*pair)[0].text().value_or("")) + " " +
                                   without_spaces((*pair)[1].text().value_or("")));
    }
    if (!vocabulary_.merges.empty() || !folder_.has_file("merges.txt")) return {};
    PARLANCE_TRY(const std::string text, folder_.read_file("merges.txt"));
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = std::min(text.find('\n', begin), text.size());
      std::string_view line = std::string_view(text).substr(begin, end - begin);
      if (line.ends_with('\r')) line.remove_suffix(1);
      const bool is_comment = begin == 0 && line.starts_with('#');
      if (!line.empty() && !is_comment) vocabulary_.merges.emplace_back(line);
      begin = end + 1;
    }
    return {};
  }

  static std::string without_spaces(std::string text) {
    constexpr std::string_view kByteLevelSpace = "\xC4\xA0";  // U+0120
    for (size_t at = text.find(' '); at != text.npos; at = text.find(' ', at))
      text.replace(at, 1, kByteLevelSpace);
    return text;
  }

  Result<void> find_pre() {
    if (const auto step = tokenizer_.member("pre_tokenizer")) {
      vocabulary_.pre = pre_tokenizer_name(*step);
    } else {
      const std::string type =
          JsonFields{tokenizer_config_, "tokenizer_config.json"}.text_or("tokenizer_class", "");
      if (type.starts_with("Qwen2Tokenizer")) vocabulary_.pre = "qwen2";
      if (type.starts_with("GPT2Tokenizer")) vocabulary_.pre = "gpt-2";
    }
    if (!vocabulary_.pre.empty()) return {};
    return fail(
        ErrorCode::unsupported,
        "{}: the way that text is cut before tokens are made (pre_tokenizer of tokenizer.json) is not one of "
        "qwen2, llama-bpe, qwen35, gpt-2",
        folder_.path().string());
  }

  Result<void> read_pieces() {
    vocabulary_.model = "llama";
    vocabulary_.pre = "default";
    fill_with_unused();
    vocabulary_.scores.assign(n_vocab_, kUnusedScore);
    PARLANCE_TRY(const std::string bytes, folder_.read_file("tokenizer.model"));
    PARLANCE_TRY(const auto pieces,
                 parse_sentencepiece_model(bytes, (folder_.path() / "tokenizer.model").string()));
    const size_t n_pieces = std::min(pieces.size(), n_vocab_);
    for (size_t i = 0; i < n_pieces; ++i) {
      PARLANCE_CHECK(put(static_cast<int64_t>(i), pieces[i].text, pieces[i].type));
      vocabulary_.scores[i] = pieces[i].score;
    }
    tokenizer_.set("added_tokens", Json::array());  // ids of pieces stay what they are
    return put_added();
  }

  std::string text_of_token(std::string_view kind) const {
    const auto entry = JsonFields{tokenizer_config_, ""}.find(fmt::format("{}_token", kind));
    if (!entry) return {};
    if (const auto text = entry->text()) return *text;
    const auto content = entry->member("content");
    return content ? content->text().value_or("") : "";
  }

  void set_special(std::string_view kind, std::optional<int64_t> id) {
    const bool is_set =
        std::ranges::find(vocabulary_.special, kind, &std::pair<std::string, uint32_t>::first) !=
        vocabulary_.special.end();
    if (!id || *id < 0 || static_cast<size_t>(*id) >= n_vocab_ || is_set) return;
    vocabulary_.special.emplace_back(kind, static_cast<uint32_t>(*id));
  }

  void read_special() {
    const JsonFields about{tokenizer_config_, "tokenizer_config.json"};
    const JsonFields config{config_, "config.json"};
    for (const std::string_view kind : kSpecialKinds) {
      const auto adds = about.find(fmt::format("add_{}_token", kind));
      if (const auto truth = adds ? adds->truth() : std::nullopt)
        vocabulary_.added.emplace_back(kind, *truth);
      const std::string text = text_of_token(kind);
      if (text.empty()) continue;
      if (const auto id = vocabulary_.find(text)) set_special(kind, *id);
    }
    for (const std::string_view kind : kSpecialKinds) {
      const auto id = config.find(fmt::format("{}_token_id", kind));
      set_special(kind, id ? id->integer() : std::nullopt);
    }
    read_post_processor();
  }

  // Llama 3 says nowhere else that texts begin with a token.
  void read_post_processor() {
    const auto has = [&](std::string_view kind) {
      return std::ranges::find(vocabulary_.added, kind, &std::pair<std::string, bool>::first) !=
             vocabulary_.added.end();
    };
    const auto post = tokenizer_.member("post_processor");
    if (!post || has("bos")) return;
    std::vector<Json> steps = {*post};
    if (const auto list = post->member("processors")) steps = list->elements().value_or(steps);
    for (const Json& step : steps) {
      const auto single = step.member("single");
      const auto parts = single ? single->elements() : std::nullopt;
      if (!parts || parts->size() < 2) continue;
      const auto token = parts->front().member("SpecialToken");
      const auto id = token ? token->member("id") : std::nullopt;
      if (id) vocabulary_.added.emplace_back("bos", id->text().value_or("") == text_of_token("bos"));
      return;
    }
  }

  Result<void> read_templates() {
    if (folder_.has_file("chat_template.jinja")) {
      PARLANCE_TRY(vocabulary_.chat_template, folder_.read_file("chat_template.jinja"));
      return {};
    }
    PARLANCE_TRY(const Json separate, folder_.read_json_if_there("chat_template.json"));
    const auto given = separate.is_object() ? separate.member("chat_template")
                                            : JsonFields{tokenizer_config_, ""}.find("chat_template");
    if (!given) return {};
    vocabulary_.chat_template = given->text();
    for (const Json& entry : given->elements().value_or(std::vector<Json>())) {
      const JsonFields fields{entry, "chat_template"};
      const std::string name = fields.text_or("name", ""), text = fields.text_or("template", "");
      if (name == "default") {
        vocabulary_.chat_template = text;
      } else if (!name.empty()) {
        vocabulary_.named_templates.emplace_back(name, text);
      }
    }
    return {};
  }

  const WeightFolder& folder_;
  const Json& config_;
  const size_t n_vocab_;
  Json tokenizer_, tokenizer_config_;
  VocabularySource vocabulary_;
};

}  // namespace

std::optional<uint32_t> VocabularySource::find(std::string_view token) const {
  const auto found = std::ranges::find(tokens, token);
  if (found == tokens.end()) return std::nullopt;
  return static_cast<uint32_t>(found - tokens.begin());
}

Result<VocabularySource> read_vocabulary(const WeightFolder& folder, const Json& config, int64_t n_vocab,
                                         bool prefers_sentencepiece) {
  return VocabularyReader(folder, config, n_vocab).read(prefers_sentencepiece);
}

void write_vocabulary(GgufWriter& writer, const VocabularySource& vocabulary) {
  writer.set_string("tokenizer.ggml.model", vocabulary.model);
  writer.set_string("tokenizer.ggml.pre", vocabulary.pre);
  writer.set_strings("tokenizer.ggml.tokens", vocabulary.tokens);
  if (!vocabulary.scores.empty()) writer.set_f32s("tokenizer.ggml.scores", vocabulary.scores);
  std::vector<int32_t> types;
  for (const TokenType type : vocabulary.types) types.push_back(static_cast<int32_t>(type));
  writer.set_i32s("tokenizer.ggml.token_type", types);
  if (!vocabulary.merges.empty()) writer.set_strings("tokenizer.ggml.merges", vocabulary.merges);
  for (const auto& [kind, id] : vocabulary.special) {
    writer.set_u32(fmt::format("tokenizer.ggml.{}_token_id", key_of(kind)), id);
  }
  for (const auto& [kind, is_added] : vocabulary.added) {
    writer.set_bool(fmt::format("tokenizer.ggml.add_{}_token", kind), is_added);
  }
  if (vocabulary.chat_template) writer.set_string("tokenizer.chat_template", *vocabulary.chat_template);
  std::vector<std::string> names;
  for (const auto& [name, text] : vocabulary.named_templates) {
    names.push_back(name);
    writer.set_string("tokenizer.chat_template." + name, text);
  }
  if (!names.empty()) writer.set_strings("tokenizer.chat_templates", names);
}

}  // namespace parlance
