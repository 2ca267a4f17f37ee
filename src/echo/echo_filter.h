// What a microphone hears of a loudspeaker, learned from both sounds: the partitioned-block frequency-domain
// Kalman filter of Enzner and Vary (2006) and of Kuech, Mabande and Enzner (2014).
//
// The state is the room's response, in blocks of one frame; each bin of each block has a value and a
// variance, which says how far that may be off. How much is learned from a frame follows from these variances
// and from the power of what is left: while somebody speaks in the room, hardly anything.
#pragma once

#include <span>
#include <vector>

#include "audio/fft.h"
#include "echo/frame.h"

namespace parlance {

class EchoFilter {
 public:
  EchoFilter();

  // Forgets the room. `coupling` [kEchoBins]: power of what is heard by that of what is played, as a guess.
  void begin(std::span<const float> coupling);

  // kEchoFrame samples each: what is heard, what was played, and what is left of the first when the echo is
  // taken out that the frames before have taught.
  void process(std::span<const float> heard, std::span<const float> played, std::span<float> left);

  // Something of what was played is still to be heard.
  bool is_active() const { return n_sounding_ > 0; }

  // Power of the echo that is to be expected in what was left, [kEchoBins], as of the spectrum of a frame
  // with as many zeros before it; 0 where nothing was played.
  std::span<const float> residual() const { return residual_; }

  // By how much the echo was later than the filter takes it to be, in samples, and how little that can be
  // relied on; information 0: says nothing.
  struct Misalignment {
    double samples, information;  // the latter is one by the variance
  };
  Misalignment misalignment() const;

 private:
  static constexpr size_t kBlocks = 32;  // 320 ms of a room's sound

  // Real and imaginary parts apart, for loops over bins.
  struct Spectra {
    explicit Spectra(size_t n) : re(n * kEchoBins), im(n * kEchoBins) {}
    std::vector<float> re, im;
  };

  void push(std::span<const float> played);
  void estimate(Spectra& echo, std::span<float> uncertainty) const;
  void spectrum_of_frame(std::span<const float> frame, Spectra& spectrum);
  void observe_noise();
  void learn(bool is_first);
  size_t block_at(size_t age) const { return (newest_ + age) % kBlocks; }

  RealFft fft_{2 * kEchoFrame};
  Spectra played_{kBlocks};  // of two frames each: a ring, newest_ the last
  std::vector<float> played_power_;
  size_t newest_ = 0;
  std::vector<float> last_played_;
  int n_sounding_ = 0;  // frames for which something of what was played is in the ring

  std::vector<float> expected_;  // power of the response by block and bin, before anything is known
  Spectra response_{kBlocks};
  std::vector<float> variance_;  // of it
  Spectra heard_{1}, echo_{1};   // of the frame; the estimate before learning
  Spectra error_{1}, guess_{1};  // what is left, and the estimate, pass by pass
  std::vector<float> residual_, uncertainty_, noise_;
  bool has_noise_ = false;
  Spectra change_{kBlocks};
  std::vector<float> frames_;  // [kBlocks, 2 kEchoFrame]
};

}  // namespace parlance
