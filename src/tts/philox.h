// Philox 4x32-10: random numbers by counter, so that any element of any draw is computed without those before
// it and a recorded seed gives the same speech on every machine.
#pragma once

#include <array>
#include <cstdint>

namespace parlance {

using PhiloxWords = std::array<uint32_t, 4>;

// The block of four random words at a counter.
PhiloxWords philox_4x32(PhiloxWords counter, std::array<uint32_t, 2> key);

// In (0, 1], of one element of the call numbered `call`: the first word of its block.
float philox_uniform(uint64_t seed, uint64_t call, uint64_t element);

}  // namespace parlance
