// The last windows of audio before speech began: the detector notices speech a little after it starts, and a
// recogniser wants its beginning.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/function_ref.h"
#include "vad/silero_weights.h"

namespace parlance {

class PreRoll {
 public:
  explicit PreRoll(int64_t n_windows) : samples_(static_cast<size_t>(n_windows * kSileroWindow)) {}

  int64_t n_windows() const { return n_held_; }

  // Keeps a window, in place of the oldest when there is no room.
  void push(std::span<const float, kSileroWindow> window) {
    const int64_t n_places = static_cast<int64_t>(samples_.size()) / kSileroWindow;
    if (n_places == 0) return;
    std::copy(window.begin(), window.end(), samples_.begin() + next_ * kSileroWindow);
    next_ = (next_ + 1) % n_places;
    n_held_ = std::min(n_held_ + 1, n_places);
  }

  // Hands out what is held, the oldest first, and is empty then.
  void take(FunctionRef<void(std::span<const float>)> give) {
    const int64_t n_places = static_cast<int64_t>(samples_.size()) / kSileroWindow;
    for (; n_held_ > 0; --n_held_) {
      const int64_t place = (next_ - n_held_ + n_places) % n_places;
      give(std::span(samples_).subspan(static_cast<size_t>(place * kSileroWindow), kSileroWindow));
    }
  }

  void clear() { n_held_ = 0; }

 private:
  std::vector<float> samples_;
  int64_t next_ = 0, n_held_ = 0;  // windows
};

}  // namespace parlance
