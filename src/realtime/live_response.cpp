#include "realtime/live_response.h"

#include <algorithm>

#include "base/random_id.h"
#include "realtime/response_output.h"
#include "text/unicode.h"
#include "tts/audio/speech_format.h"

namespace parlance {

namespace {

constexpr size_t kMostCalls = 16;
constexpr size_t kMuchUnsent = size_t{1} << 20;  // bytes: sound waits

}  // namespace

LiveResponse::LiveResponse(ResponseTerms terms, RealtimeParts& parts, EventWriter& events, Host& host,
                           OnNews on_news)
    : id_(random_id("resp_")),
      terms_(std::move(terms)),
      parts_(parts),
      events_(events),
      host_(host),
      on_news_(std::move(on_news)) {}

LiveResponse::~LiveResponse() = default;

void LiveResponse::ask(const Json& chat) {
  if (state_ != State::waiting) return;
  state_ = State::running;
  trace.mark_first(Checkpoint::llm_start, parts_.now_ms());
  auto answer = parts_.ask(chat, on_news_);
  if (!answer) return fail(answer.error());
  answer_ = *std::move(answer);
  usage_ = answer_->usage();
}

void LiveResponse::release() {
  if (is_released_) return;
  is_released_ = true;
  events_.send("response.created", {{"response", shown("in_progress", {}, false)}});
  if (failure_) fail(*failure_);
}

std::optional<double> LiveResponse::wait_ms() const {
  if (state_ != State::running) return std::nullopt;
  std::optional<double> wait;
  const auto sooner = [&](std::optional<double> other) {
    if (other) wait = std::min(wait.value_or(*other), *other);
  };
  for (size_t i = n_told_; i < outputs_.size(); ++i) {
    const Output& output = *outputs_[i];
    if (!output.is_written) sooner(output.chunker.wait_ms(parts_.now_ms()));
    // Only until all is sent: who listens to the rest is the session's affair.
    if (is_released_ && !is_hushed_ && !awaits_room_ && output.clock && !output.clock->is_sent())
      sooner(output.clock->wait_ms());
  }
  return wait;
}

void LiveResponse::advance() {
  if (state_ != State::running) return;
  take_pieces();
  take_sound();
  if (state_ != State::running) return;
  for (auto& output : outputs_) {
    if (output->item.kind != Item::Kind::message || !terms_.settings.speaks) continue;
    if (!output->is_written) {
      if (auto phrase = output->chunker.flush_if_late(parts_.now_ms()))
        add_phrase(*output, *std::move(phrase));
    }
    tell_mouth(*output);
  }
  if (!is_released_ || is_hushed_) return;
  if (events_.sink().n_unsent() > kMuchUnsent) {
    if (!std::exchange(awaits_room_, true)) {
      // The sink may call long after this response has gone.
      events_.sink().when_taken(on_news_);
    }
    return;
  }
  awaits_room_ = false;
  while (state_ == State::running && n_told_ < outputs_.size() && tell(*outputs_[n_told_])) ++n_told_;
  if (state_ != State::running || !has_ended_ || n_told_ < outputs_.size()) return;
  if (is_complete_) return finish("completed", {});
  finish("incomplete", Json::object({{"type", "incomplete"}, {"reason", "max_output_tokens"}}));
}

void LiveResponse::take_pieces() {
  if (!answer_) return;
  const bool has_ended = answer_->has_ended();
  for (ReadPiece& piece : answer_->take()) {
    switch (piece.kind) {
      case ReadPiece::Kind::words:
        trace.mark_first(Checkpoint::llm_first_token, parts_.now_ms());
        take_words(piece.text);
        break;
      case ReadPiece::Kind::thoughts:
        trace.mark_first(Checkpoint::llm_first_token, parts_.now_ms());
        break;
      case ReadPiece::Kind::call: {
        const auto n_calls =
            static_cast<size_t>(std::count_if(outputs_.begin(), outputs_.end(), [](const auto& output) {
              return output->item.kind == Item::Kind::call;
            }));
        is_passing_over_ = n_calls >= (terms_.settings.has_parallel_calls ? kMostCalls : 1);
        if (is_passing_over_) break;
        if (!outputs_.empty()) end_writing(*outputs_.back());
        Output& output = *outputs_.emplace_back(std::make_unique<Output>(outputs_.size()));
        output.item.id = random_id("item_");
        output.item.kind = Item::Kind::call;
        output.item.call_id = random_id("call_");
        output.item.name = piece.text;
        break;
      }
      case ReadPiece::Kind::arguments:
        if (!is_passing_over_ && !outputs_.empty()) outputs_.back()->text += piece.text;
        break;
    }
  }
  usage_ = answer_->usage();
  if (!has_ended || has_ended_) return;
  const auto complete = answer_->is_complete();
  answer_.reset();
  if (!complete) return fail(complete.error());
  has_ended_ = true;
  is_complete_ = *complete;
  trace.mark(Checkpoint::llm_end, parts_.now_ms());
  for (auto& output : outputs_) end_writing(*output);
}

void LiveResponse::take_words(std::string_view text) {
  if (text.empty()) return;
  const bool is_open =
      !outputs_.empty() && !outputs_.back()->is_written && outputs_.back()->item.kind == Item::Kind::message;
  if (!is_open) {
    // White space between calls is nobody's words.
    if (!outputs_.empty() && strip_white_space(text).empty()) return;
    if (!outputs_.empty()) end_writing(*outputs_.back());
    Output& output = *outputs_.emplace_back(std::make_unique<Output>(outputs_.size()));
    output.item.id = random_id("item_");
    output.item.role = Item::Role::assistant;
  }
  Output& output = *outputs_.back();
  output.text += text;
  if (!terms_.settings.speaks) return;
  for (Phrase& phrase : output.chunker.push(text, parts_.now_ms())) add_phrase(output, std::move(phrase));
}

void LiveResponse::end_writing(Output& output) {
  if (std::exchange(output.is_written, true)) return;
  if (output.item.kind != Item::Kind::message || !terms_.settings.speaks) return;
  if (auto phrase = output.chunker.finish()) add_phrase(output, *std::move(phrase));
}

// Whether all of it is told.
bool LiveResponse::tell(Output& output) {
  if (output.item.kind == Item::Kind::call) return tell_call(output);
  return terms_.settings.speaks ? tell_sound(output) : tell_text(output);
}

void LiveResponse::begin_telling(Output& output) {
  if (std::exchange(output.is_begun, true)) return;
  const Dialect dialect = events_.dialect();
  Item item = output.item;
  item.status = Item::Status::in_progress;
  const auto index = static_cast<int64_t>(output.index);
  events_.send("response.output_item.added",
               {{"response_id", id_}, {"output_index", index}, {"item", to_json(item, dialect)}});
  if (is_in_conversation()) {
    host_.add_item(item);
    const auto before = host_.item_before(item.id);
    events_.send("conversation.item.added",
                 {{"previous_item_id", before ? Json(*before) : Json()}, {"item", to_json(item, dialect)}});
  }
  if (item.kind == Item::Kind::call) return;
  const bool speaks = terms_.settings.speaks;
  events_.send("response.content_part.added",
               {{"response_id", id_},
                {"item_id", item.id},
                {"output_index", index},
                {"content_index", 0},
                {"part", speaks ? Json::object({{"type", "audio"}, {"transcript", ""}})
                                : Json::object({{"type", "text"}, {"text", ""}})}});
}

void LiveResponse::end_telling(Output& output, Item::Status status) {
  if (!output.is_begun || std::exchange(output.is_done, true)) return;
  const Dialect dialect = events_.dialect();
  Item& item = output.item;
  item.status = status;
  const auto index = static_cast<int64_t>(output.index);
  const std::string told = output.text.substr(0, output.n_text_told);
  if (item.kind == Item::Kind::call) {
    item.text = told;
    events_.send("response.function_call_arguments.done", {{"response_id", id_},
                                                           {"item_id", item.id},
                                                           {"output_index", index},
                                                           {"call_id", item.call_id},
                                                           {"name", item.name},
                                                           {"arguments", told}});
  } else {
    const bool speaks = terms_.settings.speaks;
    item.parts = {ItemPart{}};
    item.parts.front().is_sound = speaks;
    item.parts.front().text = told;
    if (speaks) {
      events_.send(
          "response.output_audio.done",
          {{"response_id", id_}, {"item_id", item.id}, {"output_index", index}, {"content_index", 0}});
    }
    events_.send(speaks ? "response.output_audio_transcript.done" : "response.output_text.done",
                 {{"response_id", id_},
                  {"item_id", item.id},
                  {"output_index", index},
                  {"content_index", 0},
                  {speaks ? "transcript" : "text", told}});
    events_.send("response.content_part.done",
                 {{"response_id", id_},
                  {"item_id", item.id},
                  {"output_index", index},
                  {"content_index", 0},
                  {"part", speaks ? Json::object({{"type", "audio"}, {"transcript", told}})
                                  : Json::object({{"type", "text"}, {"text", told}})}});
  }
  events_.send("response.output_item.done",
               {{"response_id", id_}, {"output_index", index}, {"item", to_json(item, dialect)}});
  if (!is_in_conversation()) return;
  host_.change_item(item);
  if (output.clock) {
    SpokenItem spoken;
    spoken.n_samples = output.n_sent;
    spoken.sound = std::make_shared<const std::string>(std::move(output.sound));
    spoken.form = terms_.settings.output;
    size_t at = 0;
    for (const Output::Part& phrase : output.phrases) {
      if (!phrase.is_told) break;
      spoken.phrases.push_back({.text = output.text.substr(at, phrase.text_end - at),
                                .begin = phrase.begin,
                                .end = std::min(phrase.end, output.n_sent)});
      at = phrase.text_end;
    }
    host_.keep_spoken(item.id, std::move(spoken));
  }
  const auto before = host_.item_before(item.id);
  events_.send("conversation.item.done",
               {{"previous_item_id", before ? Json(*before) : Json()}, {"item", to_json(item, dialect)}});
}

bool LiveResponse::tell_text(Output& output) {
  begin_telling(output);
  if (output.n_text_told < output.text.size()) {
    events_.send("response.output_text.delta", {{"response_id", id_},
                                                {"item_id", output.item.id},
                                                {"output_index", static_cast<int64_t>(output.index)},
                                                {"content_index", 0},
                                                {"delta", output.text.substr(output.n_text_told)}});
    output.n_text_told = output.text.size();
  }
  if (!output.is_written) return false;
  const bool is_cut = !is_complete_ && output.index + 1 == outputs_.size();
  end_telling(output, is_cut ? Item::Status::incomplete : Item::Status::completed);
  return true;
}

bool LiveResponse::tell_call(Output& output) {
  begin_telling(output);
  if (output.n_text_told < output.text.size()) {
    events_.send("response.function_call_arguments.delta",
                 {{"response_id", id_},
                  {"item_id", output.item.id},
                  {"output_index", static_cast<int64_t>(output.index)},
                  {"call_id", output.item.call_id},
                  {"delta", output.text.substr(output.n_text_told)}});
    output.n_text_told = output.text.size();
  }
  if (!output.is_written) return false;
  const bool is_cut = !is_complete_ && output.index + 1 == outputs_.size();
  end_telling(output, is_cut ? Item::Status::incomplete : Item::Status::completed);
  return true;
}

void LiveResponse::cancel(std::string_view reason) {
  if (state_ == State::over) return;
  if (is_released_) {
    for (auto& output : outputs_) end_telling(*output, Item::Status::incomplete);
  }
  finish("cancelled", Json::object({{"type", "cancelled"}, {"reason", reason}}));
}

void LiveResponse::fail(const RealtimeError& error) {
  if (state_ == State::over) return;
  failure_ = error;
  answer_.reset();
  if (!is_released_) return;  // a draft's failure is that of the response which it becomes
  for (auto& output : outputs_) end_telling(*output, Item::Status::incomplete);
  finish("failed",
         Json::object(
             {{"type", "failed"},
              {"error",
               Json::object({{"type", error.type}, {"code", error.code}, {"message", error.message}})}}));
}

void LiveResponse::finish(std::string_view status, Json details) {
  state_ = State::over;
  if (answer_) usage_ = answer_->usage();
  answer_.reset();
  mouth_.reset();
  inbox_.reset();
  if (is_released_) events_.send("response.done", {{"response", shown(status, details, true)}});
}

Json LiveResponse::shown(std::string_view status, const Json& details, bool has_usage) const {
  const Dialect dialect = events_.dialect();
  const SessionSettings& s = terms_.settings;
  Json output = Json::array();
  for (const auto& one : outputs_) {
    if (one->is_done) output.push(to_json(one->item, dialect));
  }
  Json modalities = Json::array();
  if (s.speaks && dialect == Dialect::beta) modalities.push("text");
  modalities.push(s.speaks ? "audio" : "text");
  const Json audio = Json::object(
      {{"output", Json::object({{"format", shown_form(s.output, dialect)}, {"voice", s.voice}})}});
  Json usage;
  if (has_usage) {
    const int64_t n_frame = parts_.samples_of_frame();
    const int64_t n_audio = (n_samples_ + n_frame - 1) / n_frame;
    const Json cached = Json::object({{"text_tokens", usage_.n_cached}, {"audio_tokens", 0}});
    usage = Json::object({{"total_tokens", usage_.n_input + usage_.n_output + n_audio},
                          {"input_tokens", usage_.n_input},
                          {"output_tokens", usage_.n_output + n_audio},
                          {"input_token_details", Json::object({{"text_tokens", usage_.n_input},
                                                                {"audio_tokens", 0},
                                                                {"cached_tokens", usage_.n_cached},
                                                                {"cached_tokens_details", cached}})},
                          {"output_token_details",
                           Json::object({{"text_tokens", usage_.n_output}, {"audio_tokens", n_audio}})}});
  }
  const Json id = terms_.conversation_id ? Json(*terms_.conversation_id) : Json();
  Json response = Json::object({{"id", id_},
                                {"object", "realtime.response"},
                                {"status", status},
                                {"status_details", details},
                                {"output", output},
                                {"conversation_id", id},
                                {dialect == Dialect::ga ? "output_modalities" : "modalities", modalities},
                                {"max_output_tokens", s.n_most_tokens ? Json(*s.n_most_tokens) : Json("inf")},
                                {"audio", audio},
                                {"metadata", terms_.metadata},
                                {"usage", usage}});
  if (dialect == Dialect::beta) {
    response.set("voice", s.voice).set("output_audio_format", shown_form(s.output, dialect));
  }
  return response;
}

}  // namespace parlance
