// WebM and Matroska as browsers record them: the packets of the first Opus track, put into the pages of an
// Ogg file, which the library of formats reads.
//
// Source: RFC 8794 (EBML), RFC 9559 (Matroska), RFC 7845 (Opus in Ogg), RFC 6716 section 3.1 (length of a
// packet).
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace parlance {

// Whether the bytes begin as EBML does.
bool is_webm(std::span<const std::byte> bytes);

// An Ogg Opus file with the sound of the recording; of one that was cut off, as much as is there. Errors:
// there is no such track, or it is not as the formats want it. Messages call the bytes `name`.
Result<std::vector<std::byte>> ogg_of_webm(std::span<const std::byte> bytes, const std::string& name);

}  // namespace parlance
