// The transforms between head vectors and stored values, by instruction set.
#include "kernels/cpu/isa.h"
#include "kernels/cpu/kv_rows/kernels.h"
#include "kernels/cpu/rows.h"

namespace parlance {

TransformRow* to_stored_of([[maybe_unused]] Isa isa) {
#if PARLANCE_X86
  if (isa == Isa::avx2) return kv_rows::to_stored_avx2;
  if (is_avx512(isa)) return kv_rows::to_stored_avx512;
#elif PARLANCE_NEON
  if (is_neon(isa)) return kv_rows::to_stored_neon;
#endif
  return to_stored;
}

TransformRow* from_stored_of([[maybe_unused]] Isa isa) {
#if PARLANCE_X86
  if (isa == Isa::avx2) return kv_rows::from_stored_avx2;
  if (is_avx512(isa)) return kv_rows::from_stored_avx512;
#elif PARLANCE_NEON
  if (is_neon(isa)) return kv_rows::from_stored_neon;
#endif
  return from_stored;
}

}  // namespace parlance
