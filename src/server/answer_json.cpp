#include "server/answer_json.h"

#include <algorithm>
#include <utility>

#include "text/base64.h"
#include "text/unicode.h"

namespace parlance {

namespace {

double per(double amount, double n) {
  return n > 0 ? amount / n : 0;
}

Json bytes_json(std::string_view text) {
  Json bytes = Json::array();
  for (const char c : text) bytes.push(static_cast<int>(static_cast<unsigned char>(c)));
  return bytes;
}

// A token may end inside a code point; its bytes are exact.
Json token_json(const TokenLogprob& one, const Tokenizer& tokenizer) {
  const std::string_view bytes = tokenizer.piece(one.token, /*with_special=*/true);
  return Json::object({{"token", sanitise_utf8(bytes)},
                       {"logprob", std::min(static_cast<double>(one.logprob), 0.0)},
                       {"bytes", bytes_json(bytes)}});
}

}  // namespace

Json token_logprobs_json(const TokenLogprobs& logprobs, const Tokenizer& tokenizer) {
  Json top = Json::array();
  for (const TokenLogprob& other : logprobs.top) top.push(token_json(other, tokenizer));
  return token_json(logprobs.said, tokenizer).set("top_logprobs", top);
}

Json CompletionWriter::envelope(bool is_chunk) const {
  Json json = Json::object({{"id", form_.id},
                            {"object", !form_.is_chat ? "text_completion"
                                       : is_chunk     ? "chat.completion.chunk"
                                                      : "chat.completion"},
                            {"created", form_.created_unix_s},
                            {"model", form_.model},
                            {"system_fingerprint", form_.fingerprint}});
  if (form_.is_chat) json.set("service_tier", "default");
  return json;
}

// Null where none were asked for.
Json CompletionWriter::logprobs_json(const std::vector<TokenLogprobs>& logprobs, size_t text_offset) const {
  if (!form_.has_logprobs) return {};
  if (form_.is_chat) {
    Json content = Json::array();
    for (const TokenLogprobs& one : logprobs) content.push(token_logprobs_json(one, tokenizer_));
    return Json::object({{"content", content}, {"refusal", Json()}});
  }
  Json tokens = Json::array(), values = Json::array(), tops = Json::array(), offsets = Json::array();
  for (const TokenLogprobs& one : logprobs) {
    const std::string text = sanitise_utf8(tokenizer_.piece(one.said.token, true));
    tokens.push(text);
    values.push(static_cast<double>(one.said.logprob));
    offsets.push(text_offset);
    text_offset += count_code_points(text);
    Json top = Json::object();
    for (const TokenLogprob& other : one.top) {
      top.set(sanitise_utf8(tokenizer_.piece(other.token, true)), static_cast<double>(other.logprob));
    }
    if (!one.top.empty()) top.set(text, static_cast<double>(one.said.logprob));  // also if less likely
    tops.push(top);
  }
  return Json::object(
      {{"tokens", tokens}, {"token_logprobs", values}, {"top_logprobs", tops}, {"text_offset", offsets}});
}

Json CompletionWriter::usage(const Choices& choices) const {
  int64_t n_prompt = 0, n_cached = 0, n_accepted = 0, n_rejected = 0, n_thought = 0, n_frames = 0;
  double n_said = 0;
  for (const ChoiceText& choice : choices) {
    if (choice.is_first_of_prompt) {
      n_prompt += choice.result.n_prompt;
      n_cached += choice.result.n_prompt_cached;
    }
    n_said += n_generated(choice.result);
    n_thought += choice.n_thought_tokens;
    n_frames += choice.n_sound_frames;
    n_accepted += choice.result.draft.n_accepted;
    n_rejected += choice.result.draft.n_rejected();
  }
  const auto n_answer = static_cast<int64_t>(n_said) + n_frames;
  return Json::object(
      {{"prompt_tokens", n_prompt},
       {"completion_tokens", n_answer},
       {"total_tokens", n_prompt + n_answer},
       {"prompt_tokens_details", Json::object({{"cached_tokens", n_cached}, {"audio_tokens", 0}})},
       {"completion_tokens_details", Json::object({{"reasoning_tokens", n_thought},
                                                   {"accepted_prediction_tokens", n_accepted},
                                                   {"rejected_prediction_tokens", n_rejected},
                                                   {"audio_tokens", n_frames}})}});
}

Json timings_json(const Choices& choices) {
  const GenerateResult& first = choices.front().result;
  const auto n_new = static_cast<double>(first.n_prompt - first.n_prompt_cached);
  const double prompt_ms = std::max(first.prefill_ms - first.queue_ms, 0.0);
  double n_said = 0, said_ms = 0;
  int64_t n_drafted = 0, n_accepted = 0;
  for (const ChoiceText& choice : choices) {
    n_said += n_generated(choice.result);
    said_ms = std::max(said_ms, choice.result.decode_ms);
    n_drafted += choice.result.draft.n_drafted;
    n_accepted += choice.result.draft.n_accepted;
  }
  Json json = Json::object({{"cache_n", first.n_prompt_cached},
                            {"prompt_n", first.n_prompt - first.n_prompt_cached},
                            {"prompt_ms", prompt_ms},
                            {"prompt_per_token_ms", per(prompt_ms, n_new)},
                            {"prompt_per_second", per(1000 * n_new, prompt_ms)},
                            {"predicted_n", static_cast<int64_t>(n_said)},
                            {"predicted_ms", said_ms},
                            {"predicted_per_token_ms", per(said_ms, n_said)},
                            {"predicted_per_second", per(1000 * n_said, said_ms)}});
  if (n_drafted > 0) json.set("draft_n", n_drafted).set("draft_n_accepted", n_accepted);
  return json;
}

void CompletionWriter::add_summary(Json& event, const Choices& choices, const Json& summary) const {
  event.set("timings", timings_json(choices)).set("parlance", summary);
}

Json CompletionWriter::whole(const Choices& choices, const Json& summary) {
  Json list = Json::array();
  for (const ChoiceText& choice : choices) {
    Json one = Json::object({{"index", choice.index}});
    if (form_.is_chat) {
      one.set("message", message(choice));
    } else {
      one.set("text", choice.words);
    }
    one.set("logprobs", logprobs_json(choice.logprobs, choice.n_echo))
        .set("finish_reason", choice.finish_reason);
    list.push(one);
  }
  Json json = envelope(/*is_chunk=*/false);
  json.set("choices", list).set("usage", usage(choices));
  add_summary(json, choices, summary);
  return json;
}

Json CompletionWriter::chunk_with(const ChoiceText& choice, const Json& delta, const Json& logprobs,
                                  const Json& finish) const {
  Json one = Json::object({{"index", choice.index}});
  one.set(form_.is_chat ? "delta" : "text", delta).set("logprobs", logprobs).set("finish_reason", finish);
  Json json = envelope(/*is_chunk=*/true);
  json.set("choices", Json::array().push(one));
  if (form_.wants_usage) json.set("usage", Json());
  return json;
}

Json CompletionWriter::chunk(ChoiceText& choice) const {
  const ReadPiece piece = std::move(choice.unsent.front());
  choice.unsent.pop_front();
  const Json logprobs = logprobs_json(std::exchange(choice.unsent_logprobs, {}), choice.n_sent_code_points);
  choice.n_sent_code_points += count_code_points(piece.text);
  if (!form_.is_chat) return chunk_with(choice, piece.text, logprobs, {});
  Json delta = Json::object();
  if (piece.kind == ReadPiece::Kind::words) {
    if (is_spoken()) {
      delta.set("audio", Json::object({{"transcript", piece.text}}));
    } else {
      delta.set("content", piece.text);
    }
  }
  if (piece.kind == ReadPiece::Kind::thoughts) delta.set("reasoning_content", piece.text);
  if (piece.kind == ReadPiece::Kind::call) {
    const SaidCall& call = choice.calls[choice.n_sent_calls++];
    delta.set("tool_calls", Json::array().push(Json::object(
                                {{"index", choice.n_sent_calls - 1},
                                 {"id", call.id},
                                 {"type", "function"},
                                 {"function", Json::object({{"name", call.name}, {"arguments", ""}})}})));
  }
  if (piece.kind == ReadPiece::Kind::arguments) {
    delta.set("tool_calls",
              Json::array().push(Json::object({{"index", choice.n_sent_calls - 1},
                                               {"function", Json::object({{"arguments", piece.text}})}})));
  }
  return chunk_with(choice, delta, logprobs, {});
}

// Of a chat.
Json CompletionWriter::message(const ChoiceText& choice) const {
  const bool has_words = !choice.words.empty() || choice.calls.empty();
  Json message = Json::object(
      {{"role", "assistant"}, {"content", has_words ? Json(choice.words) : Json()}, {"refusal", Json()}});
  if (!choice.thoughts.empty()) message.set("reasoning_content", choice.thoughts);
  if (is_spoken() && !choice.sound.empty()) {
    message.set("audio", Json::object({{"id", form_.audio_id},
                                       {"data", to_base64(choice.sound)},
                                       {"expires_at", audio_expiry()},
                                       {"transcript", choice.words}}));
  }
  if (choice.calls.empty()) return message;
  Json calls = Json::array();
  for (const SaidCall& call : choice.calls) {
    calls.push(
        Json::object({{"id", call.id},
                      {"type", "function"},
                      {"function", Json::object({{"name", call.name}, {"arguments", call.arguments}})}}));
  }
  return message.set("tool_calls", calls);
}

// Of a chat: whose turn it is.
std::string CompletionWriter::begin(const Choices& choices) {
  std::string text;
  if (!form_.is_chat) return text;
  for (const ChoiceText& choice : choices)
    text += event_text(chunk_with(choice, Json::object({{"role", "assistant"}, {"content", ""}}), {}, {}));
  return text;
}

// Its id stands before whatever comes of it.
std::string CompletionWriter::audio_chunk(const ChoiceText& choice, const Json& audio) const {
  return event_text(chunk_with(choice, Json::object({{"audio", audio}}), {}, {}));
}

std::string CompletionWriter::next(ChoiceText& choice) {
  std::string id;
  const bool is_words = choice.unsent.front().kind == ReadPiece::Kind::words;
  if (is_spoken() && is_words && !std::exchange(has_audio_begun_, true))
    id = audio_chunk(choice, Json::object({{"id", form_.audio_id}}));
  return id + event_text(chunk(choice));
}

std::string CompletionWriter::next_sound(const ChoiceText& choice, std::string_view bytes) {
  return audio_chunk(choice, Json::object({{"data", to_base64(bytes)}}));
}

// Why it ended. The last one has the summary, unless a chunk behind it has.
std::string CompletionWriter::end(ChoiceText& choice, const Choices& choices, const Json& summary) {
  const auto left = std::exchange(choice.unsent_logprobs, {});
  const Json logprobs = left.empty() ? Json() : logprobs_json(left, choice.n_sent_code_points);
  std::string expiry;
  if (has_audio_begun_) expiry = audio_chunk(choice, Json::object({{"expires_at", audio_expiry()}}));
  Json event = chunk_with(choice, form_.is_chat ? Json::object() : Json(""), logprobs, choice.finish_reason);
  const bool is_last = std::ranges::all_of(choices, &ChoiceText::has_finished);
  if (is_last && !form_.wants_usage) add_summary(event, choices, summary);
  return expiry + event_text(event);
}

std::string CompletionWriter::finish(const Choices& choices, const Json& summary) {
  std::string text;
  if (form_.wants_usage) {
    Json json = envelope(/*is_chunk=*/true);
    json.set("choices", Json::array()).set("usage", usage(choices));
    add_summary(json, choices, summary);
    text = event_text(json);
  }
  return text + "data: [DONE]\n\n";
}

std::string CompletionWriter::failure(const ApiError& error) {
  return event_text(to_json(error));
}

}  // namespace parlance
