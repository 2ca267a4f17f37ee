// The one file that includes libedit.
#include "cli/terminal/line_reader.h"

#include <histedit.h>
#include <langinfo.h>

#include <array>
#include <atomic>
#include <clocale>
#include <cstdio>
#include <utility>

#include "base/os/environment.h"
#include "base/os/file.h"
#include "base/os/signals.h"

namespace parlance {

namespace fs = std::filesystem;

namespace {

constexpr int kHistoryLines = 1000;

std::atomic<bool> interrupted{false};

constexpr std::array kAtPrompt = {Signal::interrupt};

// libedit counts columns by the locale; text here is UTF-8 whatever the environment says.
void use_utf8() {
  std::setlocale(LC_CTYPE, "");
  if (std::string_view(::nl_langinfo(CODESET)) != "UTF-8") std::setlocale(LC_CTYPE, "C.UTF-8");
}

class TerminalReader final : public LineReader {
 public:
  explicit TerminalReader(TerminalReaderOptions options) : options_(std::move(options)) {
    use_utf8();
    edit_ = ::el_init("parlance", stdin, stdout, stderr);
    history_ = ::history_init();
    if (!edit_ || !history_) return;
    HistEvent event;
    ::history(history_, &event, H_SETSIZE, kHistoryLines);
    ::history(history_, &event, H_SETUNIQUE, 1);
    if (!options_.history_file.empty()) ::history(history_, &event, H_LOAD, options_.history_file.c_str());
    ::el_set(edit_, EL_CLIENTDATA, this);
    ::el_set(edit_, EL_PROMPT_ESC, prompt_of, '\1');
    ::el_set(edit_, EL_EDITOR, "emacs");
    ::el_set(edit_, EL_HIST, ::history, history_);
    ::el_set(edit_, EL_ADDFN, "parlance-complete", "Complete a command", complete);
    ::el_set(edit_, EL_BIND, "^I", "parlance-complete", nullptr);
    ::el_set(edit_, EL_BIND, "^R", "em-inc-search-prev", nullptr);
    ::el_source(edit_, nullptr);
  }

  ~TerminalReader() override {
    if (history_) ::history_end(history_);
    if (edit_) ::el_end(edit_);
  }

  Line read(std::string_view prompt) override {
    if (!edit_) return {};
    // Between marks stands what takes no column.
    prompt_ =
        options_.has_colour ? "\1\x1b[1;32m\1" + std::string(prompt) + "\1\x1b[0m\1" : std::string(prompt);
    ::el_resize(edit_);  // the window may have changed since the last line
    interrupted = false;
    const SignalHandler guard(
        kAtPrompt, [] { interrupted = true; }, SignalHandler::SystemCalls::end);
    int count = 0;
    const char* text = ::el_gets(edit_, &count);
    if (interrupted) {
      ::el_reset(edit_);
      std::fputs("\n", stdout);
      std::fflush(stdout);
      return {Status::interrupted, {}};
    }
    if (!text || count <= 0) {
      std::fputs("\n", stdout);
      std::fflush(stdout);
      return {};
    }
    std::string line = text;
    while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.pop_back();
    return {Status::line, std::move(line)};
  }

  void remember(const std::string& text) override {
    if (!history_) return;
    HistEvent event;
    ::history(history_, &event, H_ENTER, text.c_str());
    save();  // now: a terminal that is closed ends the program
  }

 private:
  static char* prompt_of(EditLine* edit) {
    TerminalReader* self = nullptr;
    ::el_get(edit, EL_CLIENTDATA, &self);
    return self->prompt_.data();
  }

  // Completes the word before the cursor when exactly one of the known words begins with it.
  static unsigned char complete(EditLine* edit, int) {
    TerminalReader* self = nullptr;
    ::el_get(edit, EL_CLIENTDATA, &self);
    const LineInfo* info = ::el_line(edit);
    const std::string_view typed(info->buffer, static_cast<size_t>(info->cursor - info->buffer));
    const std::string* match = nullptr;
    for (const std::string& word : self->options_.words) {
      if (!word.starts_with(typed)) continue;
      if (match) return CC_ERROR;
      match = &word;
    }
    if (typed.empty() || !match) return CC_ERROR;
    const std::string rest = match->substr(typed.size()) + " ";
    return ::el_insertstr(edit, rest.c_str()) == 0 ? CC_REFRESH : CC_ERROR;
  }

  void save() const {
    if (!history_ || options_.history_file.empty()) return;
    std::error_code error;
    fs::create_directories(options_.history_file.parent_path(), error);
    const PrivateFiles guard;  // what was said is nobody else's business
    HistEvent event;
    ::history(history_, &event, H_SAVE, options_.history_file.c_str());
  }

  TerminalReaderOptions options_;
  std::string prompt_;
  EditLine* edit_ = nullptr;
  History* history_ = nullptr;
};

}  // namespace

std::unique_ptr<LineReader> make_terminal_reader(TerminalReaderOptions options) {
  return std::make_unique<TerminalReader>(std::move(options));
}

fs::path default_history_file() {
  if (const fs::path state = environment("XDG_STATE_HOME").value_or(""); state.is_absolute())
    return state / "parlance" / "history";
  const fs::path home = environment("HOME").value_or("");
  return home.is_absolute() ? home / ".local" / "state" / "parlance" / "history" : fs::path();
}

}  // namespace parlance
