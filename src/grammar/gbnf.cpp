// GBNF, the grammar format of llama.cpp (its grammars/README.md): rules of literals, classes, groups and
// repetitions.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ascii.h"
#include "base/parameter.h"
#include "grammar/expression.h"
#include "grammar/grammar.h"
#include "text/unicode.h"

namespace parlance {

namespace {

constexpr std::string_view kRoot = "root";

bool is_name_character(char c) {
  return ascii::is_letter(c) || ascii::is_digit(c) || c == '-' || c == '_';
}

class GbnfParser {
 public:
  explicit GbnfParser(std::string_view text) : text_(text) {}

  Result<std::shared_ptr<const Grammar>> parse();

 private:
  struct RuleText {
    size_t number = 0;  // in the order of their names' first mention
    std::optional<Expressions::Id> body;
    size_t mentioned_at = 0;
  };
  // A group that is open, or the rule itself.
  struct Group {
    size_t begin = 0;
    std::vector<Expressions::Id> branches;  // that are complete
    std::vector<Expressions::Id> sequence;  // of the branch that is being read
  };

  template <class... Args>
  tl::unexpected<Error> wrong(fmt::format_string<Args...> format, Args&&... args) const {
    return wrong_at(at_, format, std::forward<Args>(args)...);
  }
  template <class... Args>
  tl::unexpected<Error> wrong_at(size_t at, fmt::format_string<Args...> format, Args&&... args) const {
    const auto before = text_.substr(0, at);
    return fail(ErrorCode::invalid_argument, "{}: line {}: {}", Parameter::grammar,
                1 + std::ranges::count(before, '\n'), fmt::format(format, std::forward<Args>(args)...));
  }

