// The libraries behind canceller.h, those of them that the build has found.
#pragma once

#include "echo/canceller.h"

namespace parlance {

// `before`: takes a first part out; null: nothing does.
std::unique_ptr<EchoCanceller> make_webrtc_canceller(std::unique_ptr<EchoCanceller> before);
std::unique_ptr<EchoCanceller> make_speex_canceller();
// Without the suppressor: leaves voices as they are.
std::unique_ptr<EchoCanceller> make_speex_filter();

}  // namespace parlance
