#include "tts/files/phrase_cache.h"

namespace parlance {

std::optional<std::string> PhraseCache::normalise(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n\v\f";
  std::string phrase;
  size_t n_words = 0;
  for (size_t at = text.find_first_not_of(kBlanks); at < text.size();) {
    if (++n_words > kMostWords) return std::nullopt;
    const size_t end = std::min(text.find_first_of(kBlanks, at), text.size());
    if (!phrase.empty()) phrase += ' ';
    for (const char c : text.substr(at, end - at))
      phrase += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    at = text.find_first_not_of(kBlanks, end);
  }
  if (phrase.empty()) return std::nullopt;
  return phrase;
}

std::optional<std::string> PhraseCache::key_of(std::string_view text, std::string_view made_with) {
  auto phrase = normalise(text);
  if (!phrase) return std::nullopt;
  *phrase += '\0';
  phrase->append(made_with);
  return phrase;
}

std::optional<std::vector<float>> PhraseCache::find(std::string_view text, std::string_view made_with) {
  const auto key = key_of(text, made_with);
  if (!key) return std::nullopt;
  const std::lock_guard lock(mutex_);
  const auto known = by_key_.find(*key);
  if (known == by_key_.end()) return std::nullopt;
  entries_.splice(entries_.begin(), entries_, known->second);
  return known->second->samples;
}

void PhraseCache::insert(std::string_view text, std::string_view made_with, std::span<const float> samples) {
  auto key = key_of(text, made_with);
  if (!key || samples.empty() || samples.size() > kMostSamples || max_phrases_ == 0) return;
  const std::lock_guard lock(mutex_);
  if (const auto known = by_key_.find(*key); known != by_key_.end()) {
    entries_.erase(known->second);
    by_key_.erase(known);
  }
  entries_.push_front({*key, {samples.begin(), samples.end()}});
  by_key_[*std::move(key)] = entries_.begin();
  if (entries_.size() <= max_phrases_) return;
  by_key_.erase(entries_.back().key);
  entries_.pop_back();
}

size_t PhraseCache::size() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

}  // namespace parlance