  bool is_at_end() const { return at_ >= text_.size(); }
  char peek() const { return is_at_end() ? '\0' : text_[at_]; }
  bool take(char c) {
    if (is_at_end() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void skip_space(bool with_newlines);
  std::string next() const;  // for messages
  std::string_view take_name();
  RuleText& rule(std::string_view name, size_t at);

  Result<void> read_rule();
  Result<Expressions::Id> read_alternatives();
  Result<bool> read_element(std::vector<Group>& groups);
  Result<void> read_literal(Group& group);
  Result<void> read_class(Group& group);
  Result<void> read_token(Group& group);
  Result<void> read_repetition(Group& group);
  Result<uint32_t> read_count();
  Result<char32_t> read_character(std::string_view what);
  Result<char32_t> read_hex(int n_digits);
  Result<std::shared_ptr<const Grammar>> build();

  std::string_view text_;
  size_t at_ = 0;
  Expressions expressions_;
  std::map<std::string, RuleText, std::less<>> rules_;
};

// Blanks and comments; line ends too where the rule cannot end.
void GbnfParser::skip_space(bool with_newlines) {
  while (!is_at_end()) {
    const char c = peek();
    if (c == '#') {
      at_ = std::min(text_.find_first_of("\r\n", at_), text_.size());
    } else if (c == ' ' || c == '\t' || (with_newlines && (c == '\n' || c == '\r'))) {
      ++at_;
    } else {
      return;
    }
  }
}

std::string GbnfParser::next() const {
  if (is_at_end()) return "the end of the text";
  std::string character;
  size_t at = at_;
  append_utf8(character, next_code_point(text_, at));
  return '"' + character + '"';
}

std::string_view GbnfParser::take_name() {
  const size_t begin = at_;
  while (!is_at_end() && is_name_character(peek())) ++at_;
  return text_.substr(begin, at_ - begin);
}

GbnfParser::RuleText& GbnfParser::rule(std::string_view name, size_t at) {
  const auto found = rules_.find(name);
  if (found != rules_.end()) return found->second;
  return rules_.emplace(name, RuleText{rules_.size(), std::nullopt, at}).first->second;
}

Result<char32_t> GbnfParser::read_hex(int n_digits) {
  char32_t value = 0;
  for (int i = 0; i < n_digits; ++i, ++at_) {
    const int digit = ascii::hex_value(peek());
    if (digit < 0) return wrong("expected {} hexadecimal digits after the backslash", n_digits);
    value = value << 4 | static_cast<char32_t>(digit);
  }
  if (!CodePointSet::all().contains(value)) {
    return wrong("U+{:04X} is no character", static_cast<uint32_t>(value));
  }
  return value;
}

// One character of a literal or a class, which may be escaped.
Result<char32_t> GbnfParser::read_character(std::string_view what) {
  if (is_at_end()) return wrong("the {} does not end", what);
  if (!take('\\')) return next_code_point(text_, at_);
  const char escaped = peek();
  ++at_;
  switch (escaped) {
    case 'x':
      return read_hex(2);
    case 'u':
      return read_hex(4);
    case 'U':
      return read_hex(8);
    case 't':
      return U'\t';
    case 'r':
      return U'\r';
    case 'n':
      return U'\n';
    case '\\':
    case '"':
    case '[':
    case ']':
    case '-':
    case '^':
      return static_cast<char32_t>(escaped);
    default:
      --at_;
      return wrong("after a backslash comes x, u, U, t, r, n, or one of \\ \" [ ] - ^");
  }
}

Result<void> GbnfParser::read_literal(Group& group) {
  std::string bytes;
  const size_t begin = at_++;
  while (!take('"')) {
    if (is_at_end()) return wrong_at(begin, "the text in quotation marks does not end");
    PARLANCE_TRY(const char32_t c, read_character("text in quotation marks"));
    append_utf8(bytes, c);
  }
  group.sequence.push_back(expressions_.text(std::move(bytes)));
  return {};
}

Result<void> GbnfParser::read_class(Group& group) {
  const size_t begin = at_++;
  const bool is_negated = take('^');
  CodePointSet set;
  while (!take(']')) {
    if (is_at_end()) return wrong_at(begin, "the class in square brackets does not end");
    PARLANCE_TRY(const char32_t first, read_character("class in square brackets"));
    char32_t last = first;
    if (peek() == '-' && at_ + 1 < text_.size() && text_[at_ + 1] != ']') {
      ++at_;
      PARLANCE_TRY(last, read_character("class in square brackets"));
    }
    if (last < first) return wrong("a range goes from the lower character to the higher");
    set.add({first, last});
  }
  set = set.common_with(CodePointSet::all());
  group.sequence.push_back(expressions_.one_of(is_negated ? set.complement() : set));
  return {};
}

// <text> or <[id]>, perhaps behind an exclamation mark.
Result<void> GbnfParser::read_token(Group& group) {
  TokenTerminal terminal;
  terminal.is_negated = take('!');
  const size_t begin = at_;
  if (!take('<')) return wrong("behind ! comes a token: !<name> or !<[id]>");
  if (take('[')) {
    PARLANCE_TRY(const uint32_t id, read_count());
    terminal.id = static_cast<int32_t>(id);
    if (!take(']') || !take('>')) return wrong("a token by its id is written <[id]>");
  } else {
    const size_t end = text_.find_first_of(">\r\n", at_);
    if (end == std::string_view::npos || text_[end] != '>')
      return wrong_at(begin, "the token does not end with >");
    at_ = end + 1;
    terminal.text = std::string(text_.substr(begin, at_ - begin));
  }
  group.sequence.push_back(expressions_.token(std::move(terminal)));
  return {};
}

Result<uint32_t> GbnfParser::read_count() {
  skip_space(true);
  const size_t begin = at_;
  uint64_t value = 0;
  for (; ascii::is_digit(peek()); ++at_)
    value = std::min<uint64_t>(value * 10 + static_cast<uint64_t>(peek() - '0'), INT32_MAX);
  if (at_ == begin) return wrong("expected a number");
  skip_space(true);
  return static_cast<uint32_t>(value);
}

Result<void> GbnfParser::read_repetition(Group& group) {
  uint32_t least = 0, most = kNoLimit;
  const size_t begin = at_;
  if (take('+')) {
    least = 1;
  } else if (take('?')) {
    most = 1;
  } else if (take('{')) {
    PARLANCE_TRY(least, read_count());
    most = least;
    if (take(',')) {
      skip_space(true);
      most = kNoLimit;
      if (peek() != '}') {
        PARLANCE_TRY(most, read_count());
      }
    }
    if (!take('}')) return wrong("a repetition is written {{m}}, {{m,}} or {{m,n}}");
    if (most < least) return wrong_at(begin, "a repetition goes from the lower number to the higher");
  } else {
    ++at_;  // *
  }
  if (group.sequence.empty())
    return wrong_at(begin, "there is nothing to repeat in front of {}", text_[begin]);
  PARLANCE_TRY(group.sequence.back(),
               expressions_.repeat(group.sequence.back(), least, most, Parameter::grammar));
  return {};
}

// One element of a sequence. False when the rule ends here.
Result<bool> GbnfParser::read_element(std::vector<Group>& groups) {
  Group& group = groups.back();
  const char c = peek();
  Result<void> read;
  if (c == '"') {
    read = read_literal(group);
  } else if (c == '[') {
    read = read_class(group);
  } else if (c == '<' || c == '!') {
    read = read_token(group);
  } else if (c == '*' || c == '+' || c == '?' || c == '{') {
    read = read_repetition(group);
  } else if (c == '.') {
    ++at_;
    group.sequence.push_back(expressions_.one_of(CodePointSet::all()));
  } else if (c == '|') {
    ++at_;
    group.branches.push_back(expressions_.sequence(std::exchange(group.sequence, {})));
    skip_space(true);
  } else if (c == '(') {
    if (groups.size() > kMostNesting) {
      return fail(ErrorCode::too_complex, "{}: groups are nested deeper than {} levels; make rules of some",
                  Parameter::grammar, kMostNesting);
    }
    groups.push_back({at_++, {}, {}});
  } else if (c == ')' && groups.size() > 1) {
    ++at_;
    group.branches.push_back(expressions_.sequence(std::move(group.sequence)));
    const Expressions::Id whole = expressions_.choice(std::move(group.branches));
    groups.pop_back();
    groups.back().sequence.push_back(whole);
  } else if (is_name_character(c)) {
    const size_t begin = at_;
    group.sequence.push_back(expressions_.rule(rule(take_name(), begin).number));
  } else {
    return false;
  }
  PARLANCE_CHECK(read);
  return true;
}

Result<Expressions::Id> GbnfParser::read_alternatives() {
  std::vector<Group> groups(1);
  for (;;) {
    skip_space(groups.size() > 1);
    // An alternative may stand on a line of its own.
    if (peek() == '\n' || peek() == '\r') {
      const size_t line_end = at_;
      skip_space(true);
      if (peek() != '|') at_ = line_end;
    }
    if (is_at_end() && groups.size() > 1)
      return wrong_at(groups.back().begin, "the group does not end with )");
    PARLANCE_TRY(const bool has_more, read_element(groups));
    if (has_more) continue;
    if (groups.size() > 1)
      return wrong("a group goes on with another element or ends with ), it cannot have {}", next());
    break;
  }
  groups[0].branches.push_back(expressions_.sequence(std::move(groups[0].sequence)));
  return expressions_.choice(std::move(groups[0].branches));
}

Result<void> GbnfParser::read_rule() {
  const size_t begin = at_;
  const std::string_view name = take_name();
  if (name.empty()) return wrong("expected the name of a rule (letters, digits, - and _)");
  skip_space(false);
  if (text_.substr(at_, 3) != "::=") return wrong("expected ::= behind the name {}", name);
  at_ += 3;
  skip_space(true);
  if (rule(name, begin).body) return wrong_at(begin, "the rule {} is there already", name);
  PARLANCE_TRY(const Expressions::Id body, read_alternatives());
  rule(name, begin).body = body;
  skip_space(false);
  if (!is_at_end() && peek() != '\n' && peek() != '\r') {
    return wrong(
        "a rule is made of texts in quotation marks, [classes], names, groups, tokens and repetitions, "
        "none of which begins with {}",
        next());
  }
  return {};
}

Result<std::shared_ptr<const Grammar>> GbnfParser::build() {
  std::vector<std::pair<std::string, Expressions::Id>> bodies(rules_.size());
  for (const auto& [name, rule] : rules_) {
    if (!rule.body) return wrong_at(rule.mentioned_at, "there is no rule {}", name);
    bodies[rule.number] = {name, *rule.body};
  }
  const auto root = rules_.find(kRoot);
  if (root == rules_.end()) {
    return fail(ErrorCode::invalid_argument, "{}: there is no rule named {}, with which texts begin",
                Parameter::grammar, kRoot);
  }
  return expressions_.compile(bodies, root->second.number, Parameter::grammar);
}

Result<std::shared_ptr<const Grammar>> GbnfParser::parse() {
  if (text_.size() > kMostGrammarBytes) {
    return fail(ErrorCode::too_complex, "{}: {} bytes are too many, at most {} are taken", Parameter::grammar,
                text_.size(), kMostGrammarBytes);
  }
  if (const size_t invalid = find_invalid_utf8(text_); invalid != std::string_view::npos)
    return wrong_at(invalid, "byte {} is not part of valid UTF-8", invalid);
  for (skip_space(true); !is_at_end(); skip_space(true)) PARLANCE_CHECK(read_rule());
  return build();
}

}  // namespace

Result<std::shared_ptr<const Grammar>> Grammar::from_gbnf(std::string_view text) {
  return GbnfParser(text).parse();
}

}  // namespace parlance
