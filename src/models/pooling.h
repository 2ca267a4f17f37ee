// What an embedding model makes of a text, from the rows that it yields of the text's tokens.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/hyper_parameters.h"

namespace parlance {

// How many of a text's last tokens must yield a row. Files that name no way of pooling are read as their last
// token.
int64_t n_pooled_rows(Pooling pooling, int64_t n_tokens);

// The embedding [n_embd] from the rows [n_embd, n] of these tokens: their mean, the first or the last one.
// Not normalised.
std::vector<float> pooled(Pooling pooling, std::span<const float> rows, int64_t n_embd);

}  // namespace parlance
