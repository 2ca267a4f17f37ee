#include "grammar/regex.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/ascii.h"
#include "base/parameter.h"
#include "grammar/code_points.h"
#include "grammar/rules.h"
#include "text/unicode.h"

namespace parlance {

namespace {

constexpr AutomatonState kMostRegexStates = 150'000;  // before they are made deterministic

const CodePointSet& digits() {
  static const CodePointSet kSet = {{'0', '9'}};
  return kSet;
}
const CodePointSet& word_characters() {
  static const CodePointSet kSet = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
  return kSet;
}
const CodePointSet& white_space() {
  static const CodePointSet kSet = {{'\t', '\r'}, {' ', ' '}};
  return kSet;
}
// What a full stop does not match.
const CodePointSet& line_ends() {
  static const CodePointSet kSet = {{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}};
  return kSet;
}

class RegexParser {
 public:
  RegexParser(std::string_view text, RegexMatch match, const std::string& where, CompileBudget& budget)
      : text_(text), match_(match), where_(where), budget_(budget) {}

  Result<Dfa> parse();

 private:
  enum class Kind : uint8_t { set, sequence, choice, repeat };
  struct Node {
    Kind kind;
    CodePointSet set = {};
    std::vector<uint32_t> parts = {};
    uint32_t least = 1, most = 1;
    uint64_t repeats = 1;  // product of nested repetitions
  };
  using Id = uint32_t;
  // A branch of the whole expression.
  struct Branch {
    Id body;
    bool begins_text = false, ends_text = false;
  };

  template <class... Args>
  tl::unexpected<Error> wrong(fmt::format_string<Args...> format, Args&&... args) const {
    return refuse(ErrorCode::invalid_argument, format, std::forward<Args>(args)...);
  }
  template <class... Args>
  tl::unexpected<Error> unsupported(fmt::format_string<Args...> format, Args&&... args) const {
    return refuse(ErrorCode::unsupported, format, std::forward<Args>(args)...);
  }
  template <class... Args>
  tl::unexpected<Error> refuse(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) const {
    return fail(code, "{}: character {}: {}", where_, 1 + count_code_points(text_.substr(0, at_)),
                fmt::format(format, std::forward<Args>(args)...));
  }
  bool is_at_end() const { return at_ >= text_.size(); }
  char peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  bool take(std::string_view what) {
    if (!text_.substr(at_).starts_with(what)) return false;
    at_ += what.size();
    return true;
  }

  Id add(Node node);
  Result<std::vector<Branch>> read_branches();
  Result<Id> read_sequence(size_t depth);
  Result<Id> read_group(size_t depth);
  Result<Id> read_atom(size_t depth);
  Result<Id> read_quantifiers(Id what);
  bool read_counts(uint32_t& least, uint32_t& most);
  Result<CodePointSet> read_class();
  Result<CodePointSet> read_class_item();
  Result<CodePointSet> read_escape(bool is_in_class);
  Result<char32_t> read_unicode_escape();
  std::optional<char32_t> read_hex(size_t n_digits);

  void emit(Id id, AutomatonState from, AutomatonState to);
  void emit_set(const CodePointSet& set, AutomatonState from, AutomatonState to);
  void emit_repeat(const Node& node, AutomatonState from, AutomatonState to);
  AutomatonState add_state() { return nfa_.n_states++; }
  void jump(AutomatonState from, AutomatonState to) { nfa_.jumps.push_back({from, to}); }

