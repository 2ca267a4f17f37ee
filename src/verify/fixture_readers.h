// The readers behind fixture.h: each takes what its schema has from an object, and notes what is wrong with
// it.
#pragma once

#include "verify/fixture.h"
#include "verify/fixture_fields.h"

namespace parlance::verify {

inline constexpr int64_t kMostRows = 1 << 20;
inline constexpr int64_t kMostHeadDim = 1 << 12;

// The size of a head vector, a multiple of the format's block.
int64_t head_dim_of(const Fields& fields, const char* key, KvFormat format);

// One case, or a whole file, of a schema.
void read_score(const Fields& fields, Fixture& fixture);
void read_int8(const Fields& fields, double tolerance, Fixture& fixture);
void read_fused(const Fields& fields, KvFormat v_format, float sm_scale, Fixture& fixture);
void read_mixed(const Fields& fields, Fixture& fixture);
void read_harness_file(const Fields& file, Fixture& fixture);

}  // namespace parlance::verify
