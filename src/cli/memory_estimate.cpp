#include "cli/memory_estimate.h"

#include "base/checked.h"
#include "engine/session.h"
#include "kv/cache.h"

namespace parlance {

namespace {

constexpr std::array<int64_t, 6> kContexts = {512, 2048, 4096, 8192, 32768, 131072};

std::optional<size_t> cache_bytes(const HyperParameters& hp, KvFormat format, int64_t n_ctx) {
  const KvLayout layout =
      kv_layout(hp, {.cache = {.k = {.format = format}, .v = {.format = format}}});
  if (!validate(layout)) return std::nullopt;
  return checked_mul(static_cast<size_t>(div_up<int64_t>(n_ctx, layout.page_tokens)), layout.page_bytes(PageKind::main));
}

}  // namespace

Result<std::vector<MemoryEstimate>> estimate_memory(const TextModel& text) {
  const HyperParameters& hp = text.hyper_parameters();
  std::vector<int64_t> contexts;
  for (const int64_t n_ctx : kContexts) {
    if (n_ctx < hp.n_ctx_train) contexts.push_back(n_ctx);
  }
  contexts.push_back(hp.n_ctx_train);

  std::vector<MemoryEstimate> estimates;
  size_t workspace_bytes = 0, state_bytes = 0;
  for (const int64_t n_ctx : contexts) {
    MemoryEstimate estimate{.n_ctx = n_ctx, .workspace_bytes = 0, .state_bytes = 0, .cache_bytes = {}};
    for (size_t f = 0; f < kKvFormatCount; ++f) {
      estimate.cache_bytes[f] = cache_bytes(hp, static_cast<KvFormat>(f), n_ctx);
    }
    const auto session = Session::create(text, {.n_ctx = n_ctx});
    // A cache beyond this machine's memory is refused; the workspace hardly grows with the context by then.
    if (session) {
      workspace_bytes = (*session)->workspace_bytes();
      state_bytes = (*session)->state_bytes() + (*session)->snapshot_bytes();
    } else if (session.error().code != ErrorCode::out_of_memory) {
      return tl::unexpected<Error>(session.error());
    }
    estimate.workspace_bytes = workspace_bytes;
    estimate.state_bytes = state_bytes;
    estimates.push_back(estimate);
  }
  return estimates;
}

}  // namespace parlance
