#include "tokenizer/pre_tokenizer.h"

#include <algorithm>
#include <array>

#include "base/ascii.h"
#include "text/unicode.h"

namespace parlance {

namespace {

constexpr auto kPreTokenizers = std::to_array<PreTokenizer>({
    {"qwen2", PrePattern::qwen2},
    {"deepseek-r1-qwen", PrePattern::qwen2},
    {"megrez", PrePattern::qwen2},
    {"stablelm2", PrePattern::qwen2},
    {"hunyuan", PrePattern::qwen2},
    {"qwen35", PrePattern::qwen35},
    {"llama-bpe", PrePattern::llama3, true, true},
    {"llama3", PrePattern::llama3, true, true},
    {"llama-v3", PrePattern::llama3, true, true},
    {"falcon3", PrePattern::llama3, true, true},
    {"falcon-h1", PrePattern::llama3, true, true},
    {"pixtral", PrePattern::llama3, true, true},
    {"midm-2.0", PrePattern::llama3, true, true},
    {"lfm2", PrePattern::llama3, true, true},
    {"dbrx", PrePattern::llama3},
    {"smaug-bpe", PrePattern::llama3},
    {"gpt-2", PrePattern::gpt2},
    {"phi-2", PrePattern::gpt2},
    {"mpt", PrePattern::gpt2},
    {"olmo", PrePattern::gpt2},
    {"omnivoice", PrePattern::omnivoice, false, false, true},
    {"default", PrePattern::plain},
});

struct Char {
  char32_t value = 0;
  uint32_t n_bytes = 0;  // 0: end of the text
  uint8_t classes = 0;

  bool is(uint8_t any) const { return (classes & any) != 0; }
  bool exists() const { return n_bytes != 0; }
};

// The matchers look at the text from a position on and yield the end of what they match, or the position
// itself when they do not match. Their alternatives are those of the published expressions, tried in that
// order:
//
//   gpt2    's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
//   qwen2   (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|
//           \s+(?!\S)|\s+
//   llama3  as qwen2 with \p{N}{1,3} in place of \p{N}
//   qwen35  as qwen2 with marks in the words: [\p{L}\p{M}]+ in place of \p{L}+, [^\s\p{L}\p{M}\p{N}]+ in
//   place
//           of [^\s\p{L}\p{N}]+
class Matcher {
 public:
  Matcher(PrePattern pattern, std::string_view text)
      : text_(text),
        is_gpt2_(pattern == PrePattern::gpt2),
        word_(pattern == PrePattern::qwen35 ? kLetter | kMark : kLetter),
        max_digits_(pattern == PrePattern::llama3 ? 3 : 1) {}

  // End of the pre-token that begins at `at`, which is before the end of the text.
  size_t match(size_t at) const {
    const Char first = char_at(at);
    size_t end = at;
    if (first.value == '\'') end = match_contraction(at);
    if (end == at) end = is_gpt2_ ? match_spaced_run(at, first) : match_word_or_number(at, first);
    if (end == at) end = match_spaces(at);
    return end == at ? at + first.n_bytes : end;
  }

 private:
  Char char_at(size_t at) const {
    if (at >= text_.size()) return {};
    const CodePoint c = decode_code_point(text_, at);
    return {c.value, c.n_bytes, char_class(c.value)};
  }

  // End of the run of characters from `at` on for which `wanted` holds.
  template <class Wanted>
  size_t run(size_t at, const Wanted& wanted) const {
    for (Char c = char_at(at); c.exists() && wanted(c); c = char_at(at)) at += c.n_bytes;
    return at;
  }

  // 's 't 'm 'd 're 've 'll
  size_t match_contraction(size_t at) const {
    const auto letter = [&](size_t i) -> char {
      if (i >= text_.size()) return 0;
      const char c = text_[i];
      return !is_gpt2_ && c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    };
    const char a = letter(at + 1), b = letter(at + 2);
    if (a == 's' || a == 't' || a == 'm' || a == 'd') return at + 2;
    if ((a == 'r' && b == 'e') || (a == 'v' && b == 'e') || (a == 'l' && b == 'l')) return at + 3;
    return at;
  }

  bool is_other(const Char& c) const { return !c.is(kSpace | word_ | kNumber); }

  // gpt2: letters, numbers or other characters, with a space before them.
  size_t match_spaced_run(size_t at, const Char& first) const {
    const size_t from = first.value == ' ' ? at + 1 : at;
    const Char c = char_at(from);
    if (!c.exists() || c.is(kSpace)) return at;
    if (c.is(kLetter)) return run(from, [](const Char& x) { return x.is(kLetter); });
    if (c.is(kNumber)) return run(from, [](const Char& x) { return x.is(kNumber); });
    return run(from, [&](const Char& x) { return is_other(x); });
  }

