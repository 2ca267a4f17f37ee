#include "measure/memory_estimate.h"

#include "assistant/cache_settling.h"
#include "base/checked.h"
#include "engine/session.h"
#include "kv/cache.h"

namespace parlance {

namespace {

constexpr std::array<int64_t, 6> kContexts = {512, 2048, 4096, 8192, 32768, 131072};

std::optional<size_t> cache_bytes(const HyperParameters& hp, KvFormat format, int64_t n_ctx) {
  const KvLayout layout = kv_layout(hp, {.cache = {.k = {.format = format}, .v = {.format = format}}});
  if (!validate(layout)) return std::nullopt;
  return checked_mul(static_cast<size_t>(div_up<int64_t>(n_ctx, layout.page_tokens)),
                     layout.page_bytes(PageKind::main));
}

std::optional<CacheChoiceCost> cost_of(const TextModel& text, std::string_view preset, const KvPolicy& policy,
                                       size_t free_bytes) {
  const KvLayout layout = kv_layout(text.hyper_parameters(), {.cache = policy});
  if (layout.n_layer == 0 || !validate(layout)) return std::nullopt;
  const size_t bytes = layout.bytes_per_token();
  const int64_t n_values = layout.n_layer * layout.n_head_kv * (layout.head_dim_k + layout.head_dim_v);
  return CacheChoiceCost{.preset = preset,
                         .format = policy.k.format,
                         .bits_per_value = 8 * static_cast<double>(bytes) / static_cast<double>(n_values),
                         .bytes_per_token = bytes,
                         .n_ctx_that_fits = static_cast<int64_t>(free_bytes / bytes)};
}

}  // namespace

std::vector<CacheChoiceCost> cache_costs(const TextModel& text, size_t workspace_bytes) {
  const size_t free = text.model().placement().parts().front().device->memory().free;
  const size_t taken = text.file().data().size() + workspace_bytes;
  const size_t left = free > taken ? free - taken : 0;
  std::vector<CacheChoiceCost> costs;
  const auto add = [&](std::string_view preset, const KvPolicy& policy) {
    if (auto cost = cost_of(text, preset, policy, left)) costs.push_back(*cost);
  };
  const std::optional<CacheProbe> probe = known_probe(text);
  for (const char* preset : {"exact", "balanced", "small", "auto"}) {
    SessionOptions options{.cache = *cache_preset(preset)};
    if (probe) options.cache = settled(*probe, text, options);
    const bool is_guess = options.cache.goal && preset == std::string_view("auto");
    if (!is_guess) add(preset, options.cache);
  }
  for (size_t f = 0; f < kKvFormatCount; ++f) {
    const auto format = static_cast<KvFormat>(f);
    add("", {.k = {.format = format}, .v = {.format = format}});
  }
  return costs;
}

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
