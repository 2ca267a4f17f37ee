// Speech as the codec's numbers.
#pragma once

#include <cstdint>
#include <vector>

namespace parlance {

struct AudioCodes {
  int64_t n_codebook = 0;
  std::vector<int32_t> codes;  // (n_codebook, n_frames): all frames of the first codebook, then the second's

  int64_t n_frames() const { return n_codebook == 0 ? 0 : static_cast<int64_t>(codes.size()) / n_codebook; }
  bool empty() const { return codes.empty(); }
  bool operator==(const AudioCodes&) const = default;
};

}  // namespace parlance
