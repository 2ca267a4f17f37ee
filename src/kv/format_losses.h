// What attention loses when keys or values are kept in a format, found by encoding some of a text's.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kv/attention_sample.h"
#include "kv/equaliser.h"
#include "quant/kv_format.h"

namespace parlance {

// Of one head of keys and values. Errors of outputs are shares of the energy of what all heads of the layer
// yield, so that those of a layer's heads add up to the layer's.
struct HeadLoss {
  float scores = 0;       // root mean square error of attention's logits, weighted by the attention they get
  float from_keys = 0;    // error of the outputs, where keys are kept in the format and values exactly
  float from_values = 0;  // the other way round
  // The same where the first keys and values are exact.
  float from_later_keys = 0, from_later_values = 0;
  bool operator==(const HeadLoss&) const = default;
};

// Of the heads of a layer, in order.
struct FormatLosses {
  std::vector<HeadLoss> plain;  // keys are stored as they are
  std::vector<HeadLoss> equalised;
};
FormatLosses losses_of(std::span<const SampledHead> heads, KvFormat format, const KeyEqualiser& equaliser);

}  // namespace parlance
