// What is being heard, on one line of the terminal that is written over again and again.
#pragma once

#include <string>
#include <string_view>

#include "cli/terminal/console.h"

namespace parlance {

struct LiveText {
  std::string stable;       // words that will hardly change
  std::string provisional;  // and those that may

  bool operator==(const LiveText&) const = default;
};

// The end of the text that fits into so many columns, after "…" when there is more. Control characters are
// spaces.
LiveText end_of(const LiveText& text, int columns);

class LiveLine {
 public:
  explicit LiveLine(const Console& io) : io_(io) {}
  ~LiveLine() { clear(); }
  LiveLine(const LiveLine&) = delete;
  LiveLine& operator=(const LiveLine&) = delete;

  // Nothing where output is no terminal.
  void show(const LiveText& text);
  void clear();

 private:
  const Console& io_;
  bool is_shown_ = false;
};

}  // namespace parlance
