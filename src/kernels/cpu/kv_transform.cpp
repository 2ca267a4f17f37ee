// The transforms between head vectors and stored values, by instruction set.
#include "kernels/cpu/rows.h"

namespace parlance {

TransformRow* to_stored_of(Isa) {
  return to_stored;
}

TransformRow* from_stored_of(Isa) {
  return from_stored;
}

}  // namespace parlance