  std::string_view text_;
  const RegexMatch match_;
  const std::string& where_;
  CompileBudget& budget_;
  size_t at_ = 0;
  std::vector<Node> nodes_;
  Nfa nfa_;
};

RegexParser::Id RegexParser::add(Node node) {
  for (const Id part : node.parts) node.repeats = std::max(node.repeats, nodes_[part].repeats);
  nodes_.push_back(std::move(node));
  return static_cast<Id>(nodes_.size() - 1);
}

std::optional<char32_t> RegexParser::read_hex(size_t n_digits) {
  char32_t value = 0;
  for (size_t i = 0; i < n_digits; ++i) {
    const int digit = ascii::hex_value(peek(i));
    if (digit < 0) return std::nullopt;
    value = value << 4 | static_cast<char32_t>(digit);
  }
  at_ += n_digits;
  return value;
}

// Behind \u: four digits, two times four digits for a pair of surrogates, or any number in braces.
Result<char32_t> RegexParser::read_unicode_escape() {
  if (take("{")) {
    const size_t n_digits = std::min(text_.find('}', at_), text_.size()) - at_;
    const auto value = n_digits >= 1 && n_digits <= 6 ? read_hex(n_digits) : std::nullopt;
    if (!value || !take("}") || !CodePointSet::all().contains(*value))
      return wrong("\\u{{…}} holds the hexadecimal number of a character");
    return *value;
  }
  const auto first = read_hex(4);
  if (!first) return wrong("\\u is followed by four hexadecimal digits");
  if (*first < 0xD800 || *first > 0xDFFF) return *first;
  const auto second = *first < 0xDC00 && take("\\u") ? read_hex(4) : std::nullopt;
  if (!second || *second < 0xDC00 || *second > 0xDFFF)
    return wrong("half of a pair of surrogates is no character");
  return 0x10000 + ((*first - 0xD800) << 10) + (*second - 0xDC00);
}

// Behind the backslash.
Result<CodePointSet> RegexParser::read_escape(bool is_in_class) {
  if (is_at_end()) return wrong("a backslash at the end escapes nothing; write two of them");
  const auto one = [](char32_t c) { return CodePointSet{{c, c}}; };
  const char c = peek();
  if (static_cast<uint8_t>(c) >= 0x80) return one(next_code_point(text_, at_));
  ++at_;
  switch (c) {
    case 'd':
      return digits();
    case 'D':
      return digits().complement();
    case 'w':
      return word_characters();
    case 'W':
      return word_characters().complement();
    case 's':
      return white_space();
    case 'S':
      return white_space().complement();
    case 't':
      return one('\t');
    case 'n':
      return one('\n');
    case 'v':
      return one('\v');
    case 'f':
      return one('\f');
    case 'r':
      return one('\r');
    case 'x': {
      const auto value = read_hex(2);
      if (!value) return wrong("\\x is followed by two hexadecimal digits");
      return one(*value);
    }
    case 'u': {
      PARLANCE_TRY(const char32_t value, read_unicode_escape());
      return one(value);
    }
    case 'c':
      if (!ascii::is_letter(peek())) return wrong("\\c is followed by a letter");
      return one(static_cast<char32_t>(text_[at_++] & 31));
    default:
      break;
  }
  if (c == '0' && !ascii::is_digit(peek())) return one(0);
  if (c == 'b' && is_in_class) return one('\b');
  if (ascii::is_digit(c) || c == 'k')
    return unsupported("references back (\\{}) cannot be checked; repeat the part", c);
  if (c == 'b' || c == 'B')
    return unsupported("word boundaries (\\{}) are not supported; name the characters", c);
  if (c == 'p' || c == 'P')
    return unsupported("Unicode properties (\\{}) are not supported; write a class of ranges", c);
  if (ascii::is_letter(c)) return wrong("\\{} means nothing; write {} for the letter itself", c, c);
  return one(static_cast<char32_t>(c));
}

Result<CodePointSet> RegexParser::read_class_item() {
  if (take("\\")) return read_escape(/*is_in_class=*/true);
  const char32_t c = next_code_point(text_, at_);
  return CodePointSet{{c, c}};
}

// Behind the opening bracket.
Result<CodePointSet> RegexParser::read_class() {
  const bool is_negated = take("^");
  const auto is_one = [](const CodePointSet& set) {
    return set.ranges().size() == 1 && set.ranges()[0].first == set.ranges()[0].last;
  };
  CodePointSet set;
  while (!take("]")) {
    if (is_at_end()) return wrong("the class in square brackets does not end; write \\[ for a bracket");
    PARLANCE_TRY(CodePointSet item, read_class_item());
    if (peek() == '-' && peek(1) != ']' && is_one(item) && at_ + 1 < text_.size()) {
      ++at_;
      PARLANCE_TRY(const CodePointSet last, read_class_item());
      if (is_one(last)) {
        if (last.ranges()[0].first < item.ranges()[0].first)
          return wrong("a range goes from the lower character to the higher");
        item = {{item.ranges()[0].first, last.ranges()[0].first}};
      } else {  // [a-\d]: the hyphen is one of the characters
        item.add({'-', '-'});
        item.add(last);
      }
    }
    set.add(item);
  }
  return is_negated ? set.complement() : set.common_with(CodePointSet::all());
}

Result<RegexParser::Id> RegexParser::read_group(size_t depth) {
  if (depth >= kMostNesting) {
    return refuse(ErrorCode::too_complex, "groups are nested deeper than {} levels", kMostNesting);
  }
  if (take("?")) {
    const bool has_name = peek() == '<' && peek(1) != '=' && peek(1) != '!';
    if (has_name) {
      const size_t end = text_.find('>', at_);
      if (end == std::string_view::npos) return wrong("the name of the group does not end with >");
      at_ = end + 1;
    } else if (!take(":")) {
      return unsupported(
          "groups are written (…), (?:…) or (?<name>…); looking around and flags are not supported");
    }
  }
  Node choice{.kind = Kind::choice};
  do {
    PARLANCE_TRY(const Id branch, read_sequence(depth + 1));
    choice.parts.push_back(branch);
  } while (take("|"));
  if (!take(")")) return wrong("the group does not end with )");
  return add(std::move(choice));
}

Result<RegexParser::Id> RegexParser::read_atom(size_t depth) {
  Node node{.kind = Kind::set};
  const char c = peek();
  if (take("(")) return read_group(depth);
  if (take("[")) {
    PARLANCE_TRY(node.set, read_class());
  } else if (take("\\")) {
    PARLANCE_TRY(node.set, read_escape(/*is_in_class=*/false));
  } else if (take(".")) {
    node.set = line_ends().complement();
  } else if (c == '^' || c == '$') {
    return unsupported(
        "{} stands only where the expression or one of its outer alternatives begins or ends; "
        "write \\{} for the character",
        c, c);
  } else if (c == '*' || c == '+' || c == '?') {
    return wrong("there is nothing to repeat in front of {}; write \\{} for the character", c, c);
  } else {
    const char32_t character = next_code_point(text_, at_);
    node.set = {{character, character}};
  }
  return add(std::move(node));
}

// {m}, {m,} or {m,n}; braces around anything else are characters.
bool RegexParser::read_counts(uint32_t& least, uint32_t& most) {
  size_t at = at_ + 1;
  const auto number = [&]() -> std::optional<uint32_t> {
    const size_t begin = at;
    uint64_t value = 0;
    for (; at < text_.size() && ascii::is_digit(text_[at]); ++at)
      value = std::min<uint64_t>(value * 10 + static_cast<uint64_t>(text_[at] - '0'), INT32_MAX);
    return at == begin ? std::nullopt : std::optional(static_cast<uint32_t>(value));
  };
  const auto first = number();
  if (!first) return false;
  least = most = *first;
  if (at < text_.size() && text_[at] == ',') {
    ++at;
    most = number().value_or(kNoLimit);
  }
  if (at >= text_.size() || text_[at] != '}') return false;
  at_ = at + 1;
  return true;
}

Result<RegexParser::Id> RegexParser::read_quantifiers(Id what) {
  Node node{.kind = Kind::repeat, .parts = {what}};
  if (take("*")) {
    node.least = 0;
    node.most = kNoLimit;
  } else if (take("+")) {
    node.most = kNoLimit;
  } else if (take("?")) {
    node.least = 0;
  } else if (peek() != '{' || !read_counts(node.least, node.most)) {
    return what;
  }
  take("?");  // which match it prefers is all that a lazy one says
  if (node.most < node.least) return wrong("a repetition goes from the lower number to the higher");
  const uint32_t count = std::max(1u, node.most == kNoLimit ? node.least : node.most);
  if (count > kMostRepeats) {
    return refuse(ErrorCode::too_complex, "something is repeated {} times, at most {} are counted", count,
                  kMostRepeats);
  }
  const Id id = add(std::move(node));
  nodes_[id].repeats *= count;
  if (nodes_[id].repeats > kMostNestedRepeats) {
    return refuse(ErrorCode::too_complex,
                  "repetitions inside of repetitions make {} times, at most {} are counted",
                  nodes_[id].repeats, kMostNestedRepeats);
  }
  const char next = peek();
  if (next == '*' || next == '+' || next == '?')
    return wrong("a repetition cannot be repeated; put it into a group");
  return id;
}

// Up to |, ), a $ that ends the branch, or the end.
Result<RegexParser::Id> RegexParser::read_sequence(size_t depth) {
  Node sequence{.kind = Kind::sequence};
  while (!is_at_end() && peek() != '|' && peek() != ')') {
    const bool ends_branch = depth == 0 && peek() == '$' && (at_ + 1 == text_.size() || peek(1) == '|');
    if (ends_branch) break;
    PARLANCE_TRY(const Id atom, read_atom(depth));
    PARLANCE_TRY(const Id part, read_quantifiers(atom));
    sequence.parts.push_back(part);
  }
  return add(std::move(sequence));
}

Result<std::vector<RegexParser::Branch>> RegexParser::read_branches() {
  std::vector<Branch> branches;
  do {
    Branch branch;
    branch.begins_text = take("^");
    PARLANCE_TRY(branch.body, read_sequence(0));
    branch.ends_text = take("$");
    branches.push_back(branch);
  } while (take("|"));
  if (!is_at_end()) return wrong("there is no group for ) to end; write \\) for the character");
  return branches;
}

void RegexParser::emit_set(const CodePointSet& set, AutomatonState from, AutomatonState to) {
  for (const auto& [first, last] : set.ranges()) nfa_.edges.push_back({from, to, first, last});
}

void RegexParser::emit_repeat(const Node& node, AutomatonState from, AutomatonState to) {
  AutomatonState at = from;
  const uint32_t n_written = node.most == kNoLimit ? node.least : node.most;
  for (uint32_t i = 0; i < n_written; ++i) {
    if (i >= node.least) jump(at, to);
    const AutomatonState next = add_state();
    emit(node.parts[0], at, next);
    at = next;
  }
  if (node.most == kNoLimit) {
    const AutomatonState begin = add_state(), end = add_state();
    jump(at, begin);
    emit(node.parts[0], begin, end);
    jump(end, begin);
    jump(end, to);
  }
  jump(at, to);
}

// Calls itself as deeply as groups are nested, which is bounded.
void RegexParser::emit(Id id, AutomatonState from, AutomatonState to) {
  if (nfa_.n_states > kMostRegexStates) return;  // which is refused afterwards
  const Node& node = nodes_[id];
  switch (node.kind) {
    case Kind::set:
      return emit_set(node.set, from, to);
    case Kind::sequence: {
      AutomatonState at = from;
      for (const Id part : node.parts) {
        const AutomatonState next = add_state();
        emit(part, at, next);
        at = next;
      }
      return jump(at, to);
    }
    case Kind::choice:
      for (const Id branch : node.parts) emit(branch, from, to);
      return;
    case Kind::repeat:
      return emit_repeat(node, from, to);
  }
}

Result<Dfa> RegexParser::parse() {
  if (text_.size() > kMostRegexBytes) {
    return fail(ErrorCode::too_complex, "{}: {} bytes are too many, at most {} are taken", where_,
                text_.size(), kMostRegexBytes);
  }
  if (const size_t invalid = find_invalid_utf8(text_); invalid != std::string_view::npos)
    return fail(ErrorCode::invalid_argument, "{}: byte {} is not part of valid UTF-8", where_, invalid);
  PARLANCE_TRY(const std::vector<Branch> branches, read_branches());
  const AutomatonState start = add_state(), end = add_state();
  for (const auto& [body, begins_text, ends_text] : branches) {
    const AutomatonState first = add_state(), last = add_state();
    jump(start, first);
    jump(last, end);
    if (match_ == RegexMatch::anywhere && !begins_text) emit_set(CodePointSet::all(), first, first);
    if (match_ == RegexMatch::anywhere && !ends_text) emit_set(CodePointSet::all(), last, last);
    const AutomatonState begin = add_state();
    jump(first, begin);
    emit(body, begin, last);
  }
  std::optional<Dfa> dfa;
  if (nfa_.n_states <= kMostRegexStates) dfa = Determiniser(nfa_, budget_).make(start, end);
  if (dfa) dfa = minimised(*dfa, budget_);
  if (!dfa) {
    return fail(
        ErrorCode::too_complex,
        "{}: the expression needs too many states; repeat less, or let alternatives begin differently",
        where_);
  }
  return *std::move(dfa);
}

}  // namespace

Result<Dfa> parse_regex(std::string_view text, RegexMatch match, const std::string& where,
                        CompileBudget& budget) {
  return RegexParser(text, match, where, budget).parse();
}

Result<std::shared_ptr<const Grammar>> Grammar::from_regex(std::string_view text) {
  Rules rules;
  PARLANCE_TRY(const Dfa dfa,
               parse_regex(text, RegexMatch::whole, mark_of(Parameter::regex), rules.budget()));
  const RuleId root = rules.add_rule();
  const auto [start, end] = rules.of(root);
  rules.texts_of(dfa, start, Encoding::utf8, end);
  return rules.compile(root, Parameter::regex);
}

}  // namespace parlance
