// A Realtime session: the one owner of a conversation over a socket. It takes what the client sends and what
// its parts have done, and tells the client. Everything here happens on one thread at a time, and nothing
// waits: a session that is idle costs its memory and no more.
//
// What a person says is a row of items, each with a machine of its own (spoken_turn.h); what answers is at
// most one response in the conversation (live_response.h), and a few beside it. A response waits until all
// items before it have their text.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "realtime/client_event.h"
#include "realtime/event_writer.h"
#include "realtime/filler_sound.h"
#include "realtime/heard_item.h"
#include "realtime/items.h"
#include "realtime/live_response.h"
#include "realtime/parts.h"
#include "realtime/settings.h"
#include "realtime/sound_coding.h"

namespace parlance {

// What is told of a session to those who run it. Called on the session's thread.
class RealtimeObserver {
 public:
  virtual ~RealtimeObserver() = default;
  // An event of this type, as GA calls it, came or was sent; what came and is none is "other".
  virtual void on_event(bool /*is_ours*/, std::string_view /*type*/) {}
  virtual void on_error(const std::string& /*code*/) {}
  virtual void on_turn(const TurnTrace&) {}  // that was answered
  // An answer fell silent so long after somebody began to speak into it.
  virtual void on_interrupted(double /*ms*/) {}
  virtual void on_items(const ItemList&, const std::string& /*conversation_id*/) {}  // have changed
};

struct RealtimeTerms {
  SessionOffer offer;
  Dialect dialect = Dialect::ga;
  SessionKind kind = SessionKind::conversation;
  std::optional<Json> session;  // an update that comes with the opening
  std::string conversation_id;  // empty: a new one
  std::vector<Item> items;      // of a conversation that is resumed
};

class RealtimeSession final : public LiveResponse::Host {
 public:
  // `wake` asks for a call of advance(), from any thread; it must not wait. What is given outlives the
  // session.
  RealtimeSession(RealtimeTerms terms, RealtimeParts& parts, RealtimeSink& sink, RealtimeObserver& observer,
                  OnNews wake);
  ~RealtimeSession() override;

  const std::string& conversation_id() const { return conversation_id_; }

  // The first call: tells the client who it talks to.
  void open();
  void take_text(std::string_view message);
  void take_binary(std::string_view bytes);
  // Takes news of the parts, and does what time brings; again when it is woken, and after wait_ms().
  void advance();
  std::optional<double> wait_ms();
  // Nothing new is begun; when what is going on is over, the socket is closed.
  void drain();
  bool is_closed() const { return is_closed_; }

  const SessionSettings& settings() const { return settings_; }
  const ItemList& items() const { return items_; }

 private:
  using Spoken = std::unique_ptr<HeardItem>;
  using Response = std::unique_ptr<LiveResponse>;

  static constexpr double kConfirmMs = 600;  // what is heard over an answer for so long ends it
  static constexpr double kMostBufferSeconds = 600;

  // Client events.
  RealtimeResult<void> take(const ClientEvent& event);
  RealtimeResult<void> update(const UpdateSession& event);
  RealtimeResult<void> append(std::string_view bytes);
  RealtimeResult<void> commit();
  RealtimeResult<void> clear();
  RealtimeResult<void> create(const CreateItem& event);
  RealtimeResult<void> remove(const DeleteItem& event);
  RealtimeResult<void> retrieve(const RetrieveItem& event);
  RealtimeResult<void> truncate(const TruncateItem& event);
  RealtimeResult<void> create_response(const CreateResponse& event);
  RealtimeResult<void> cancel_response(const CancelResponse& event);
  RealtimeResult<void> clear_output();
  RealtimeResult<void> report_playback(const ReportPlayback& event);

  // Sound that comes in.
  RealtimeResult<void> hear(std::span<const float> samples);
  Result<void> ready_finder();
  void on_turn_event(const TurnEvent& event);
  void on_speech_sound(std::span<const float> samples);
  void begin_speech(const TurnEvent& event);
  Spoken begin_utterance(std::string item_id);
  void end_speech_now();
  void judge_end();
  void warm_up(WhenWarm when);
  void ready_filler();
  void dispatch(HeardItem& utterance, SpokenEvent event);
  void act(HeardItem& utterance, SpokenAction action);
  void commit_item(HeardItem& utterance);
  void tell_transcript(HeardItem& utterance);
  void look_at(HeardItem& utterance);
  std::string sound_of(const std::vector<float>& samples) const;
  AsrRequest asr_request() const;
  double ms_of(int64_t sample) const;

