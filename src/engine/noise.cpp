#include "engine/noise.h"

#include <algorithm>
#include <random>
#include <vector>

#include "base/parameter.h"
#include "engine/scheduler.h"

namespace parlance {

Result<void> fill_with_noise(Session& session, int64_t n_tokens) {
  Context& context = session.context();
  Sequence& sequence = session.sequence();
  const KvLayout& layout = context.layout();
  const int64_t n_batch = context.options().n_batch;
  const int64_t widest = layout.n_head_kv * std::max(layout.head_dim_k, layout.head_dim_v);
  std::vector<float> noise(static_cast<size_t>(widest * n_batch));
  std::mt19937 random(1);
  for (float& value : noise) value = static_cast<float>(random()) * 0x1p-31f - 1;

  const Scheduler::Pause pause(context.scheduler());
  while (sequence.n_tokens() < n_tokens) {
    const Slice slice{&sequence, std::min(n_tokens - sequence.n_tokens(), n_batch), 0};
    sequence.add_noise(slice.n_tokens);
    if (!pause.runner().prepare(slice)) {
      sequence.failed();
      sequence.truncate(sequence.n_computed());
      return fail(ErrorCode::out_of_memory, "the KV cache has no room for {} positions; raise {}", n_tokens,
                  Parameter::ctx_size);
    }
    PARLANCE_CHECK(pause.runner().write_noise(slice, noise));
    sequence.noise_written(slice.n_tokens);
  }
  return {};
}

}  // namespace parlance
