// Watches text that is generated piece by piece for texts that end it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace parlance {

// Where the text is cut does not depend on how it is divided into pieces: at the beginning of the stop text
// whose end comes first, and of those that end together at the earliest beginning.
class StopMatcher {
 public:
  // Empty stop texts are ignored. When they are valid UTF-8 and the pieces are whole code points, so is what
  // comes out.
  explicit StopMatcher(const std::vector<std::string>& stop_texts);

  // Text that can be shown: what has come until now, less what has been returned before and less an end that
  // may be the beginning of a stop text. After a match nothing comes any more.
  std::string push(std::string_view text);

  // What was held back, at the end of generation. Another text may begin afterwards.
  std::string finish();

  bool matched() const { return matched_ >= 0; }
  // The stop text that was found; empty when there was none.
  std::string_view match() const {
    return matched() ? stops_[static_cast<size_t>(matched_)].text : std::string_view();
  }

 private:
  // Knuth, Morris and Pratt: how much of the stop text the end of the text is.
  struct Stop {
    std::string text;
    std::vector<size_t> border;  // of the first i + 1 bytes: the longest proper prefix that is also their end
    size_t n_matched = 0;        // bytes
  };
  static void advance(Stop& stop, char c);

  std::vector<Stop> stops_;
  std::string held_;
  int matched_ = -1;  // index of the stop text
};

}  // namespace parlance
