#include "models/qwen2vl.h"

#include "models/layers/rope.h"
#include "models/qwen2.h"

namespace parlance {

namespace {

Result<HyperParameters> read_qwen2vl(const GgufFile& file) {
  PARLANCE_TRY(HyperParameters hp, read_common_parameters(file));
  PARLANCE_TRY(const auto sections, require_rope_sections(file, ModelKeys(file, hp.architecture)));
  hp.rope.sections = consecutive_sections(sections, hp.rope.n_rot / 2);
  return hp;
}

}  // namespace

Architecture qwen2vl_architecture() {
  return {"qwen2vl", read_qwen2vl, qwen2_architecture().load};
}

}  // namespace parlance
