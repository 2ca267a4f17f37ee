#include "eval/word_error.h"

#include <algorithm>
#include <cstdint>
#include <unordered_map>

#include "text/letter_case.h"
#include "text/unicode.h"

namespace parlance {

namespace {

constexpr char32_t kRightQuote = 0x2019;  // which typesetters write for an apostrophe

bool stands_alone(char32_t c) {
  return (c >= 0x3041 && c <= 0x30ff) || (c >= 0x3400 && c <= 0x4dbf) || (c >= 0x4e00 && c <= 0x9fff) ||
         (c >= 0xf900 && c <= 0xfaff) || (c >= 0x20000 && c <= 0x3ffff);
}

// Words as numbers, equal for equal words.
class Numbering {
 public:
  std::vector<uint32_t> numbers(const std::vector<std::string>& words) {
    std::vector<uint32_t> result;
    result.reserve(words.size());
    for (const std::string& word : words) {
      result.push_back(numbers_.try_emplace(word, static_cast<uint32_t>(numbers_.size())).first->second);
    }
    return result;
  }

 private:
  std::unordered_map<std::string, uint32_t> numbers_;
};

}  // namespace

double WordErrors::rate() const {
  return static_cast<double>(errors()) / static_cast<double>(std::max<size_t>(1, n_words));
}

WordErrors& WordErrors::operator+=(const WordErrors& other) {
  substitutions += other.substitutions;
  deletions += other.deletions;
  insertions += other.insertions;
  n_words += other.n_words;
  return *this;
}

std::vector<std::string> words_to_compare(std::string_view text) {
  const std::string lower = parlance::lower(sanitise_utf8(text));
  std::vector<std::string> words;
  std::string word;
  bool has_apostrophe = false;  // behind the word so far
  const auto end_word = [&] {
    if (!word.empty()) words.push_back(std::move(word));
    word.clear();
    has_apostrophe = false;
  };
  for (size_t at = 0; at < lower.size();) {
    const char32_t c = next_code_point(lower, at);
    if ((c == U'\'' || c == kRightQuote) && !word.empty() && !has_apostrophe) {
      has_apostrophe = true;
    } else if (!(char_class(c) & (kLetter | kNumber | kMark))) {
      end_word();
    } else {
      if (stands_alone(c)) end_word();
      if (has_apostrophe) word += '\'';
      has_apostrophe = false;
      append_utf8(word, c);
      if (stands_alone(c)) end_word();
    }
  }
  end_word();
  return words;
}

WordErrors count_word_errors(std::string_view said, std::string_view transcript) {
  Numbering numbering;
  const std::vector<uint32_t> a = numbering.numbers(words_to_compare(said));
  const std::vector<uint32_t> b = numbering.numbers(words_to_compare(transcript));
  // row[j]: what turns the words of `a` so far into the first j of `b`.
  std::vector<WordErrors> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j].insertions = j;
  for (const uint32_t word : a) {
    WordErrors diagonal = row[0];
    ++row[0].deletions;
    for (size_t j = 0; j < b.size(); ++j) {
      WordErrors best = diagonal;
      if (word != b[j]) ++best.substitutions;
      diagonal = row[j + 1];
      if (diagonal.errors() + 1 < best.errors()) {
        best = diagonal;
        ++best.deletions;
      }
      if (row[j].errors() + 1 < best.errors()) {
        best = row[j];
        ++best.insertions;
      }
      row[j + 1] = best;
    }
  }
  WordErrors errors = row.back();
  errors.n_words = a.size();
  return errors;
}

}  // namespace parlance
