// The turns of a conversation by voice as a picture: who worked when.
#pragma once

#include <span>
#include <string>

#include "voice/talk.h"

namespace parlance {

// An SVG file: a panel for each turn, with a lane for each stage over one axis of time, whose zero is the end
// of speech. At most so many turns are drawn, the first ones. Colours show on light and on dark pages alike.
inline constexpr size_t kMostDrawnTurns = 24;
std::string talk_timeline_svg(std::span<const TurnReport> turns);

}  // namespace parlance
