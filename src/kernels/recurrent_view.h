// What a kernel knows of a recurrent layer's memory: as much for a long sequence as for a short one.
#pragma once

#include "kernels/op_table.h"

namespace parlance {

struct RecurrentView {
  Recurrence conv;   // see ShortConvArgs
  Recurrence delta;  // see GatedDeltaNetArgs
};

}  // namespace parlance
