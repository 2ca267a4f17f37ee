// Speech as the codec's numbers.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace parlance {

struct AudioCodes {
  int64_t n_codebook = 0;
  std::vector<int32_t> codes;  // (n_codebook, n_frames): all frames of the first codebook, then the second's

  int64_t n_frames() const { return n_codebook == 0 ? 0 : static_cast<int64_t>(codes.size()) / n_codebook; }
  bool empty() const { return codes.empty(); }
  bool operator==(const AudioCodes&) const = default;
};

// The same up to the frame n.
AudioCodes first_frames(const AudioCodes& codes, int64_t n);

// Refuses codes that a codec of n_codebook codebooks with codebook_size entries each does not know; `name` is
// what they come from.
Result<void> check_codes(const AudioCodes& codes, int64_t n_codebook, int32_t codebook_size,
                         std::string_view name);

}  // namespace parlance
