// How many tokens of a prompt go through the language model together where nobody says it.
#pragma once

#include "assistant/choice.h"
#include "gguf/reader.h"
#include "kernels/device.h"
#include "models/hyper_parameters.h"

namespace parlance {

// What is chosen, else what is usual (SessionOptions), or what is best for the device if that is more and all
// of the model fits with twice as much: drafters and other models come later. `planned`: what sequences take.
int64_t batch_size(const Choice& choice, const GgufFile& file, const HyperParameters& hp,
                   const SessionOptions& planned, const Device& device);

}  // namespace parlance
