// What clients do with the items of a session's conversation, and what is kept of those that were spoken.
#include <algorithm>

#include "audio/mel.h"
#include "realtime/session.h"
#include "tts/audio/speech_format.h"

namespace parlance {

namespace {

constexpr double kKeptSoundSeconds = 120;
constexpr int64_t kSpeechSamplesPerMs = kSpeechRateHz / 1000;

}  // namespace

Json RealtimeSession::previous(const std::string& id) const {
  const auto before = items_.before(id);
  return before ? Json(*before) : Json();
}

void RealtimeSession::tell_item_added(const Item& item) {
  events_.send("conversation.item.added",
               {{"previous_item_id", previous(item.id)}, {"item", to_json(item, terms_.dialect)}});
}

void RealtimeSession::tell_item_done(const Item& item) {
  events_.send("conversation.item.done",
               {{"previous_item_id", previous(item.id)}, {"item", to_json(item, terms_.dialect)}});
}

RealtimeResult<void> RealtimeSession::create(const CreateItem& event) {
  Item item = event.item;
  Spoken utterance;
  if (item.awaits_text()) {
    utterance = begin_utterance(item.id);
    for (const ItemPart& part : item.parts) {
      if (!part.sound) continue;
      const size_t n_most =
          static_cast<size_t>(kMostBufferSeconds) * static_cast<size_t>(settings_.input.rate_hz);
      if (part.sound->size() / static_cast<size_t>(settings_.input.n_bytes()) > n_most)
        return reject("invalid_value", "item.content", "the sound of an item may have {:.0f} s",
                      kMostBufferSeconds);
      auto decoder = SoundDecoder::create(settings_.input, kMelSampleRateHz);
      if (!decoder) return tl::unexpected(internal_error(decoder.error().message));
      std::vector<float> samples;
      if (const auto pushed = decoder->push(*part.sound, samples); !pushed)
        return tl::unexpected(internal_error(pushed.error().message));
      if (const auto ended = decoder->flush(samples); !ended)
        return tl::unexpected(internal_error(ended.error().message));
      utterance->feed(samples);
    }
  }
  PARLANCE_EVENT_CHECK(items_.insert(item, event.behind));
  const auto place = items_.before(item.id);
  for (size_t i = 0; i < n_left_out_ && i < items_.all().size(); ++i) {
    if (items_.all()[i].id != item.id) continue;
    ++n_left_out_;  // it stands before others that are left out
    break;
  }
  tell_item_added(item);
  tell_item_done(item);
  if (utterance) {
    utterance->state = SpokenState::closing;
    utterance->is_committed = true;
    utterance->creates_response = utterance->is_transcribed = false;
    utterance->pause();
    closing_.push_back(std::move(utterance));
  }
  return {};
}

RealtimeResult<void> RealtimeSession::remove(const DeleteItem& event) {
  const auto& all = items_.all();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Item& item) { return item.id == event.id; });
  if (found == all.end()) {
    return reject("item_delete_invalid_item_id", "item_id", "there is no item {} to delete",
                  Json(event.id).line());
  }
  if (static_cast<size_t>(found - all.begin()) < n_left_out_) --n_left_out_;
  items_.remove(event.id);
  spoken_.erase(event.id);
  events_.send("conversation.item.deleted", {{"item_id", event.id}});
  return {};
}

RealtimeResult<void> RealtimeSession::retrieve(const RetrieveItem& event) {
  const Item* item = std::as_const(items_).find(event.id);
  if (!item) {
    return reject("item_retrieve_invalid_item_id", "item_id", "there is no item {} to retrieve",
                  Json(event.id).line());
  }
  events_.send("conversation.item.retrieved", {{"item", to_json(*item, terms_.dialect, /*has_sound=*/true)}});
  return {};
}

RealtimeResult<void> RealtimeSession::truncate(const TruncateItem& event) {
  const Item* item = std::as_const(items_).find(event.id);
  const auto spoken = spoken_.find(event.id);
  const bool is_sounding = active_ && active_->sounding_item() == event.id && spoken == spoken_.end();
  const bool is_answer = item && item->kind == Item::Kind::message && item->role == Item::Role::assistant;
  if (!is_answer || (spoken == spoken_.end() && !is_sounding)) {
    return reject("item_truncate_invalid_item_id", "item_id", "there is no spoken answer {} to truncate",
                  Json(event.id).line());
  }
  const int64_t n_made = is_sounding ? active_->n_samples_sent() : spoken->second.n_samples;
  if (event.end_ms * kSpeechSamplesPerMs > n_made) {
    return reject("invalid_value", "audio_end_ms", "Audio content of {}ms is already shorter than {}ms",
                  n_made / kSpeechSamplesPerMs, event.end_ms);
  }
  if (is_sounding) {
    cuts_[event.id] = event.end_ms;
  } else {
    apply_cut(event.id, event.end_ms);
  }
  if (clock_item_ == event.id && clock_ && !active_) clock_->stop();
  events_.send("conversation.item.truncated",
               {{"item_id", event.id}, {"content_index", 0}, {"audio_end_ms", event.end_ms}});
  return {};
}

void RealtimeSession::apply_cut(const std::string& item_id, int64_t end_ms) {
  Item* const item = items_.find(item_id);
  const auto spoken = spoken_.find(item_id);
  if (!item || spoken == spoken_.end() || item->parts.empty()) return;
  ItemPart& part = item->parts.front();
  part.text = heard_text(spoken->second.phrases, end_ms * kSpeechSamplesPerMs);
  if (spoken->second.sound) {
    const SoundForm& form = spoken->second.form;
    const auto n_bytes = static_cast<size_t>(end_ms * form.rate_hz / 1000 * form.n_bytes());
    part.sound = std::make_shared<const std::string>(spoken->second.sound->substr(0, n_bytes));
  }
  items_.touch();
}

void RealtimeSession::keep_spoken(const std::string& item_id, SpokenItem spoken) {
  Item* const item = items_.find(item_id);
  if (!item) return;
  if (!item->parts.empty()) item->parts.front().sound = spoken.sound;
  spoken_[item_id] = std::move(spoken);
  if (const auto cut = cuts_.find(item_id); cut != cuts_.end()) {
    apply_cut(item_id, cut->second);
    cuts_.erase(cut);
  }
  const size_t n_most = static_cast<size_t>(kKeptSoundSeconds) * static_cast<size_t>(kSpeechRateHz) * 2;
  items_.forget_sound_beyond(n_most);
  for (auto& [id, one] : spoken_) {
    const Item* const kept = std::as_const(items_).find(id);
    if (!kept || kept->parts.empty() || !kept->parts.front().sound) one.sound.reset();
  }
}

}  // namespace parlance
