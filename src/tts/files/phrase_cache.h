// Sound of short phrases that were spoken before: "okay", "one second". Whoever says them again need not
// wait.
#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace parlance {

// May be used by several threads.
class PhraseCache {
 public:
  static constexpr size_t kMostWords = 9;
  static constexpr size_t kMostSamples = 192000;  // 8 s

  // The phrase that was used longest ago makes room.
  explicit PhraseCache(size_t max_phrases) : max_phrases_(max_phrases) {}

  // A phrase without white space around it, single spaces in it, ASCII letters in lower case; nothing when it
  // is empty or has more words than are kept.
  static std::optional<std::string> normalise(std::string_view text);

  // `made_with` names all that the sound depends on beside the text: voice, model, options.
  std::optional<std::vector<float>> find(std::string_view text, std::string_view made_with);
  // Long texts and sounds are not kept.
  void insert(std::string_view text, std::string_view made_with, std::span<const float> samples);

  size_t size() const;

 private:
  struct Entry {
    std::string key;
    std::vector<float> samples;
  };
  static std::optional<std::string> key_of(std::string_view text, std::string_view made_with);

  const size_t max_phrases_;
  mutable std::mutex mutex_;
  std::list<Entry> entries_;  // the one that was used last comes first
  std::map<std::string, std::list<Entry>::iterator, std::less<>> by_key_;
};

}  // namespace parlance
