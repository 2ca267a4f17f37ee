// What a model writes, told apart while it comes: thoughts, words, and calls of tools. Whatever comes is read
// as something; how the text is cut into pieces makes no difference.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "chat/json_bytes.h"

namespace parlance {

// How a model writes calls.
enum class ToolFamily : uint8_t {
  none,        // there are no tools: everything is words
  hermes,      // <tool_call>{"name": …, "arguments": {…}}</tool_call>
  qwen_xml,    // <tool_call><function=…><parameter=…>…
  llama_json,  // the whole message is {"name": …, "parameters": {…}}
};

struct AnswerReaderOptions {
  ToolFamily family = ToolFamily::none;
  // The tools that may be called, each with those of its parameters that are texts.
  std::map<std::string, std::vector<std::string>> tools = {};
  bool begins_in_thoughts = false;  // the prompt has opened them
};

struct ReadPiece {
  enum class Kind : uint8_t { words, thoughts, call, arguments };  // a call's name, then its arguments
  Kind kind = Kind::words;
  std::string text;
};

class AnswerReader {
 public:
  explicit AnswerReader(AnswerReaderOptions options);

  // What is certain with these bytes.
  std::vector<ReadPiece> push(std::string_view text);
  // What is left at the end.
  std::vector<ReadPiece> finish();

  // What comes next belongs to the thoughts, unless it ends them.
  bool is_in_thoughts() const { return state_ == State::thoughts; }

 private:
  enum class State : uint8_t {
    before_thoughts,
    thoughts,
    behind_thoughts,
    before_call,  // of a message that may be one
    words,
    call_head,
    arguments,
    behind_arguments,
    only_words,
    nothing,  // what follows is dropped
  };
  struct Head {
    enum { more, none, begun } state = more;
    std::string name;
    size_t arguments = 0;  // where they begin
  };

  bool step(bool is_last);
  bool read_before_thoughts(bool is_last);
  bool read_thoughts(bool is_last);
  bool read_behind_thoughts(bool is_last);
  bool read_before_call(bool is_last);
  bool read_words(bool is_last);
  bool read_call_head(bool is_last);
  bool read_call_of_xml(bool is_last);
  bool read_arguments();
  bool read_behind_arguments(bool is_last);
  bool no_call();
  Head find_head(std::string_view text) const;
  State first_state_of_words() const;
  void say(ReadPiece::Kind kind, std::string_view text);
  void say_words(std::string_view text);
  void drop(size_t n) { pending_.erase(0, n); }

  const AnswerReaderOptions options_;
  State state_;
  std::string pending_;         // not decided yet
  size_t n_before_marker_ = 0;  // of it, in call_head: white space and marker
  bool had_thoughts_ = false, had_call_ = false, has_words_behind_ = false;
  std::string held_thoughts_;  // line breaks that may be the last ones
  std::string held_words_;     // white space behind a call that may be the last
  JsonBytes json_;
  std::vector<ReadPiece> pieces_;
};

}  // namespace parlance
