// What can be said of an answer besides its text.
#pragma once

#include <string>

#include "engine/generate.h"
#include "json/json.h"

namespace parlance {

double prefill_tokens_per_second(const GenerateResult& result);
// Tokens after the first over the time they took; 0 when there was only one.
double decode_tokens_per_second(const GenerateResult& result);

// "24 prompt tokens (8 remembered) in 35 ms, 48 answer tokens in 1.2 s (40.1 per second)"
std::string summary_of(const GenerateResult& result);

Json to_json(const GenerateResult& result, const std::string& model, uint64_t seed);

}  // namespace parlance
