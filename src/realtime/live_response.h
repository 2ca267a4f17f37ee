// One response: what the model writes, made into items, text, sound and calls, and told to the client in the
// order that the protocol has for it. A response that is not released yet is a draft: it is made as far as
// its first phrase, and nobody knows of it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "realtime/event_writer.h"
#include "realtime/items.h"
#include "realtime/parts.h"
#include "realtime/settings.h"
#include "realtime/sound_coding.h"
#include "voice/heard_text.h"
#include "voice/phrase_chunker.h"
#include "voice/playback_clock.h"
#include "voice/trace.h"

namespace parlance {

struct ResponseTerms {
  SessionSettings settings;
  std::string language;                        // of speech; empty: the model finds out
  Json metadata;                               // null: none was given
  std::optional<std::vector<Item>> input;      // in place of the conversation
  std::optional<std::string> conversation_id;  // none: it is outside of it
};

// What was spoken of an item, for as long as it may be cut.
struct SpokenItem {
  std::vector<PlayedPhrase> phrases;  // samples at kSpeechRateHz
  int64_t n_samples = 0;
  std::shared_ptr<const std::string> sound;  // as it was sent; null: not kept any more
  SoundForm form;
};

class LiveResponse {
 public:
  // Whom it tells what becomes of it.
  class Host {
   public:
    virtual ~Host() = default;
    virtual void add_item(const Item& item) = 0;     // of the conversation
    virtual void change_item(const Item& item) = 0;  // its status, or text
    // Spoken, as much as was made of it.
    virtual void keep_spoken(const std::string& item_id, SpokenItem spoken) = 0;
    virtual std::optional<std::string> item_before(const std::string& item_id) = 0;
    virtual void on_first_audio() = 0;
  };

  enum class State : uint8_t { waiting, running, over };  // waiting: not asked yet

  LiveResponse(ResponseTerms terms, RealtimeParts& parts, EventWriter& events, Host& host, OnNews on_news);
  ~LiveResponse();

  const std::string& id() const { return id_; }
  State state() const { return state_; }
  bool is_released() const { return is_released_; }
  bool is_in_conversation() const { return terms_.conversation_id.has_value(); }
  const ResponseTerms& terms() const { return terms_; }

  void ask(const Json& chat);
  // From now on it is told.
  void release();
  // Does what can be done without waiting.
  void advance();
  std::optional<double> wait_ms() const;

  // Ends it: cancelled by whom, or failed.
  void cancel(std::string_view reason);
  void fail(const RealtimeError& error);

  // Of its sound. Until it is unhushed, neither sound nor text leaves.
  void hush();
  void unhush();
  bool has_sound() const { return has_sound_; }
  // The clock of the last item that sounded, which goes on when the response is over; null: none did.
  std::shared_ptr<PlaybackClock> clock() const { return clock_; }
  const std::string& sounding_item() const { return sounding_item_; }

  TurnTrace trace;
  int n_drafts = 0;  // that were begun for the turn, this one too
  int64_t n_cached() const { return usage_.n_cached; }
  int64_t n_samples_sent() const { return n_samples_sent_; }

 private:
  struct Output;

  void take_pieces();
  void take_sound();
  void take_words(std::string_view text);
  void add_phrase(Output& output, Phrase phrase);
  void end_writing(Output& output);
  void tell_mouth(Output& output);
  bool tell(Output& output);
  bool tell_text(Output& output);
  bool tell_sound(Output& output);
  bool tell_call(Output& output);
  void begin_telling(Output& output);
  void end_telling(Output& output, Item::Status status);
  void tell_phrases_before(Output& output, int64_t n_samples);
  void send_sound(Output& output, std::string bytes, int64_t n_samples);
  void finish(std::string_view status, Json details);
  Json shown(std::string_view status, const Json& details, bool has_usage) const;

  const std::string id_;
  const ResponseTerms terms_;
  RealtimeParts& parts_;
  EventWriter& events_;
  Host& host_;
  const OnNews on_news_;

  State state_ = State::waiting;
  bool is_released_ = false, is_hushed_ = false, has_ended_ = false, is_complete_ = true, has_sound_ = false;
  bool awaits_room_ = false;
  std::optional<RealtimeError> failure_;  // of a draft, until somebody is told
  std::unique_ptr<MindAnswer> answer_;
  MindUsage usage_;
  int64_t n_samples_ = 0, n_samples_sent_ = 0;

  std::vector<std::unique_ptr<Output>> outputs_;
  size_t n_told_ = 0;             // outputs that are done
  bool is_passing_over_ = false;  // a call too many

  std::unique_ptr<Inbox> inbox_;  // of the mouth
  std::unique_ptr<Mouth> mouth_;
  std::shared_ptr<PlaybackClock> clock_;
  std::string sounding_item_;
};

}  // namespace parlance
