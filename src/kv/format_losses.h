// What attention loses when keys or values are kept in a format, found by encoding some of a text's.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kv/attention_sample.h"
#include "quant/kv_format.h"

namespace parlance {

// Of one head of keys and values. Errors of outputs are shares of the energy of what all heads of the layer yield, so
// that those of a layer's heads add up to the layer's.
struct HeadLoss {
  float scores = 0;       // root mean square error of attention's logits, weighted by the attention they get
  float from_keys = 0;    // error of the outputs, where keys are kept in the format and values exactly
  float from_values = 0;  // the other way round
  bool operator==(const HeadLoss&) const = default;
};

// Of the heads of a layer, in order. Without an equaliser keys are stored as they are.
std::vector<HeadLoss> losses_of(const AttentionSample& sample, KvFormat format,
                                const KeyEqualiser* equaliser);

}  // namespace parlance
