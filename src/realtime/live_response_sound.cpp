// How a response is spoken: words become phrases, these sound, and sound leaves with its text.
#include <variant>

#include "realtime/response_output.h"
#include "text/base64.h"
#include "tts/audio/speech_format.h"

namespace parlance {

namespace {

// Phrases that the synthesizer was told of and has not said: others want to speak, too.
constexpr int64_t kMostTold = 2;
constexpr int64_t kSamplesPerMs = kSpeechRateHz / 1000;

}  // namespace

// The chunker gives phrases without the white space and marks between them; the words keep theirs.
void LiveResponse::add_phrase(Output& output, Phrase phrase) {
  trace.mark_first(Checkpoint::phrase_emit, parts_.now_ms());
  const size_t found = output.text.find(phrase.text, output.n_cut);
  size_t end = found == std::string::npos ? output.text.size() : found + phrase.text.size();
  while (end < output.text.size() && (output.text[end] == ' ' || output.text[end] == '\n')) ++end;
  output.n_cut = end;
  output.phrases.push_back({.text = std::move(phrase.text), .text_end = end});
}

// Before a response is released, its first phrase only: the rest may be for nothing. Afterwards no more than
// is soon needed: others want to speak, and the person may interrupt.
void LiveResponse::tell_mouth(Output& output) {
  const double pace_ms = terms_.settings.extensions.pace_seconds * 1000;
  while (output.n_asked < std::ssize(output.phrases)) {
    if (!is_released_ && (output.n_asked > 0 || output.index > 0)) return;
    if (output.n_asked - output.n_said >= kMostTold) return;
    const int64_t n_ahead = output.n_made - (output.clock ? output.clock->n_heard() : 0);
    if (output.n_asked > 0 && static_cast<double>(n_ahead) > pace_ms * kSamplesPerMs) return;
    if (!mouth_) {
      inbox_ = std::make_unique<Inbox>(on_news_);
      auto mouth = parts_.open_mouth(
          {.voice = terms_.settings.voice, .language = terms_.language, .speed = terms_.settings.speed},
          *inbox_);
      if (!mouth) {
        return fail(internal_error("nothing can be spoken: " + mouth.error().message));
      }
      mouth_ = *std::move(mouth);
    }
    mouth_->say(output.index, output.n_asked, output.phrases[static_cast<size_t>(output.n_asked)].text);
    ++output.n_asked;
  }
}

void LiveResponse::take_sound() {
  if (!inbox_ || state_ != State::running) return;
  for (TalkMessage& message : inbox_->take(std::chrono::microseconds(0))) {
    if (const auto* broken = std::get_if<Broken>(&message)) {
      return fail(internal_error("speaking failed: " + broken->error.message));
    }
    if (const auto* begun = std::get_if<SpeechBegun>(&message)) {
      trace.mark_first(Checkpoint::tts_start, begun->at_ms);
    } else if (const auto* spoken = std::get_if<Spoken>(&message)) {
      trace.mark_first(Checkpoint::tts_first_audio, spoken->at_ms);
      Output& output = *outputs_[spoken->reply];
      Output::Part& phrase = output.phrases[static_cast<size_t>(spoken->phrase)];
      if (!output.clock) {
        output.clock = std::make_shared<PlaybackClock>(
            [&parts = parts_] { return parts.now_ms(); },
            [this, &output](std::span<const float> samples) -> Result<void> {
              tell_phrases_before(output, output.n_sent + std::ssize(samples));
              std::string bytes;
              PARLANCE_CHECK(output.encoding->push(samples, bytes));
              send_sound(output, std::move(bytes), std::ssize(samples));
              return {};
            },
            PlaybackPace{.ahead_ms = terms_.settings.extensions.pace_seconds * 1000});
        output.clock->begin_answer();
      }
      if (phrase.end == 0) phrase.begin = phrase.end = output.n_made;
      const auto n = std::ssize(spoken->samples);
      phrase.end += n;
      output.n_made += n;
      n_samples_ += n;
      output.clock->play(spoken->samples);
    } else if (const auto* end = std::get_if<SpeechEnd>(&message)) {
      trace.mark(Checkpoint::tts_end, end->at_ms);
      Output& output = *outputs_[end->reply];
      Output::Part& phrase = output.phrases[static_cast<size_t>(end->phrase)];
      if (phrase.end == 0) phrase.begin = phrase.end = output.n_made;
      phrase.is_said = true;
      ++output.n_said;
    }
  }
}

// A phrase's text leaves before its sound.
void LiveResponse::tell_phrases_before(Output& output, int64_t n_samples) {
  for (Output::Part& phrase : output.phrases) {
    if (phrase.is_told) continue;
    const bool has_begun = phrase.end > phrase.begin || phrase.is_said;
    if (!has_begun || (phrase.begin >= n_samples && !phrase.is_said)) return;
    if (phrase.begin >= n_samples && phrase.end > phrase.begin) return;
    phrase.is_told = true;
    const std::string delta = output.text.substr(output.n_text_told, phrase.text_end - output.n_text_told);
    output.n_text_told = phrase.text_end;
    events_.send("response.output_audio_transcript.delta",
                 {{"response_id", id_},
                  {"item_id", output.item.id},
                  {"output_index", static_cast<int64_t>(output.index)},
                  {"content_index", 0},
                  {"delta", delta}});
  }
}

void LiveResponse::send_sound(Output& output, std::string bytes, int64_t n_samples) {
  output.n_sent += n_samples;
  n_samples_sent_ += n_samples;
  if (bytes.empty()) return;
  if (!std::exchange(has_sound_, true)) {
    trace.mark_first(Checkpoint::audio_first_played, parts_.now_ms());
    host_.on_first_audio();
  }
  clock_ = output.clock;
  sounding_item_ = output.item.id;
  const bool is_binary = terms_.settings.extensions.has_binary_audio;
  const auto index = static_cast<int64_t>(output.index);
  if (is_binary) {
    events_.send("response.output_audio.delta", {{"response_id", id_},
                                                 {"item_id", output.item.id},
                                                 {"output_index", index},
                                                 {"content_index", 0},
                                                 {"delta", ""},
                                                 {"bytes", static_cast<int64_t>(bytes.size())}});
    events_.sink().send_binary(bytes);
  } else {
    events_.send("response.output_audio.delta", {{"response_id", id_},
                                                 {"item_id", output.item.id},
                                                 {"output_index", index},
                                                 {"content_index", 0},
                                                 {"delta", to_base64(bytes)}});
  }
  output.sound += bytes;
}

bool LiveResponse::tell_sound(Output& output) {
  // Nothing is told of an item before there is something to be heard of it, or it is known that there is not.
  const bool is_said = output.is_written && output.n_said == std::ssize(output.phrases);
  if (!output.clock && !is_said) return false;
  if (!output.encoding) {
    auto encoding = SoundEncoding::create(terms_.settings.output, kSpeechRateHz);
    if (!encoding) {
      fail(internal_error(encoding.error().message));
      return false;
    }
    output.encoding.emplace(*std::move(encoding));
  }
  begin_telling(output);
  if (output.clock) {
    if (const auto ticked = output.clock->tick(); !ticked) {
      fail(internal_error(ticked.error().message));
      return false;
    }
  }
  if (!is_said || (output.clock && !output.clock->is_sent())) return false;
  std::string rest;
  (void)output.encoding->finish(rest);
  send_sound(output, std::move(rest), 0);
  tell_phrases_before(output, output.n_sent + 1);
  if (output.n_text_told < output.text.size()) {  // marks at the end that nobody says
    events_.send("response.output_audio_transcript.delta",
                 {{"response_id", id_},
                  {"item_id", output.item.id},
                  {"output_index", static_cast<int64_t>(output.index)},
                  {"content_index", 0},
                  {"delta", output.text.substr(output.n_text_told)}});
    output.n_text_told = output.text.size();
  }
  trace.mark(Checkpoint::audio_last_played, parts_.now_ms());
  const bool is_cut = !is_complete_ && output.index + 1 == outputs_.size();
  end_telling(output, is_cut ? Item::Status::incomplete : Item::Status::completed);
  return true;
}

void LiveResponse::hush() {
  is_hushed_ = true;
  if (clock_) clock_->hush();
}

void LiveResponse::unhush() {
  is_hushed_ = false;
  if (clock_) clock_->unhush();
}

}  // namespace parlance
