// What a kernel knows of a recurrent layer's memory: as much for a long sequence as for a short one.
#pragma once

#include "tensor/tensor.h"

namespace parlance {

struct RecurrentView {
  Tensor conv;   // f32 [n_channel, n_tap - 1, n_seq], see ShortConvArgs
  Tensor delta;  // f32 [head_dim, head_dim, n_value_head, n_seq], see GatedDeltaNetArgs
};

}  // namespace parlance
