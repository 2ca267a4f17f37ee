#include "cli/terminal/live_line.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "text/unicode.h"

namespace parlance {

namespace {

struct Letter {
  size_t n_bytes;
  int n_columns;
};

// Bytes that are no UTF-8 take a column each.
std::vector<Letter> letters_of(std::string_view text) {
  std::vector<Letter> letters;
  for (size_t at = 0; at < text.size();) {
    const Utf8Sequence sequence = first_utf8_sequence(text.substr(at));
    size_t end = at;
    letters.push_back(sequence.ending == Utf8Ending::complete
                          ? Letter{sequence.n_bytes, n_columns(next_code_point(text, end))}
                          : Letter{1, 1});
    at += letters.back().n_bytes;
  }
  return letters;
}

}  // namespace

LiveText end_of(const LiveText& text, int columns) {
  constexpr std::string_view kMore = "…";
  const std::string stable = printable(text.stable), provisional = printable(text.provisional);
  const std::string all = stable + provisional;
  const std::vector<Letter> letters = letters_of(all);
  size_t n_cut = all.size();
  int width = 0;
  size_t n_kept = 0;  // letters, from the end
  for (; n_kept < letters.size(); ++n_kept) {
    const Letter& letter = letters[letters.size() - 1 - n_kept];
    if (width + letter.n_columns > columns) break;
    width += letter.n_columns;
    n_cut -= letter.n_bytes;
  }
  if (n_kept == letters.size()) return {stable, provisional};
  // The mark takes a column too.
  for (; n_kept > 0 && width >= columns; --n_kept) {
    const Letter& letter = letters[letters.size() - n_kept];
    width -= letter.n_columns;
    n_cut += letter.n_bytes;
  }
  const size_t n_stable = std::min(n_cut, stable.size());
  LiveText end{stable.substr(n_stable), provisional.substr(n_cut - n_stable)};
  (end.stable.empty() ? end.provisional : end.stable).insert(0, kMore);
  return end;
}

void LiveLine::show(const LiveText& text) {
  if (!io_.out_is_terminal) return;
  const LiveText end = end_of(text, io_.width - 1);  // the last column would begin another line
  io_.print("\r\x1b[K{}{}", end.stable, io_.styled(Style::dim, end.provisional));
  io_.flush();
  is_shown_ = true;
}

void LiveLine::clear() {
  if (!std::exchange(is_shown_, false)) return;
  io_.write("\r\x1b[K");
  io_.flush();
}

}  // namespace parlance
