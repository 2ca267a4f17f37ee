// How far a transcript is from what was said, in words.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace parlance {

struct WordErrors {
  size_t substitutions = 0;
  size_t deletions = 0;   // words that were said and are missing
  size_t insertions = 0;  // words that were not said
  size_t n_words = 0;     // that were said

  size_t errors() const { return substitutions + deletions + insertions; }
  // Errors per word said; above 1 when more was made up than was said. Made-up words over silence count as
  // one error per word.
  double rate() const;
  // Sums over several recordings, so that long ones weigh more.
  WordErrors& operator+=(const WordErrors& other);
  bool operator==(const WordErrors&) const = default;
};

// The words as they are compared: in lower case, without punctuation and symbols, apostrophes inside words
// excepted. Ideographs and kana are words by themselves, which makes the rate of Chinese and Japanese one of
// characters.
std::vector<std::string> words_to_compare(std::string_view text);

// The fewest errors that turn what was said into the transcript. Takes as many steps as the one has words
// times the other, and memory for one row of them.
WordErrors count_word_errors(std::string_view said, std::string_view transcript);

}  // namespace parlance
