// Columns of a pass of KeptSpeechLm, as numbers.
#pragma once

#include <algorithm>
#include <numeric>

#include "tts/kept_speech_lm.h"

namespace parlance {

// Columns in the order of OmniVoiceColumns.
struct KeptSpeechLm::Columns {
  static constexpr int32_t kConditional = 0, kUnconditional = 1;  // sequences of the cache
  static constexpr int32_t kNobody = 2;                           // where columns are that nobody sees
  struct Place {
    int32_t row, pos, end;
  };

  std::vector<int32_t> text;
  std::vector<std::vector<int32_t>> audio;  // by codebook: rows of the embedding
  std::vector<int32_t> pos, seq, end;
  std::vector<int32_t> seen;  // sequences whose keys columns see; none: `seq`

  // Whose keys and values a position of a row takes, where some share a column's; none: each column's are its
  // own alone.
  std::vector<int32_t> shared, shared_pos, shared_seq;

  int64_t first_target = 0;            // the column of the first frame taken, in the conditional row,
  int64_t first_unconditional = 0;     // and in the other one,
  bool has_one_unconditional = false;  // where one may stand for all

  // Those of which something is asked: frames of the conditional row, then of the other one.
  std::vector<int32_t> asked, asked_pos, asked_seq, asked_end;
  std::vector<std::vector<int32_t>> of_codebook;  // numbers of asked ones, of either row alike
  std::vector<size_t> first_slot;                 // by codebook, and behind the last

  int64_t n() const { return std::ssize(pos); }
  int64_t n_of(int32_t row) const { return std::ranges::count(seq, row); }
  // Of frame t of those taken.
  int64_t conditional_of(int64_t t) const { return first_target + t; }
  int64_t unconditional_of(int64_t t) const { return first_unconditional + (has_one_unconditional ? 0 : t); }
  // Columns that nobody sees, behind the last one before `at`, which see what it sees.
  void add_unseen(int64_t at, int64_t n, int64_t n_audio_vocab) {
    const auto insert = [n](std::vector<int32_t>& list, int64_t place, int32_t value) {
      list.insert(list.begin() + place, static_cast<size_t>(n), value);
    };
    if (seen.empty()) seen = seq;
    const int32_t first_pos = static_cast<int32_t>(n_of(kNobody));
    insert(pos, at, 0);
    std::iota(pos.begin() + at, pos.begin() + at + n, first_pos);
    insert(seq, at, kNobody);
    insert(seen, at, seen[static_cast<size_t>(at - 1)]);
    insert(end, at, end[static_cast<size_t>(at - 1)]);
    for (size_t k = 0; k < audio.size(); ++k)
      insert(audio[k], at - std::ssize(text), static_cast<int32_t>(static_cast<int64_t>(k) * n_audio_vocab));
    if (at <= first_unconditional) first_unconditional += n;
    for (int32_t& column : shared) column += column >= at ? static_cast<int32_t>(n) : 0;
  }
  void add(const Place& place) {
    pos.push_back(place.pos);
    seq.push_back(place.row);
    end.push_back(place.end);
  }
  // The last column added is what positions [first, end) of its row take.
  void share(int64_t first, int64_t end_of_them) {
    const auto column = static_cast<int32_t>(n() - 1);
    for (int64_t p = first; p < end_of_them; ++p) {
      shared.push_back(column);
      shared_pos.push_back(static_cast<int32_t>(p));
      shared_seq.push_back(seq.back());
    }
  }
  void ask(int64_t column) {
    const auto at = static_cast<size_t>(column);
    asked.push_back(static_cast<int32_t>(column));
    asked_pos.push_back(pos[at]);
    asked_seq.push_back(seq[at]);
    asked_end.push_back(end[at]);
  }
};

}  // namespace parlance
