#include "realtime/session.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "audio/mel.h"
#include "base/random_id.h"
#include "tts/audio/speech_format.h"

namespace parlance {

namespace {

template <class... Functions>
struct ByKind : Functions... {
  using Functions::operator()...;
};
template <class... Functions>
ByKind(Functions...) -> ByKind<Functions...>;

constexpr size_t kMostUnsent = size_t{5} << 20;  // bytes that the client does not take
constexpr double kLeastCommitSeconds = 0.1;

}  // namespace

RealtimeSession::RealtimeSession(RealtimeTerms terms, RealtimeParts& parts, RealtimeSink& sink,
                                 RealtimeObserver& observer, OnNews wake)
    : terms_(std::move(terms)),
      parts_(parts),
      events_(terms_.dialect, sink,
              [&observer](std::string_view type) { observer.on_event(/*is_ours=*/true, type); }),
      observer_(observer),
      wake_(std::move(wake)),
      id_(random_id("sess_")),
      conversation_id_(terms_.conversation_id.empty() ? random_id("conv_") : terms_.conversation_id),
      settings_(first_settings(terms_.offer, terms_.kind)),
      filler_(parts_, events_, wake_) {}

RealtimeSession::~RealtimeSession() = default;

void RealtimeSession::open() {
  is_open_ = true;
  std::optional<RealtimeError> wrong;
  if (terms_.session) {
    auto settings = changed_settings(settings_, *terms_.session, terms_.offer, terms_.dialect);
    if (settings) {
      settings_ = *std::move(settings);
    } else {
      wrong = settings.error();
    }
  }
  const bool is_old_transcription =
      terms_.kind == SessionKind::transcription && terms_.dialect == Dialect::beta;
  const Json shown = shown_settings(settings_, terms_.offer, terms_.dialect, id_);
  events_.send(is_old_transcription ? "transcription_session.created" : "session.created",
               {{"session", shown}});
  if (!is_old_transcription) {
    events_.send(
        "conversation.created",
        {{"conversation", Json::object({{"id", conversation_id_}, {"object", "realtime.conversation"}})}});
  }
  for (const Item& item : terms_.items) {
    if (!items_.insert(item)) continue;
    tell_item_added(item);
    tell_item_done(item);
  }
  if (wrong) events_.error(*wrong, {});
  warm_up(WhenWarm::some_time);
  ready_filler();
  look_at_state();
}

void RealtimeSession::ready_filler() {
  if (const auto followed = filler_.follow(settings_); !followed) events_.error(followed.error(), {});
}

void RealtimeSession::close(uint16_t code, std::string reason) {
  if (std::exchange(is_closed_, true)) return;
  warming_.reset();
  draft_.reset();
  active_.reset();
  aside_.clear();
  open_.reset();
  closing_.clear();
  events_.sink().close(code, std::move(reason));
}

void RealtimeSession::take_text(std::string_view message) {
  if (is_closed_) return;
  const auto event = read_client_event(message);
  observer_.on_event(/*is_ours=*/false, event ? std::string_view(event->type) : "other");
  const auto tell = [&](const RealtimeError& error, const std::optional<std::string>& id) {
    observer_.on_error(error.code);
    events_.error(error, id);
  };
  if (!event) {
    tell(event.error().error, event.error().event_id);
  } else if (const auto taken = take(*event); !taken) {
    tell(taken.error(), event->id);
  }
  advance();
}

void RealtimeSession::take_binary(std::string_view bytes) {
  if (is_closed_) return;
  observer_.on_event(/*is_ours=*/false, "input_audio_buffer.append");
  RealtimeResult<void> taken;
  if (settings_.extensions.has_binary_audio) {
    taken = append(bytes);
  } else {
    taken = reject("invalid_event", {}, "binary messages are sound only where parlance.binary_audio is set");
  }
  if (!taken) {
    observer_.on_error(taken.error().code);
    events_.error(taken.error(), {});
  }
  advance();
}

RealtimeResult<void> RealtimeSession::take(const ClientEvent& event) {
  return std::visit(
      ByKind{[&](const UpdateSession& e) { return update(e); },
             [&](const AppendSound& e) { return append(e.bytes); },
             [&](const CommitSound&) { return commit(); }, [&](const ClearSound&) { return clear(); },
             [&](const CreateItem& e) { return create(e); }, [&](const DeleteItem& e) { return remove(e); },
             [&](const RetrieveItem& e) { return retrieve(e); },
             [&](const TruncateItem& e) { return truncate(e); },
             [&](const CreateResponse& e) { return create_response(e); },
             [&](const CancelResponse& e) { return cancel_response(e); },
             [&](const ClearOutput&) { return clear_output(); },
             [&](const ReportPlayback& e) { return report_playback(e); }},
      event.what);
}

// What goes on keeps the settings that it began with.
RealtimeResult<void> RealtimeSession::update(const UpdateSession& event) {
  const bool is_transcription = settings_.kind == SessionKind::transcription;
  if (event.is_transcription && !is_transcription)
    return reject("unsupported_event", "type",
                  "this session is no transcription session; send session.update");
  PARLANCE_EVENT_TRY(SessionSettings changed,
                     changed_settings(settings_, event.session, terms_.offer, terms_.dialect, locks()));
  const bool is_other_beginning =
      changed.instructions != settings_.instructions || changed.tools.line() != settings_.tools.line();
  settings_ = std::move(changed);
  ++settings_version_;
  const bool is_old = is_transcription && terms_.dialect == Dialect::beta;
  events_.send(is_old ? "transcription_session.updated" : "session.updated",
               {{"session", shown_settings(settings_, terms_.offer, terms_.dialect, id_)}});
  if (is_other_beginning) warm_up(WhenWarm::some_time);
  ready_filler();
  return {};
}

RealtimeResult<void> RealtimeSession::append(std::string_view bytes) {
  const double seconds =
      static_cast<double>(bytes.size()) / (settings_.input.rate_hz * settings_.input.n_bytes());
  const bool is_manual = settings_.turns.detection == TurnSettings::Detection::none;
  if (is_manual) {
    const double buffered = open_ ? static_cast<double>(open_->samples().size()) / kMelSampleRateHz : 0;
    if (buffered + seconds > kMostBufferSeconds) {
      return reject("input_audio_buffer_full", "audio",
                    "the buffer holds {:.0f} seconds and may hold {:.0f}; commit or clear it first", buffered,
                    kMostBufferSeconds);
    }
  }
  if (!decoder_) {
    auto decoder = SoundDecoder::create(settings_.input, kMelSampleRateHz);
    if (!decoder) return tl::unexpected(internal_error(decoder.error().message));
    decoder_.emplace(*std::move(decoder));
  }
  std::vector<float> samples;
  if (const auto pushed = decoder_->push(bytes, samples); !pushed)
    return tl::unexpected(internal_error(pushed.error().message));
  return hear(samples);
}

RealtimeResult<void> RealtimeSession::commit() {
  const double seconds = open_ ? static_cast<double>(open_->samples().size()) / kMelSampleRateHz : 0;
  if (seconds < kLeastCommitSeconds) {
    return reject("input_audio_buffer_commit_empty", {},
                  "the buffer holds {:.0f} ms of sound; a commit needs {:.0f} ms", 1000 * seconds,
                  1000 * kLeastCommitSeconds);
  }
  if (finder_) {
    end_speech_now();
    return {};
  }
  HeardItem& utterance = *open_;
  std::vector<float> rest;
  if (decoder_ && decoder_->flush(rest)) {
    n_heard_ += std::ssize(rest);
    utterance.feed(rest);
  }
  const double now_ms = parts_.now_ms();
  utterance.trace.mark(Checkpoint::speech_end, now_ms);
  utterance.trace.mark(Checkpoint::turn_end, now_ms);
  closing_.push_back(std::move(open_));
  dispatch(utterance, SpokenEvent::end);
  return {};
}

RealtimeResult<void> RealtimeSession::clear() {
  if (open_ && finder_) {
    const std::string id = open_->item_id();
    events_.send("input_audio_buffer.speech_stopped",
                 {{"audio_end_ms", n_heard_ / (kMelSampleRateHz / 1000)}, {"item_id", id}});
    dispatch(*open_, SpokenEvent::clear);
  }
  open_.reset();
  judgement_.reset();
  std::vector<float> dropped;
  if (decoder_) (void)decoder_->flush(dropped);
  if (finder_) finder_->forget();
  if (doubt_since_ms_) {
    doubt_since_ms_.reset();
    tell_barge_in("dismissed");
    if (active_) active_->unhush();
    if (clock_) clock_->unhush();
  }
  events_.send("input_audio_buffer.cleared", {});
  return {};
}

RealtimeResult<void> RealtimeSession::create_response(const CreateResponse& event) {
  if (settings_.kind == SessionKind::transcription)
    return reject("unsupported_event", "type", "a transcription session has no responses");
  if (is_draining_) {
    return tl::unexpected(RealtimeError{.code = "server_shutting_down",
                                        .message = "this server is about to end; open another session",
                                        .type = "server_error"});
  }
  const Json& response = event.response;
  ResponseTerms terms = terms_of_session();
  PARLANCE_EVENT_TRY(terms.settings,
                     settings_of_response(settings_, response, terms_.offer, terms_.dialect, locks()));
  if (const auto conversation = response.member("conversation"); conversation && !conversation->is_null()) {
    if (conversation->text() == "none") {
      terms.conversation_id.reset();
    } else if (conversation->text() != "auto") {
      return reject("invalid_value", "response.conversation", "response.conversation must be auto or none");
    }
  }
  if (const auto metadata = response.member("metadata"); metadata && !metadata->is_null()) {
    constexpr size_t kMostMetadataBytes = 16384;
    if (!metadata->is_object() || metadata->line().size() > kMostMetadataBytes) {
      return reject("invalid_value", "response.metadata",
                    "response.metadata must be an object of at most {} bytes", kMostMetadataBytes);
    }
    terms.metadata = *metadata;
  }
  if (const auto input = response.member("input"); input && !input->is_null()) {
    const auto elements = input->elements();
    if (!elements)
      return reject("invalid_value", "response.input", "response.input must be an array of items");
    terms.input.emplace();
    for (size_t i = 0; i < elements->size(); ++i) {
      const std::string where = fmt::format("response.input[{}]", i);
      const Json& one = (*elements)[i];
      const auto type = one.member("type"), id = one.member("id");
      if (type && type->text() == "item_reference") {
        const Item* const item = std::as_const(items_).find(id ? id->text().value_or("") : "");
        if (!item) return reject("item_not_found", where + ".id", "there is no such item to refer to");
        terms.input->push_back(*item);
        continue;
      }
      PARLANCE_EVENT_TRY(Item item, read_item(one, where));
      if (item.awaits_text())
        return reject("invalid_value", where, "{} has sound; create it as an item and refer to that", where);
      terms.input->push_back(std::move(item));
    }
  }
  if (!terms.conversation_id) {
    constexpr size_t kMostAside = 2;
    if (aside_.size() >= kMostAside) {
      return reject("invalid_value", "response.conversation",
                    "{} responses outside of the conversation are being made; wait for one", kMostAside);
    }
    aside_.push_back(new_response(std::move(terms)));
    aside_.back()->release();
    try_to_ask(*aside_.back());
    return {};
  }
  if (active_) {
    return reject("conversation_already_has_active_response", {},
                  "response {} is being made; wait for it or cancel it", active_->id());
  }
  drop_draft();
  start_answer(new_response(std::move(terms)));
  return {};
}

RealtimeResult<void> RealtimeSession::cancel_response(const CancelResponse& event) {
  if (settings_.kind == SessionKind::transcription)
    return reject("unsupported_event", "type", "a transcription session has no responses");
  if (active_ && (!event.id || *event.id == active_->id())) {
    leave_turns_unanswered();
    active_->cancel("client_cancelled");
    return {};
  }
  for (const Response& response : aside_) {
    if (event.id && *event.id == response->id()) {
      response->cancel("client_cancelled");
      return {};
    }
  }
  if (!event.id && leave_turns_unanswered()) return {};
  return reject("response_cancel_not_active", {}, "there is no such response to cancel");
}

RealtimeResult<void> RealtimeSession::clear_output() {
  if (!settings_.extensions.has_playback)
    return reject("unsupported_event", "type", "only a session with parlance.playback has an output buffer");
  if (active_ && active_->terms().settings.speaks) {
    active_->cancel("client_cancelled");
    end_answer();
  }
  cut_what_was_not_heard();
  return {};
}

RealtimeResult<void> RealtimeSession::report_playback(const ReportPlayback& event) {
  if (!settings_.extensions.has_playback)
    return reject("unsupported_event", "type", "set parlance.playback to report what was played");
  if (clock_ && clock_item_ == event.item_id) clock_->take_report(event.played_ms);
  return {};
}

void RealtimeSession::advance() {
  if (!is_open_ || is_closed_) return;
  // What one part has done may let another go on.
  for (int round = 0; round < 4; ++round) {
    if (open_) look_at(*open_);
    for (size_t i = 0; i < closing_.size(); ++i) look_at(*closing_[i]);
    std::erase_if(closing_, [](const Spoken& one) { return one->state == SpokenState::over; });
    judge_end();
    look_at_barge_in();
    look_at_answers();
  }
  if (warming_ && warming_->has_ended()) warming_.reset();
  look_at_idle();
  look_at_state();
  if (items_.version() != std::exchange(told_items_, items_.version()))
    observer_.on_items(items_, conversation_id_);
  if (events_.sink().n_unsent() > kMostUnsent) return close(1008, "reads too slowly");
  const bool is_busy = active_ || !aside_.empty() || !closing_.empty();
  if (is_draining_ && !is_busy) close(1001, "the server ends");
}

void RealtimeSession::drain() {
  is_draining_ = true;
  drop_draft();
  advance();
}

std::optional<double> RealtimeSession::wait_ms() {
  if (!is_open_ || is_closed_) return std::nullopt;
  std::optional<double> wait;
  const auto sooner = [&](std::optional<double> other) {
    if (other) wait = std::min(wait.value_or(*other), std::max(0.0, *other));
  };
  const double now_ms = parts_.now_ms();
  if (active_) sooner(active_->wait_ms());
  if (draft_) sooner(draft_->wait_ms());
  for (const Response& response : aside_) sooner(response->wait_ms());
  if (doubt_since_ms_) sooner(*doubt_since_ms_ + kConfirmMs - now_ms);
  constexpr double kRetryMs = 50;
  const auto wants_ears = [](const Spoken& one) { return one && one->is_kept_waiting(); };
  if (wants_ears(open_) || std::any_of(closing_.begin(), closing_.end(), wants_ears)) sooner(kRetryMs);
  if (const auto end_ms = semantic_end_ms()) sooner(*end_ms - now_ms);
  if (clock_ && is_clock_running_) sooner(clock_->wait_ms());
  if (const auto timeout_ms = idle_at_ms()) sooner(*timeout_ms - now_ms);
  return wait;
}

TalkState RealtimeSession::state() const {
  const bool is_heard = clock_ && !clock_->is_drained();
  if (open_ && finder_) return TalkState::hearing;
  if (active_ && !active_->has_sound()) return TalkState::answering;
  if (active_ || is_heard) return TalkState::speaking;
  return closing_.empty() ? TalkState::idle : TalkState::closing;
}

void RealtimeSession::look_at_state() {
  filler_.advance();
  const TalkState now = state();
  const bool is_other = std::exchange(state_, now) != now;
  if (is_other) filler_.on_state(now);
  const bool is_told = std::exchange(has_told_state_, settings_.extensions.tells_state);
  if (settings_.extensions.tells_state && (is_other || !is_told))
    events_.send("parlance.state", {{"state", name_of(now)}});
}

}  // namespace parlance
