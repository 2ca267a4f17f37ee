#include "jinja/text_search.h"

#include "text/unicode.h"

namespace parlance::jinja {

namespace {

// The table of Knuth, Morris and Pratt: for each prefix the length of its longest proper border.
template <class Iterator>
std::vector<uint32_t> borders_of(Iterator needle, size_t size) {
  std::vector<uint32_t> borders(size, 0);
  for (size_t i = 1, length = 0; i < size; ++i) {
    while (length > 0 && needle[i] != needle[length]) length = borders[length - 1];
    if (needle[i] == needle[length]) ++length;
    borders[i] = static_cast<uint32_t>(length);
  }
  return borders;
}

// How many elements of text are read when the first occurrence of needle has been; size + 1 when there is
// none.
template <class Iterator>
size_t end_of_match(Iterator text, size_t size, Iterator needle, const std::vector<uint32_t>& borders) {
  size_t matched = 0;
  for (size_t i = 0; i < size; ++i) {
    while (matched > 0 && text[i] != needle[matched]) matched = borders[matched - 1];
    if (text[i] == needle[matched]) ++matched;
    if (matched == borders.size()) return i + 1;
  }
  return size + 1;
}

constexpr size_t kShortNeedle = 32;

}  // namespace

Finder::Finder(Budget& budget, std::string_view needle, Direction direction)
    : budget_(budget),
      needle_(needle),
      charge_(needle.size() > kShortNeedle ? &budget : nullptr, needle.size() * sizeof(uint32_t)) {
  if (needle.size() <= kShortNeedle) return;
  borders_ = direction == Direction::forward ? borders_of(needle.begin(), needle.size())
                                             : borders_of(needle.rbegin(), needle.size());
}

size_t Finder::find(std::string_view text, size_t from) const {
  if (needle_.size() > text.size() - from) return std::string_view::npos;
  if (borders_.empty()) {
    const size_t found = text.find(needle_, from);
    budget_.spend_on_bytes((found == std::string_view::npos ? text.size() : found) - from);
    return found;
  }
  const size_t size = text.size() - from;
  const size_t end =
      end_of_match(text.begin() + static_cast<ptrdiff_t>(from), size, needle_.begin(), borders_);
  budget_.spend_on_bytes(end);
  return end > size ? std::string_view::npos : from + end - needle_.size();
}

size_t Finder::rfind(std::string_view text, size_t end) const {
  if (needle_.size() > end) return std::string_view::npos;
  if (borders_.empty()) {
    const size_t found = text.rfind(needle_, end - needle_.size());
    budget_.spend_on_bytes(end - (found == std::string_view::npos ? 0 : found));
    return found;
  }
  const std::string_view searched = text.substr(0, end);
  const size_t read = end_of_match(searched.rbegin(), searched.size(), needle_.rbegin(), borders_);
  budget_.spend_on_bytes(read);
  return read > searched.size() ? std::string_view::npos : end - read;
}

void write_replaced(Writer& writer, std::string_view text, std::string_view old_text,
                    std::string_view new_text, int64_t limit) {
  uint64_t left = limit < 0 ? UINT64_MAX : static_cast<uint64_t>(limit);
  size_t at = 0;
  if (old_text.empty()) {
    while (left > 0 && !writer.failed()) {
      writer.budget().spend(1);
      writer.append(new_text);
      if (at == text.size()) break;
      const size_t begin = at;
      next_code_point(text, at);
      writer.append(text.substr(begin, at - begin));
      --left;
    }
  } else {
    const Finder finder(writer.budget(), old_text);
    for (; left > 0 && !writer.failed(); --left) {
      const size_t found = finder.find(text, at);
      if (found == std::string_view::npos) break;
      writer.budget().spend(1);
      writer.append(text.substr(at, found - at));
      writer.append(new_text);
      at = found + old_text.size();
    }
  }
  writer.append(text.substr(at));
}

Line next_line(std::string_view text, size_t& at) {
  const size_t begin = at;
  while (at < text.size()) {
    const size_t end = at;
    const char32_t c = next_code_point(text, at);
    if (!is_line_break(c)) continue;
    if (c == U'\r' && at < text.size() && text[at] == '\n') ++at;
    return {text.substr(begin, end - begin), text.substr(end, at - end)};
  }
  return {text.substr(begin), {}};
}

}  // namespace parlance::jinja