  // The others: a word with any one character before it, digits, or other characters with a space before and
  // line ends after them.
  size_t match_word_or_number(size_t at, const Char& first) const {
    if (!first.is(kNewline | kNumber)) {
      const size_t from = first.is(word_) ? at : at + first.n_bytes;
      const size_t end = run(from, [&](const Char& x) { return x.is(word_); });
      if (end != from) return end;
    }
    if (first.is(kNumber)) {
      int left = max_digits_;
      return run(at, [&](const Char& x) { return x.is(kNumber) && left-- > 0; });
    }
    const size_t from = first.value == ' ' ? at + 1 : at;
    const size_t end = run(from, [&](const Char& x) { return is_other(x); });
    if (end == from) return at;
    return run(end, [](const Char& x) { return x.is(kNewline); });
  }

  // White space: up to its last line end if it has one (not gpt2), else all but what belongs to the next
  // word.
  size_t match_spaces(size_t at) const {
    size_t end = at, last = at, after_newline = at;
    for (Char c = char_at(end); c.is(kSpace); c = char_at(end)) {
      last = end;
      end += c.n_bytes;
      if (c.is(kNewline)) after_newline = end;
    }
    if (!is_gpt2_ && after_newline != at) return after_newline;
    return end < text_.size() && last != at ? last : end;
  }

  std::string_view text_;
  bool is_gpt2_;
  uint8_t word_;  // classes that words are made of
  int max_digits_;
};

void split_with(PrePattern pattern, std::string_view text, FunctionRef<void(std::string_view)> take) {
  const Matcher matcher(pattern, text);
  for (size_t at = 0; at < text.size();) {
    const size_t end = matcher.match(at);
    take(text.substr(at, end - at));
    at = end;
  }
}

// Runs of characters for which `is_member` holds, and what is between them, in order.
template <class IsMember>
void split_runs(std::string_view text, const IsMember& is_member,
                FunctionRef<void(std::string_view, bool member)> take) {
  size_t from = 0;
  bool member = false;
  for (size_t at = 0; at < text.size();) {
    const CodePoint c = decode_code_point(text, at);
    if (const bool is = is_member(c.value); is != member) {
      if (at > from) take(text.substr(from, at - from), member);
      from = at;
      member = is;
    }
    at += c.n_bytes;
  }
  if (text.size() > from) take(text.substr(from), member);
}

// Each three ASCII digits in a row, and what is between them.
void split_digit_triples(std::string_view numbers, FunctionRef<void(std::string_view)> take) {
  size_t from = 0, at = 0;
  while (at < numbers.size()) {
    const bool triple =
        numbers.size() - at >= 3 && std::ranges::all_of(numbers.substr(at, 3), ascii::is_digit);
    if (!triple) {
      at += decode_code_point(numbers, at).n_bytes;
      continue;
    }
    if (at > from) take(numbers.substr(from, at - from));
    take(numbers.substr(at, 3));
    at += 3;
    from = at;
  }
  if (numbers.size() > from) take(numbers.substr(from));
}

// What applies when a file names no pre-tokenizer: four expressions, each of which cuts the pieces of the one
// before at its matches:  [\p{P}\$\+<=>\^~\|]+  then gpt2  then  \p{N}+  then  [0-9][0-9][0-9]
void split_plain(std::string_view text, FunctionRef<void(std::string_view)> take) {
  const auto is_mark = [](char32_t c) {
    return c == '$' || c == '+' || c == '<' || c == '=' || c == '>' || c == '^' || c == '~' || c == '|' ||
           (char_class(c) & kPunctuation);
  };
  split_runs(text, is_mark, [&](std::string_view part, bool marks) {
    if (marks) return take(part);
    split_with(PrePattern::gpt2, part, [&](std::string_view word) {
      split_runs(word, is_number, [&](std::string_view piece, bool numbers) {
        if (!numbers) return take(piece);
        split_digit_triples(piece, take);
      });
    });
  });
}

}  // namespace

std::span<const PreTokenizer> pre_tokenizers() {
  return kPreTokenizers;
}

const PreTokenizer* find_pre_tokenizer(std::string_view name) {
  const auto found = std::ranges::find(kPreTokenizers, name, &PreTokenizer::name);
  return found == kPreTokenizers.end() ? nullptr : &*found;
}

void split_pre_tokens(PrePattern pattern, std::string_view text, FunctionRef<void(std::string_view)> take) {
  if (pattern == PrePattern::plain) {
    split_plain(text, take);
  } else if (pattern == PrePattern::omnivoice) {
    split_omnivoice(text, take);
  } else {
    split_with(pattern, text, take);
  }
}

}  // namespace parlance
