#include "server/answer_terms.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "base/parse_number.h"
#include "bundle/sha256.h"
#include "server/request_key.h"

namespace parlance {

namespace {

constexpr size_t kMostStopBytes = 256;
constexpr size_t kMostSaltBytes = 256;
constexpr float kForbids = -100;

ApiResult<void> read_sampling(const Body& body, SamplingOptions& s) {
  const auto number = [&](const char* name, float& target) {
    if (const auto value = body.number(name)) target = static_cast<float>(*value);
  };
  const auto whole = [&](const char* name, int& target) {
    constexpr int64_t kMost = std::numeric_limits<int>::max();
    if (const auto value = body.integer(name)) target = static_cast<int>(std::min(*value, kMost));
  };
  number("temperature", s.temperature);
  number("top_p", s.top_p);
  number("min_p", s.min_p);
  number("presence_penalty", s.presence_penalty);
  number("frequency_penalty", s.frequency_penalty);
  number("repeat_penalty", s.repetition_penalty);
  number("repetition_penalty", s.repetition_penalty);
  whole("top_k", s.top_k);
  whole("repeat_last_n", s.penalty_last_n);
  s.seed = static_cast<uint64_t>(body.integer("seed").value_or(random_seed()));
  return {};
}

ApiResult<std::vector<std::pair<int32_t, float>>> read_bias(const Body& body, int32_t n_vocab) {
  std::vector<std::pair<int32_t, float>> biases;
  const auto wrong = [](const std::string& what) {
    return refuse("invalid_value", "logit_bias",
                  "logit_bias: {}; give tokens as numbers and -100 to 100 each", what);
  };
  for (const auto& [key, value] : body.object("logit_bias").members()) {
    const auto token = parse_number<int32_t>(key);
    if (!token || *token < 0 || *token >= n_vocab)
      return wrong(Json(key).line() + " is no token of this model");
    const auto bias = value.number();
    if (!bias || *bias < -100 || *bias > 100) return wrong(value.line() + " is out of range");
    const auto amount = static_cast<float>(*bias);
    biases.emplace_back(*token, amount <= kForbids ? -std::numeric_limits<float>::infinity() : amount);
  }
  return biases;
}

ApiResult<std::vector<std::string>> read_stop(const Body& body) {
  const Json* stop = body.find("stop");
  if (!stop) return std::vector<std::string>();
  const bool is_one = stop->text().has_value();
  const std::vector<Json> elements = is_one ? std::vector<Json>{*stop} : *stop->elements();
  std::vector<std::string> texts;
  for (size_t i = 0; i < elements.size(); ++i) {
    const std::string where = is_one ? "stop" : fmt::format("stop[{}]", i);
    const auto text = elements[i].text();
    if (!text) return refuse("invalid_type", where, "{} must be a string", where);
    if (text->empty() || text->size() > kMostStopBytes) {
      return refuse("invalid_value", where, "{} must have 1 to {} bytes, got {}", where, kMostStopBytes,
                    text->size());
    }
    texts.push_back(*text);
  }
  return texts;
}

ApiResult<std::vector<Token>> read_stop_tokens(const Body& body, int32_t n_vocab) {
  std::vector<Token> tokens;
  const Json* given = body.find("stop_token_ids");
  if (!given) return tokens;
  const std::vector<Json> elements = *given->elements();
  for (const Json& one : elements) {
    const auto token = one.integer();
    if (!token || *token < 0 || *token >= n_vocab) {
      return refuse("invalid_value", "stop_token_ids", "stop_token_ids: {} is no token of this model",
                    one.line());
    }
    tokens.push_back(static_cast<Token>(*token));
  }
  return tokens;
}

ApiResult<int64_t> read_max_tokens(const Site& site, const Body& body) {
  const auto newer = body.integer("max_completion_tokens"), older = body.integer("max_tokens");
  if (newer && older && *newer != *older) {
    return refuse("invalid_value", "max_completion_tokens",
                  "max_completion_tokens and max_tokens differ ({} and {}); give one", *newer, *older);
  }
  return newer ? *newer : older.value_or(site.options.n_most_tokens);
}

}  // namespace

ApiResult<std::string> read_class(const Call& call, const Body& body) {
  std::string name(call.request.field("x-parlance-class"));
  if (const auto given = body.object("parlance").text("class")) name = *given;
  if (!name.empty() && name != "interactive" && name != "background") {
    return refuse("invalid_value", "parlance.class", "parlance.class must be interactive or background");
  }
  const bool is_flexible = body.text("service_tier") == "flex" || body.integer("priority").value_or(0) > 0;
  return is_flexible || name == "background" ? std::string("background") : std::string("interactive");
}

// How long the request would have its text kept, by the first field that says so.
ApiResult<std::optional<Lifetime>> read_lifetime(const Body& body) {
  if (const auto ttl = body.object("parlance").text("ttl")) {
    const auto lifetime = lifetime_from_name(*ttl);
    if (lifetime) return lifetime;
    return refuse("invalid_value", "parlance.ttl", "parlance.ttl must be short, long or extended, got {}",
                  Json(*ttl).line());
  }
  if (const auto retention = body.text("prompt_cache_retention"))
    return *retention == "24h" ? Lifetime::extended : Lifetime::brief;
  if (const auto ttl = body.object("prompt_cache_options").text("ttl")) {
    if (*ttl == "30m") return Lifetime::lasting;
    return refuse("invalid_value", "prompt_cache_options.ttl",
                  "prompt_cache_options.ttl can only be \"30m\", got {}; parlance.ttl takes others",
                  Json(*ttl).line());
  }
  return std::nullopt;
}

// Texts of one space alone are matched with each other. A cryptographic hash, so that nobody finds the name
// of another's.
ContentHash space_of(std::string_view owner, std::string_view salt) {
  if (owner.empty() && salt.empty()) return {};
  std::string whole(owner);
  whole += '\0';
  whole += salt;
  const std::string digits = sha256(std::as_bytes(std::span(whole)));
  return {std::stoull(digits.substr(0, 16), nullptr, 16), std::stoull(digits.substr(16, 16), nullptr, 16)};
}

ApiResult<std::chrono::milliseconds> read_deadline(const Site& site, const Call& call, const Body& body) {
  const std::string_view field = call.request.field("x-parlance-deadline-ms");
  std::optional<double> given = body.object("parlance").number("deadline_ms");
  if (!given && !field.empty()) given = parse_number<double>(field).value_or(-1);
  if (!given) return site.options.request_time;
  if (!(*given >= 1)) {
    return refuse("invalid_value", "parlance.deadline_ms",
                  "parlance.deadline_ms must be a number of milliseconds above 0");
  }
  const auto most = static_cast<double>(site.options.request_time.count());
  return std::chrono::milliseconds(static_cast<int64_t>(std::min(*given, most)));
}

int64_t random_seed() {
  thread_local std::random_device device;
  return static_cast<int64_t>(
      device());  // 32 bits: exact in every reader, and short enough to be typed again
}

ApiResult<CheckedBody> read_body(const Site& site, const Call& call, std::span<const Field> fields) {
  PARLANCE_API_TRY(const Json json, parse_body(call.request.body));
  return check_fields(fields, json,
                      {.is_strict = site.options.is_strict, .n_ctx = site.text->context()->options().n_ctx});
}

ApiResult<ConversationTerms> read_conversation(const Site& site, const Call& call, const Body& body) {
  PARLANCE_API_TRY(const RequestKey key, request_key(call.request, body));
  const std::string salt = body.text("cache_salt").value_or("");
  if (salt.size() > kMostSaltBytes) {
    return refuse("invalid_value", "cache_salt", "cache_salt may have {} bytes, got {}", kMostSaltBytes,
                  salt.size());
  }
  ConversationTerms terms;
  const int n_slots = site.options.models.context.n_seq;
  terms.name = {.owner = owner_of(site, call), .key = key.key, .id = key.conversation_id};
  if (key.conversation_id.empty())
    terms.slot = key.slot >= 0 && key.slot < n_slots ? static_cast<int>(key.slot) : slot_of(key.key, n_slots);
  PARLANCE_API_TRY(terms.lifetime, read_lifetime(body));
  const bool is_kept = !terms.name.id.empty() || terms.lifetime == Lifetime::extended;
  terms.sharing = {
      .space = space_of(site.options.conversations.shares_prefixes ? "" : terms.name.owner, salt),
      .prefix_class = is_kept ? PrefixClass::conversation : PrefixClass::short_lived,
      .is_off = !body.boolean("cache_prompt", true)};
  return terms;
}

ApiResult<TextAnswerTerms> read_terms(const Site& site, const Call& call, const Body& body) {
  TextAnswerTerms terms;
  PARLANCE_API_TRY(terms.model, find_offer(site, body.text("model"), ModelKind::text));
  const int32_t n_vocab = site.text->model().tokenizer().n_vocab();
  GenerateOptions& generate = terms.generate = site.options.defaults;
  PARLANCE_API_CHECK(read_sampling(body, generate.sampling));
  PARLANCE_API_TRY(auto biases, read_bias(body, n_vocab));
  generate.sampling.logit_bias.insert(generate.sampling.logit_bias.end(), biases.begin(), biases.end());
  PARLANCE_API_TRY(generate.stop, read_stop(body));
  PARLANCE_API_TRY(generate.stop_tokens, read_stop_tokens(body, n_vocab));
  PARLANCE_API_TRY(generate.max_tokens, read_max_tokens(site, body));
  generate.min_tokens = body.integer("min_tokens").value_or(0);
  generate.ignore_eos = body.boolean("ignore_eos");
  terms.n = static_cast<int>(body.integer("n").value_or(1));
  terms.is_streamed = body.boolean("stream");
  terms.wants_usage = terms.is_streamed && body.object("stream_options").boolean("include_usage");
  PARLANCE_API_TRY(const ConversationTerms conversation, read_conversation(site, call, body));
  terms.conversation = conversation.name;
  terms.slot = conversation.slot;
  terms.lifetime = conversation.lifetime;
  generate.work.sharing = conversation.sharing;
  PARLANCE_API_TRY(terms.class_name, read_class(call, body));
  generate.work.priority = terms.class_name == "background" ? Priority::background : Priority::interactive;
  PARLANCE_API_TRY(const auto time, read_deadline(site, call, body));
  generate.work.deadline = call.request.began + time;
  return terms;
}

ApiResult<void> fit_to_context(const Site& site, const char* param, TextAnswerTerms& terms) {
  const int64_t n_ctx = site.text->context()->options().n_ctx;
  int64_t n_longest = 0;
  for (const auto& prompt : terms.prompts) n_longest = std::max(n_longest, std::ssize(prompt));
  if (n_longest > n_ctx - 1) {
    return refuse(
        "context_length_exceeded", param,
        "the prompt has {} tokens and the context holds {}; shorten it, or start the server with a larger "
        "--ctx-size",
        n_longest, n_ctx);
  }
  terms.generate.max_tokens = std::min(terms.generate.max_tokens, n_ctx - n_longest);
  return {};
}

}  // namespace parlance
