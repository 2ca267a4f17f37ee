#include "capi/llama/sampler.h"

#include <mutex>
#include <shared_mutex>
#include <unordered_set>
#include <vector>

#include "capi/llama/report.h"

namespace parlance::capi {

namespace {

// Unlike other objects samplers are no numbers: programs read and write their two fields.
class LiveSamplers {
 public:
  void add(const llama_sampler* sampler) {
    const std::lock_guard lock(mutex_);
    live_.insert(sampler);
  }
  bool remove(const llama_sampler* sampler) {
    const std::lock_guard lock(mutex_);
    return live_.erase(sampler) > 0;
  }
  bool has(const llama_sampler* sampler) const {
    const std::shared_lock lock(mutex_);
    return live_.contains(sampler);
  }

 private:
  mutable std::shared_mutex mutex_;
  std::unordered_set<const llama_sampler*> live_;
};

LiveSamplers& live_samplers() {
  static LiveSamplers& samplers = *new LiveSamplers;  // outlives what programs forget to free
  return samplers;
}

LlamaSampler& behind(const llama_sampler* sampler) {
  return *static_cast<LlamaSampler*>(sampler->ctx);
}

llama_sampler_i own_functions = {
    .name = [](const llama_sampler* sampler) { return behind(sampler).name(); },
    .accept = [](llama_sampler* sampler, llama_token token) { behind(sampler).accept(token); },
    .apply = [](llama_sampler* sampler,
                llama_token_data_array* candidates) { behind(sampler).apply(*candidates); },
    .reset = [](llama_sampler* sampler) { behind(sampler).reset(); },
    .clone = [](const llama_sampler* sampler) { return give_sampler(behind(sampler).clone()); },
    .free = [](llama_sampler* sampler) { delete &behind(sampler); },
    .of_graphs = {},
};

}  // namespace

llama_sampler* give_sampler(std::unique_ptr<LlamaSampler> sampler) {
  if (!sampler) return nullptr;
  llama_sampler* given = llama_sampler_init(&own_functions, sampler.get());
  if (given) sampler.release();
  return given;
}

LlamaSampler* own_sampler(const llama_sampler* sampler) {
  if (!sampler || !live_samplers().has(sampler) || sampler->iface != &own_functions) return nullptr;
  return &behind(sampler);
}

bool is_live_sampler(const char* function, const llama_sampler* sampler) {
  if (sampler && live_samplers().has(sampler) && sampler->iface) return true;
  llama_log_error(function, {ErrorCode::invalid_argument,
                             "there is no such sampler; it was freed, or not made by llama_sampler_init()"});
  return false;
}

}  // namespace parlance::capi

using namespace parlance;
using namespace parlance::capi;

llama_sampler* llama_sampler_init(llama_sampler_i* iface, void* ctx) {
  return llama_answer(__func__, static_cast<llama_sampler*>(nullptr), [&]() -> Result<llama_sampler*> {
    if (!iface) return fail(ErrorCode::invalid_argument, "iface is NULL; it has the sampler's functions");
    auto sampler = std::make_unique<llama_sampler>(llama_sampler{iface, ctx});
    live_samplers().add(sampler.get());
    return sampler.release();
  });
}

const char* llama_sampler_name(const llama_sampler* smpl) {
  if (!is_live_sampler(__func__, smpl)) return "(null)";
  const char* name = smpl->iface->name ? smpl->iface->name(smpl) : nullptr;
  return name ? name : "(null)";
}

void llama_sampler_accept(llama_sampler* smpl, llama_token token) {
  llama_do(__func__, [&, function = __func__]() -> Result<void> {
    if (is_live_sampler(function, smpl) && smpl->iface->accept) smpl->iface->accept(smpl, token);
    return {};
  });
}

void llama_sampler_apply(llama_sampler* smpl, llama_token_data_array* cur_p) {
  llama_do(__func__, [&, function = __func__]() -> Result<void> {
    if (!is_live_sampler(function, smpl)) return {};
    if (!cur_p || (!cur_p->data && cur_p->size > 0))
      return fail(ErrorCode::invalid_argument, "there are no candidates; cur_p or its data is NULL");
    if (!smpl->iface->apply) return fail(ErrorCode::invalid_argument, "the sampler has no function to apply");
    if (cur_p->size > 0) smpl->iface->apply(smpl, cur_p);
    return {};
  });
}

void llama_sampler_reset(llama_sampler* smpl) {
  llama_do(__func__, [&, function = __func__]() -> Result<void> {
    if (is_live_sampler(function, smpl) && smpl->iface->reset) smpl->iface->reset(smpl);
    return {};
  });
}

// A sampler of a program that cannot be cloned is one without a state, as there.
llama_sampler* llama_sampler_clone(const llama_sampler* smpl) {
  return llama_answer(
      __func__, static_cast<llama_sampler*>(nullptr), [&, function = __func__]() -> Result<llama_sampler*> {
        if (!is_live_sampler(function, smpl)) return nullptr;
        if (smpl->iface->clone) return smpl->iface->clone(smpl);
        if (smpl->ctx)
          return fail(ErrorCode::unsupported, "the sampler has a state and no function to clone it");
        return llama_sampler_init(smpl->iface, nullptr);
      });
}

void llama_sampler_free(llama_sampler* smpl) {
  if (!smpl) return;
  llama_do(__func__, [&, function = __func__]() -> Result<void> {
    if (!is_live_sampler(function, smpl)) return {};
    if (smpl->iface->free) smpl->iface->free(smpl);
    live_samplers().remove(smpl);
    delete smpl;
    return {};
  });
}

uint32_t llama_sampler_get_seed(const llama_sampler* smpl) {
  const LlamaSampler* sampler = own_sampler(smpl);
  return sampler ? sampler->seed() : LLAMA_DEFAULT_SEED;
}
