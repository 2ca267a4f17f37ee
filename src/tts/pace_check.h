// Long texts are known to come out with words that are skipped or said twice: their pace shows it. A chunk
// whose speech takes far more or less time for its syllables than that of its neighbours is spoken again.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace parlance {

// Seconds in which something is heard: the windows of 20 ms that are not silent (tts/audio/silence.h).
double heard_seconds(std::span<const float> samples);

class PaceCheck {
 public:
  // Whether speech of these syllables in so many seconds is far off what the chunks before it had. False
  // where there is too little to say so: the first chunk, or a handful of syllables.
  bool is_off(int n_syllables, double seconds) const;
  // Whether speech in so many seconds is nearer to these than in `others`.
  bool is_nearer(int n_syllables, double seconds, double others) const;
  // It is what comes before others now.
  void accept(int n_syllables, double seconds);

 private:
  double usual_pace() const;

  std::vector<double> paces_;  // seconds of a syllable
};

}  // namespace parlance
