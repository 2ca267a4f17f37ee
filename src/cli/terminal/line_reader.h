// Lines that a person types.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace parlance {

class LineReader {
 public:
  enum class Status {
    line,         // `text` is what was typed, without the newline
    interrupted,  // Ctrl-C
    end,          // Ctrl-D on an empty line, or the end of the input
  };
  struct Line {
    Status status = Status::end;
    std::string text;
  };

  virtual ~LineReader() = default;
  virtual Line read(std::string_view prompt) = 0;
  // Lets the person find the text again with the arrow keys.
  virtual void remember(const std::string& text) = 0;
};

struct TerminalReaderOptions {
  std::filesystem::path history_file;  // empty: what is typed is not kept
  std::vector<std::string> words;      // that the tab key completes
  bool has_colour = false;             // of the prompt
};

// The terminal, with editing and history. Only one at a time.
std::unique_ptr<LineReader> make_terminal_reader(TerminalReaderOptions options);

// parlance/history in the user's folder for such things (XDG_STATE_HOME, else ~/.local/state); empty when
// there is no such folder.
std::filesystem::path default_history_file();

}  // namespace parlance
