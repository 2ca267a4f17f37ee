// The libraries behind canceller.h, those of them that the build has found.
#pragma once

#include "echo/canceller.h"

namespace parlance {

std::unique_ptr<EchoCanceller> make_webrtc_canceller();
std::unique_ptr<EchoCanceller> make_speex_canceller();

}  // namespace parlance
