#include "tts/text/chunking.h"

#include <algorithm>
#include <utility>

#include "text/unicode.h"

namespace parlance {

namespace {

constexpr std::u32string_view kSentenceEnds = U".,;:!?\u3002\uFF0C\uFF1B\uFF1A\uFF01\uFF1F";

// What may follow a sentence's end and still belong to it.
constexpr std::u32string_view kClosingMarks = U"\"']>\u201C\u201D\u2018\u2019\uFF09\u300B\u300D\u3011";

// "e.g." and "i.e." are not here: they were cut at their first stop before the second could be looked at.
constexpr std::string_view kAbbreviations[] = {
    "Mr.",  "Mrs.",  "Ms.",  "Dr.",  "Prof.",   "Sr.",   "Jr.",  "Rev.", "Fr.",   "Hon.", "Pres.",
    "Gov.", "Capt.", "Gen.", "Sen.", "Rep.",    "Col.",  "Maj.", "Lt.",  "Cmdr.", "Sgt.", "Cpl.",
    "Co.",  "Corp.", "Inc.", "Ltd.", "Est.",    "Dept.", "St.",  "Ave.", "Blvd.", "Rd.",  "Mt.",
    "Ft.",  "No.",   "Jan.", "Feb.", "Mar.",    "Apr.",  "Aug.", "Sep.", "Sept.", "Oct.", "Nov.",
    "Dec.", "vs.",   "Vs.",  "Etc.", "approx.", "fig.",  "def.",
};

}  // namespace

size_t chunk_length(double seconds, double frames_per_second, int32_t n_frames, size_t n_text) {
  const double frames_per_code_point = static_cast<double>(n_frames) / static_cast<double>(n_text);
  const double length = seconds * frames_per_second / frames_per_code_point;
  return length >= 1 ? static_cast<size_t>(std::min(length, 1e9)) : 1;
}

bool ends_with_abbreviation(std::string_view text) {
  return std::ranges::any_of(kAbbreviations, [&](std::string_view abbreviation) {
    if (!text.ends_with(abbreviation)) return false;
    const char32_t before = last_code_point(text.substr(0, text.size() - abbreviation.size()));
    return before == 0 || is_white_space(before);
  });
}

void SentenceGroups::Group::append(const Group& other) {
  text += other.text;
  n += other.n;
  is_blank = is_blank && other.is_blank;
}

bool SentenceGroups::add(char32_t c, std::string_view bytes, Group& closed) {
  if (has_ended_ && !contains(kSentenceEnds, c) && !contains(kClosingMarks, c)) {
    group_.append(std::exchange(sentence_, {}));
    has_ended_ = false;
  }
  sentence_.text += bytes;
  ++sentence_.n;
  if (!is_white_space(c)) sentence_.is_blank = false;
  if (contains(kSentenceEnds, c) && !(c == '.' && ends_with_abbreviation(sentence_.text))) has_ended_ = true;
  if (group_.n == 0 || group_.n + sentence_.n <= length_) return false;
  closed = std::exchange(group_, {});
  return true;
}

SentenceGroups::Group SentenceGroups::finish() {
  group_.append(std::exchange(sentence_, {}));
  has_ended_ = false;
  return std::exchange(group_, {});
}

std::vector<std::string> split_chunks(std::string_view text, size_t length, size_t shortest) {
  std::vector<SentenceGroups::Group> chunks;
  ShortChunks short_chunks(shortest);
  const auto take = [&](SentenceGroups::Group group) {
    if (short_chunks.joins(group.n)) {
      chunks.back().append(group);
    } else {
      chunks.push_back(std::move(group));
    }
  };

  SentenceGroups groups(length);
  SentenceGroups::Group group;
  for (size_t at = 0; at < text.size();) {
    const size_t start = at;
    const char32_t c = next_code_point(text, at);
    if (groups.add(c, text.substr(start, at - start), group)) take(std::move(group));
  }
  take(groups.finish());

  std::vector<std::string> stripped;
  for (const SentenceGroups::Group& chunk : chunks) {
    if (!chunk.is_blank) stripped.emplace_back(strip_white_space(chunk.text));
  }
  return stripped;
}

std::vector<std::string> ChunkSplitter::push(std::string_view bytes) {
  std::vector<std::string> chunks;
  take_text(decoder_.push(bytes), chunks);
  if (!groups_.is_blank() && complete_.n > 0) take_chunk(std::exchange(complete_, {}), chunks);
  return chunks;
}

std::vector<std::string> ChunkSplitter::finish() {
  std::vector<std::string> chunks;
  take_text(decoder_.finish(), chunks);
  take_group(groups_.finish(), chunks);
  if (complete_.n > 0) take_chunk(std::exchange(complete_, {}), chunks);
  if (held_.n > 0) chunks.push_back(std::exchange(held_, {}).text);
  return chunks;
}

void ChunkSplitter::take_text(std::string_view text, std::vector<std::string>& chunks) {
  SentenceGroups::Group group;
  for (size_t at = 0; at < text.size();) {
    const size_t start = at;
    const char32_t c = next_code_point(text, at);
    if (groups_.add(c, text.substr(start, at - start), group)) take_group(group, chunks);
  }
}

void ChunkSplitter::take_group(const SentenceGroups::Group& group, std::vector<std::string>& chunks) {
  if (group.is_blank) return;
  if (complete_.n > 0) take_chunk(std::exchange(complete_, {}), chunks);
  complete_.text = strip_white_space(group.text);
  complete_.n = count_code_points(complete_.text);
}

void ChunkSplitter::take_chunk(Chunk chunk, std::vector<std::string>& chunks) {
  if (short_chunks_.joins(chunk.n)) {
    held_.text += chunk.text;
    held_.n += chunk.n;
    return;
  }
  if (held_.n > 0) chunks.push_back(std::move(held_.text));
  held_ = std::move(chunk);
}

}  // namespace parlance
