// Text of any language reduced to what English reads aloud: one byte a character.
#pragma once

#include <string>
#include <string_view>

namespace parlance {

// Signs beyond ASCII that are kept, as single bytes (those of Latin-1, but for the euro).
inline constexpr char kEuro = '\x80', kPound = '\xA3', kDegree = '\xB0', kTimes = '\xD7', kDivided = '\xF7';

// ASCII where there is an obvious twin: accents fall off, quotes and dashes become plain. The signs above
// stay; every other character, and every byte that is no UTF-8, becomes a space.
std::string fold(std::string_view text);

}  // namespace parlance