  // Answers.
  Response new_response(ResponseTerms terms);
  ResponseTerms terms_of_session() const;
  void draft_answer(HeardItem& utterance);
  void drop_draft();
  bool leave_turns_unanswered();
  bool is_draft_of(const HeardItem& utterance) const;
  void answer_turn(HeardItem& utterance);
  void start_answer(Response response);
  void try_to_ask(LiveResponse& response);
  RealtimeResult<Json> chat_for(const LiveResponse& response, const std::string& more_said);
  Json chat_of(const ResponseTerms& terms, std::span<const Item> items, const std::string& more_said) const;
  void name_conversation(Json& chat) const;
  Json chat_with(const SessionSettings& settings, const Json& messages) const;
  bool awaits_text(std::span<const Item> items) const;
  void end_answer();
  void look_at_answers();

  // Interruption.
  void look_at_barge_in();
  void interrupt();
  void cut_what_was_not_heard();
  void apply_cut(const std::string& item_id, int64_t end_ms);
  void tell_barge_in(std::string_view phase);

  void look_at_idle();
  std::optional<double> idle_at_ms() const;       // none: nothing is waited for
  std::optional<double> semantic_end_ms() const;  // when the open turn ends if nothing more is heard
  void note_activity() { idle_since_ms_ = parts_.now_ms(); }
  TalkState state() const;
  void look_at_state();
  void tell_item_added(const Item& item);
  void tell_item_done(const Item& item);
  Json previous(const std::string& id) const;
  SettingsLocks locks() const { return {.has_heard = n_heard_ > 0, .has_spoken = has_spoken_}; }
  void close(uint16_t code, std::string reason);

  // LiveResponse::Host
  void add_item(const Item& item) override;
  void change_item(const Item& item) override;
  void keep_spoken(const std::string& item_id, SpokenItem spoken) override;
  std::optional<std::string> item_before(const std::string& item_id) override;
  void on_first_audio() override;

  const RealtimeTerms terms_;
  RealtimeParts& parts_;
  EventWriter events_;
  RealtimeObserver& observer_;
  const OnNews wake_;
  const std::string id_;
  std::string conversation_id_;

  SessionSettings settings_;
  uint64_t settings_version_ = 0;
  ItemList items_;
  uint64_t told_items_ = 0;                   // the version that the observer knows
  std::map<std::string, SpokenItem> spoken_;  // by item
  std::map<std::string, int64_t> cuts_;       // ms, of items whose response was still being made
  bool has_spoken_ = false, is_draining_ = false, is_closed_ = false, is_open_ = false;

  // Hearing.
  std::optional<SoundDecoder> decoder_;
  std::unique_ptr<SpeechFinder> finder_;
  TurnSettings finder_settings_;  // that it was made for
  int64_t n_heard_ = 0;           // samples of the session, at kMelSampleRateHz
  Spoken open_;                   // that is being spoken; without detection, the buffer
  std::vector<Spoken> closing_;   // whose text is still being made
  std::unique_ptr<EndJudgement> judgement_;
  std::string judged_text_;
  int64_t finder_base_ = 0;  // samples of the session before the finder's first

  // Answering.
  std::unique_ptr<MindWarming> warming_;
  Response active_, draft_;
  std::vector<Response> aside_;
  std::string draft_item_, draft_text_;
  uint64_t draft_items_ = 0, draft_settings_ = 0;
  bool awaits_answer_ = false;  // a turn is to be answered when the response has ended
  size_t n_left_out_ = 0;       // oldest items that prompts no longer have
  std::optional<double> doubt_since_ms_;
  std::shared_ptr<PlaybackClock> clock_;  // of the item that is, or was last, heard
  std::string clock_item_, clock_response_;
  bool is_clock_running_ = false;
  std::optional<double> idle_since_ms_;
  FillerSound filler_;
  TalkState state_ = TalkState::idle;
  bool has_told_state_ = false;
};

}  // namespace parlance
