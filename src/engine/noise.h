// Keys and values that nobody computed, so that a depth can be timed without computing it.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "engine/session.h"

namespace parlance {

// Fills the session's memory up to position n_tokens.
Result<void> fill_with_noise(Session& session, int64_t n_tokens);

}  // namespace parlance
