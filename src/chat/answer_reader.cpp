#include "chat/answer_reader.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "json/json.h"

namespace parlance {

namespace {

constexpr std::string_view kThink = "<think>", kThinkEnd = "</think>";
constexpr std::string_view kCall = "<tool_call>", kCallEnd = "</tool_call>", kPythonTag = "<|python_tag|>";
constexpr std::string_view kBlank = " \t\r\n";
constexpr size_t kMostHeadBytes = size_t{256} << 10;  // of a call, before it is known to be one

// How many of the last bytes may be the beginning of a marker.
size_t n_begun(std::string_view text, std::string_view marker) {
  for (size_t n = std::min(text.size(), marker.size() - 1); n > 0; --n) {
    if (text.substr(text.size() - n) == marker.substr(0, n)) return n;
  }
  return 0;
}

size_t skip_blank(std::string_view text, size_t at) {
  return std::min(text.find_first_not_of(kBlank, at), text.size());
}

// A value of a call in XML: what its tool takes for a text as it is, else as JSON, if it is some.
Json xml_value(std::string_view text, bool is_text) {
  if (!is_text) {
    if (auto json = Json::parse(text)) return *std::move(json);
  }
  return text;
}

struct XmlCall {
  enum { more, none, whole } state = more;
  std::string name, arguments;
  size_t end = 0;
};

// <function=f> <parameter=p>\nvalue\n</parameter> … </function> </tool_call>
XmlCall read_xml_call(std::string_view text, const std::map<std::string, std::vector<std::string>>& tools) {
  size_t at = 0;
  // Whether `wanted` stands here, behind white space; none where the text ends before that is clear.
  const auto take = [&](std::string_view wanted) -> std::optional<bool> {
    const size_t begin = skip_blank(text, at);
    const std::string_view here = text.substr(begin, wanted.size());
    if (here == wanted) {
      at = begin + wanted.size();
      return true;
    }
    if (wanted.starts_with(here)) return std::nullopt;
    return false;
  };
  const auto name_until = [&](char end) -> std::optional<std::string> {
    const size_t close = text.find(end, at);
    if (close == std::string_view::npos) return std::nullopt;
    std::string name(text.substr(at, close - at));
    at = close + 1;
    return name;
  };
  XmlCall call;
  const auto stop = [&](std::optional<bool> taken) {
    call.state = taken ? XmlCall::none : XmlCall::more;
    return call;
  };
  if (const auto taken = take("<function="); taken != true) return stop(taken);
  const auto name = name_until('>');
  if (!name) return call;
  const auto tool = tools.find(*name);
  if (tool == tools.end()) return stop(false);
  Json arguments = Json::object();
  for (;;) {
    const auto parameter = take("<parameter=");
    if (parameter == true) {
      const auto key = name_until('>');
      if (!key) return call;
      if (at >= text.size()) return call;
      if (text[at] != '\n') return stop(false);
      const size_t end = text.find("\n</parameter>", at);
      if (end == std::string_view::npos) return call;
      const std::string_view value = end == at ? std::string_view() : text.substr(at + 1, end - at - 1);
      const bool is_text = std::find(tool->second.begin(), tool->second.end(), *key) != tool->second.end();
      arguments.set(*key, xml_value(value, is_text));
      at = end + std::string_view("\n</parameter>").size();
      continue;
    }
    const auto end = take("</function>");
    if (end == true) break;
    if (!parameter || !end) return call;
    return stop(false);
  }
  if (const auto taken = take(kCallEnd); taken != true) return stop(taken);
  call.state = XmlCall::whole;
  call.name = *name;
  call.arguments = arguments.line();
  call.end = at;
  return call;
}

}  // namespace

AnswerReader::AnswerReader(AnswerReaderOptions options)
    : options_(std::move(options)),
      state_(options_.begins_in_thoughts ? State::thoughts : State::before_thoughts) {}

AnswerReader::State AnswerReader::first_state_of_words() const {
  if (options_.tools.empty() || options_.family == ToolFamily::none) return State::only_words;
  return options_.family == ToolFamily::llama_json ? State::before_call : State::words;
}

std::vector<ReadPiece> AnswerReader::push(std::string_view text) {
  pending_ += text;
  while (step(/*is_last=*/false)) {
  }
  return std::exchange(pieces_, {});
}

std::vector<ReadPiece> AnswerReader::finish() {
  while (step(/*is_last=*/true)) {
  }
  return std::exchange(pieces_, {});
}

void AnswerReader::say(ReadPiece::Kind kind, std::string_view text) {
  if (text.empty() && kind != ReadPiece::Kind::call) return;
  const bool goes_on = !pieces_.empty() && pieces_.back().kind == kind && kind != ReadPiece::Kind::call;
  if (goes_on) {
    pieces_.back().text += text;
  } else {
    pieces_.push_back({kind, std::string(text)});
  }
}

// White space behind a call is said only where words follow.
void AnswerReader::say_words(std::string_view text) {
  if (had_call_ && !has_words_behind_) {
    held_words_ += text;
    if (held_words_.find_first_not_of(kBlank) == std::string::npos) return;
    has_words_behind_ = true;
    say(ReadPiece::Kind::words, std::exchange(held_words_, {}));
    return;
  }
  say(ReadPiece::Kind::words, text);
}

// Whether more may be read at once.
bool AnswerReader::step(bool is_last) {
  switch (state_) {
    case State::before_thoughts:
      return read_before_thoughts(is_last);
    case State::thoughts:
      return read_thoughts(is_last);
    case State::behind_thoughts:
      return read_behind_thoughts(is_last);
    case State::before_call:
      return read_before_call(is_last);
    case State::words:
      return read_words(is_last);
    case State::call_head:
      return options_.family == ToolFamily::qwen_xml ? read_call_of_xml(is_last) : read_call_head(is_last);
    case State::arguments:
      return read_arguments();
    case State::behind_arguments:
      return read_behind_arguments(is_last);
    case State::only_words:
      say_words(std::exchange(pending_, {}));
      return false;
    case State::nothing:
      pending_.clear();
      return false;
  }
  return false;
}

bool AnswerReader::read_before_thoughts(bool is_last) {
  const size_t begin = skip_blank(pending_, 0);
  const std::string_view here = std::string_view(pending_).substr(begin, kThink.size());
  if (here == kThink) {
    drop(begin + kThink.size());
    state_ = State::thoughts;
    return true;
  }
  if (kThink.starts_with(here) && !is_last) return false;
  state_ = first_state_of_words();
  return true;
}

bool AnswerReader::read_thoughts(bool is_last) {
  const size_t end = pending_.find(kThinkEnd);
  const size_t n =
      end != std::string::npos ? end : pending_.size() - (is_last ? 0 : n_begun(pending_, kThinkEnd));
  std::string_view text = std::string_view(pending_).substr(0, n);
  if (!had_thoughts_) text.remove_prefix(std::min(text.find_first_not_of('\n'), text.size()));
  if (!text.empty()) {
    had_thoughts_ = true;
    // Line breaks at the end are none of it.
    const size_t last = text.find_last_not_of('\n');
    if (last == std::string_view::npos) {
      held_thoughts_ += text;
    } else {
      say(ReadPiece::Kind::thoughts,
          std::exchange(held_thoughts_, {}) + std::string(text.substr(0, last + 1)));
      held_thoughts_ = std::string(text.substr(last + 1));
    }
  }
  drop(n);
  if (end == std::string::npos) return false;
  drop(kThinkEnd.size());
  state_ = State::behind_thoughts;
  return true;
}

bool AnswerReader::read_behind_thoughts(bool is_last) {
  constexpr std::string_view kPair = "\n\n";
  if (pending_.size() < kPair.size() && kPair.starts_with(pending_) && !is_last) return false;
  if (pending_.starts_with(kPair)) drop(kPair.size());
  state_ = first_state_of_words();
  return true;
}

bool AnswerReader::read_before_call(bool is_last) {
  size_t at = skip_blank(pending_, 0);
  const std::string_view here = std::string_view(pending_).substr(at, kPythonTag.size());
  if (here.size() < kPythonTag.size() && kPythonTag.starts_with(here) && !is_last) return false;
  if (here == kPythonTag) at = skip_blank(pending_, at + kPythonTag.size());
  if (at >= pending_.size() && !is_last) return false;
  n_before_marker_ = at;
  state_ = at < pending_.size() && pending_[at] == '{' ? State::call_head : State::only_words;
  return true;
}

bool AnswerReader::read_words(bool is_last) {
  const size_t marker = pending_.find(kCall);
  if (marker != std::string::npos) {
    const size_t last = std::string_view(pending_).substr(0, marker).find_last_not_of(kBlank);
    const size_t n_words = last == std::string::npos ? 0 : last + 1;
    say_words(std::string_view(pending_).substr(0, n_words));
    drop(n_words);
    n_before_marker_ = marker - n_words + kCall.size();
    state_ = State::call_head;
    return true;
  }
  size_t n = pending_.size();
  if (!is_last) {
    n -= n_begun(pending_, kCall);
    // White space may stand before a marker, which then drops it.
    const size_t last = std::string_view(pending_).substr(0, n).find_last_not_of(kBlank);
    n = last == std::string::npos ? 0 : last + 1;
  }
  say_words(std::string_view(pending_).substr(0, n));
  drop(n);
  return false;
}

bool AnswerReader::no_call() {
  state_ = State::only_words;
  return true;
}

// Looks for the name and the arguments in the beginning of an object.
AnswerReader::Head AnswerReader::find_head(std::string_view text) const {
  Head head;
  size_t at = skip_blank(text, 0);
  if (at >= text.size()) return head;
  const Head none{.state = Head::none, .name = {}};
  if (text[at++] != '{') return none;
  std::optional<size_t> arguments;
  // Of a value or a key that begins here: where it ends; none where the text ends before.
  const auto end_of = [&](size_t begin, bool& is_bad) -> std::optional<size_t> {
    JsonBytes json;
    for (size_t i = begin; i < text.size(); ++i) {
      if (!json.push(text[i])) {
        is_bad = i == begin || !(text[i] == ',' || text[i] == '}' || kBlank.find(text[i]) != kBlank.npos);
        return i;  // a number has ended, or it is wrong
      }
      if (json.is_done()) return i + 1;
    }
    return std::nullopt;
  };
  for (bool is_first = true;; is_first = false) {
    at = skip_blank(text, at);
    if (at >= text.size()) return head;
    if (!is_first) {
      if (text[at] != ',') return none;
      at = skip_blank(text, at + 1);
      if (at >= text.size()) return head;
    }
    bool is_bad = false;
    if (text[at] != '"') return none;
    const auto key_end = end_of(at, is_bad);
    if (is_bad) return none;
    if (!key_end) return head;
    const std::string key =
        Json::parse(text.substr(at, *key_end - at)).value_or(Json("")).text().value_or("");
    at = skip_blank(text, *key_end);
    if (at >= text.size()) return head;
    if (text[at] != ':') return none;
    at = skip_blank(text, at + 1);
    if (at >= text.size()) return head;
    const bool is_arguments = key == "arguments" || key == "parameters";
    if (is_arguments) {
      if (text[at] != '{' || arguments) return none;
      arguments = at;
    }
    if (is_arguments && !head.name.empty()) break;
    const auto end = end_of(at, is_bad);
    if (is_bad) return none;
    if (!end) return head;
    if (key == "name") {
      if (text[at] != '"' || !head.name.empty()) return none;
      head.name = Json::parse(text.substr(at, *end - at)).value_or(Json("")).text().value_or("");
      if (!options_.tools.contains(head.name)) return none;
      if (arguments) break;
    }
    at = *end;
  }
  head.state = Head::begun;
  head.arguments = *arguments;
  return head;
}

bool AnswerReader::read_call_head(bool is_last) {
  const Head head = find_head(std::string_view(pending_).substr(n_before_marker_));
  if (head.state == Head::none || pending_.size() > kMostHeadBytes) return no_call();
  if (head.state == Head::more) return is_last && no_call();
  had_call_ = true;
  has_words_behind_ = false;
  held_words_.clear();
  say(ReadPiece::Kind::call, head.name);
  drop(n_before_marker_ + head.arguments);
  json_ = {};
  state_ = State::arguments;
  return true;
}

bool AnswerReader::read_call_of_xml(bool is_last) {
  const XmlCall call = read_xml_call(std::string_view(pending_).substr(n_before_marker_), options_.tools);
  if (call.state == XmlCall::none || pending_.size() > kMostHeadBytes) return no_call();
  if (call.state == XmlCall::more) return is_last && no_call();
  had_call_ = true;
  has_words_behind_ = false;
  held_words_.clear();
  say(ReadPiece::Kind::call, call.name);
  say(ReadPiece::Kind::arguments, call.arguments);
  drop(n_before_marker_ + call.end);
  state_ = State::words;
  return true;
}

bool AnswerReader::read_arguments() {
  size_t n = 0;
  bool is_over = false;
  while (n < pending_.size() && !is_over) {
    if (json_.push(pending_[n])) {
      ++n;
      is_over = json_.is_done();
    } else {
      is_over = true;
    }
  }
  say(ReadPiece::Kind::arguments, std::string_view(pending_).substr(0, n));
  drop(n);
  if (!is_over) return false;
  state_ = options_.family == ToolFamily::llama_json ? State::nothing : State::behind_arguments;
  return true;
}

bool AnswerReader::read_behind_arguments(bool is_last) {
  const size_t end = pending_.find(kCallEnd);
  if (end == std::string::npos) {
    drop(pending_.size() - (is_last ? 0 : n_begun(pending_, kCallEnd)));
    return false;
  }
  drop(end + kCallEnd.size());
  state_ = State::words;
  return true;
}

}  // namespace parlance
