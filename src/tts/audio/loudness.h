// How loud speech is, and how loud it should be.
#pragma once

#include <optional>
#include <span>

namespace parlance {

// Root of the mean square; 0 without samples.
float rms_of(std::span<const float> samples);

// A quiet reference is raised to this before it is encoded, and what is spoken lowered by as much.
inline constexpr float kReferenceRms = 0.1f;

// The factor that gives speech the loudness of a reference recording; 1 where that is not known or not quiet.
float reference_gain(std::optional<float> reference_rms);

// Scales to a peak of 0.5, unless there is nothing to hear.
void normalise_peak(std::span<float> samples);

}  // namespace parlance
