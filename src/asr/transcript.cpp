#include "asr/transcript.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "asr/languages.h"
#include "text/unicode.h"

namespace parlance {

namespace {

constexpr std::string_view kNoLanguage = "language none";

constexpr std::string_view kSpecialTokens[] = {
    "<|im_start|>",  "<|im_end|>",       "<|endoftext|>",  "<|audio_start|>",
    "<|audio_end|>", "<|vision_start|>", "<|vision_end|>", "</s>",
};

constexpr size_t kCopies = 20;          // how many in a row are a repetition
constexpr size_t kLongestPattern = 20;  // code points
constexpr size_t kShortestText = 2 * kCopies;

// Runs of more than kCopies equal code points as one.
std::u32string drop_runs(std::u32string_view text) {
  std::u32string kept;
  kept.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    size_t end = i + 1;
    while (end < text.size() && text[end] == text[i]) ++end;
    kept.append(text.substr(i, end - i > kCopies ? 1 : end - i));
    i = end;
  }
  return kept;
}

// Where text, from some place on, stops repeating itself with each period. Places are asked for in rising
// order, so that every answer is found in one walk over the text.
class Periods {
 public:
  explicit Periods(std::u32string_view text) : text_(text) {}

  // The first j >= at for which text[j] and text[j + period] differ, or do not both exist.
  size_t end(size_t period, size_t at) {
    size_t& j = ends_[period];
    j = std::max(j, at);
    while (j + period < text_.size() && text_[j] == text_[j + period]) ++j;
    return j;
  }

 private:
  std::u32string_view text_;
  std::array<size_t, kLongestPattern + 1> ends_{};  // by period
};

// From left to right, the shortest pattern of which kCopies or more stand in a row once only. Nothing changes
// where fewer than kShortestText code points are left.
std::u32string drop_patterns(std::u32string_view text) {
  std::u32string kept;
  kept.reserve(text.size());
  Periods periods(text);
  size_t i = 0;
  while (text.size() - i >= kShortestText) {
    size_t length = 1;  // of what is kept here
    size_t dropped_to = i + 1;
    for (size_t period = 1; period <= kLongestPattern; ++period) {
      const size_t n_copies = (periods.end(period, i) - i) / period + 1;
      if (n_copies < kCopies) continue;
      length = period;
      dropped_to = i + n_copies * period;
      break;
    }
    kept.append(text.substr(i, length));
    i = dropped_to;
  }
  kept.append(text.substr(i));
  return kept;
}

std::u32string code_points(std::string_view text) {
  std::u32string points;
  points.reserve(text.size());
  for (size_t at = 0; at < text.size();) points.push_back(next_code_point(text, at));
  return points;
}

bool equal_without_case(std::string_view text, std::string_view lower) {
  return std::equal(text.begin(), text.end(), lower.begin(), lower.end(),
                    [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + 32 : a) == b; });
}

bool contains_without_case(std::string_view text, std::string_view lower) {
  for (size_t at = 0; at + lower.size() <= text.size(); ++at) {
    if (equal_without_case(text.substr(at, lower.size()), lower)) return true;
  }
  return false;
}

// The name behind the first line that begins with "language ", as the model should have spelled it.
std::string language_of(std::string_view header) {
  while (!header.empty()) {
    size_t end = 0, next = 0;
    while (next < header.size()) {
      end = next;
      if (is_line_break(next_code_point(header, next))) break;
      end = next;
    }
    const std::string_view line = strip(header.substr(0, end));
    if (equal_without_case(line.substr(0, kLanguagePrefix.size()), kLanguagePrefix)) {
      return normalise_language(line.substr(kLanguagePrefix.size()));
    }
    header.remove_prefix(next);
  }
  return {};
}

std::string_view strip_ascii(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\n\v\f\r";
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

}  // namespace

std::string drop_repetitions(std::string_view text) {
  const std::u32string points = drop_patterns(drop_runs(code_points(text)));
  std::string kept;
  kept.reserve(text.size());
  for (const char32_t c : points) append_utf8(kept, c);
  return kept;
}

Transcript parse_transcript(std::string_view raw, std::string_view forced_language) {
  const std::string valid = sanitise_utf8(raw);
  const std::string output = drop_repetitions(strip(valid));
  if (output.empty()) return {};
  if (!forced_language.empty()) return {std::string(forced_language), output};

  const size_t tag = output.find(kAsrTextTag);
  if (tag == std::string::npos) return {"", output};
  const std::string_view header = std::string_view(output).substr(0, tag);
  const std::string_view text = strip(std::string_view(output).substr(tag + kAsrTextTag.size()));
  const bool has_language = !contains_without_case(header, kNoLanguage);
  return {has_language ? language_of(header) : std::string(), std::string(text)};
}

Transcript merge_transcripts(std::span<const Transcript> pieces) {
  Transcript merged;
  std::vector<std::string> languages;
  languages.reserve(pieces.size());
  for (const Transcript& piece : pieces) {
    languages.push_back(piece.language);
    merged.text += piece.text;
  }
  merged.language = merge_languages(languages);
  return merged;
}

bool is_degenerate_tail(std::span<const int32_t> tokens) {
  constexpr size_t kLongestCircle = 6, kTimes = 4;
  for (size_t period = 1; period <= kLongestCircle && period * kTimes <= tokens.size(); ++period) {
    const auto tail = tokens.last(period * kTimes);
    if (std::equal(tail.begin(), tail.end() - static_cast<ptrdiff_t>(period),
                   tail.begin() + static_cast<ptrdiff_t>(period))) {
      return true;
    }
  }
  return false;
}

std::string clean_special_tokens(std::string_view text) {
  if (const size_t tag = text.find(kAsrTextTag); tag != std::string_view::npos) {
    text.remove_prefix(tag + kAsrTextTag.size());
  }
  for (const std::string_view special : kSpecialTokens) text = text.substr(0, text.find(special));
  text = strip_ascii(text);
  const bool may_become_special =
      std::any_of(std::begin(kSpecialTokens), std::end(kSpecialTokens),
                  [&](std::string_view special) { return special.starts_with(text); });
  return may_become_special ? std::string() : std::string(text);
}

}  // namespace parlance
