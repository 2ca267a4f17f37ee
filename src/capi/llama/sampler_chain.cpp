#include "capi/llama/sampler_chain.h"

#include <algorithm>
#include <ranges>

#include "capi/llama/report.h"

namespace parlance::capi {

LlamaSamplerChain::~LlamaSamplerChain() {
  for (llama_sampler* member : members_) llama_sampler_free(member);
}

void LlamaSamplerChain::note(int64_t us, int32_t n_sampled) {
  if (!is_timed_) return;
  us_ += us;
  n_sampled_ += n_sampled;
}

void LlamaSamplerChain::apply(llama_token_data_array& candidates) {
  const int64_t start = llama_time_us();
  for (llama_sampler* member : members_) llama_sampler_apply(member, &candidates);
  note(llama_time_us() - start, 0);
}

void LlamaSamplerChain::accept(llama_token token) {
  const int64_t start = llama_time_us();
  for (llama_sampler* member : members_) llama_sampler_accept(member, token);
  note(llama_time_us() - start, 1);
}

void LlamaSamplerChain::reset() {
  for (llama_sampler* member : members_) llama_sampler_reset(member);
}

std::unique_ptr<LlamaSampler> LlamaSamplerChain::clone() const {
  auto twin = std::make_unique<LlamaSamplerChain>(is_timed_);
  for (const llama_sampler* member : members_) {
    llama_sampler* copy = llama_sampler_clone(member);
    if (!copy) return nullptr;
    twin->members_.push_back(copy);
  }
  return twin;
}

uint32_t LlamaSamplerChain::seed() const {
  for (const llama_sampler* member : std::views::reverse(members_)) {
    if (const uint32_t seed = llama_sampler_get_seed(member); seed != LLAMA_DEFAULT_SEED) return seed;
  }
  return LLAMA_DEFAULT_SEED;
}

LlamaSamplerChain* chain_of(const char* function, const llama_sampler* sampler) {
  auto* chain = dynamic_cast<LlamaSamplerChain*>(own_sampler(sampler));
  if (!chain)
    llama_log_error(function, {ErrorCode::invalid_argument, "the sampler is no chain, or was freed"});
  return chain;
}

namespace {

// Whether `wanted` is the chain, or in it at any depth.
bool contains(llama_sampler* sampler, const llama_sampler* wanted) {
  if (sampler == wanted) return true;
  auto* const chain = dynamic_cast<LlamaSamplerChain*>(own_sampler(sampler));
  return chain &&
         std::ranges::any_of(chain->members(), [&](llama_sampler* m) { return contains(m, wanted); });
}

bool has_member(LlamaSamplerChain& chain, int32_t i) {
  return i >= 0 && static_cast<size_t>(i) < chain.members().size();
}

}  // namespace

}  // namespace parlance::capi

using namespace parlance;
using namespace parlance::capi;

llama_sampler_chain_params llama_sampler_chain_default_params() {
  return {.no_perf = true};
}

llama_sampler* llama_sampler_chain_init(llama_sampler_chain_params params) {
  return llama_answer(__func__, static_cast<llama_sampler*>(nullptr), [&]() -> Result<llama_sampler*> {
    return give_sampler(std::make_unique<LlamaSamplerChain>(!params.no_perf));
  });
}

void llama_sampler_chain_add(llama_sampler* chain, llama_sampler* smpl) {
  llama_do(__func__, [&, function = __func__]() -> Result<void> {
    LlamaSamplerChain* const known = chain_of(function, chain);
    if (!known || !is_live_sampler(function, smpl)) return {};
    if (contains(smpl, chain))
      return fail(ErrorCode::invalid_argument, "a chain cannot be a member of itself");
    known->members().push_back(smpl);
    return {};
  });
}

llama_sampler* llama_sampler_chain_get(llama_sampler* chain, int32_t i) {
  auto* const known = dynamic_cast<LlamaSamplerChain*>(own_sampler(chain));
  if (!known) return nullptr;
  if (i == -1) return chain;
  return has_member(*known, i) ? known->members()[static_cast<size_t>(i)] : nullptr;
}

int32_t llama_sampler_chain_n(const llama_sampler* chain) {
  auto* const known = chain_of(__func__, chain);
  return known ? static_cast<int32_t>(known->members().size()) : 0;
}

llama_sampler* llama_sampler_chain_remove(llama_sampler* chain, int32_t i) {
  auto* const known = chain_of(__func__, chain);
  if (!known || !has_member(*known, i)) return nullptr;
  const auto place = known->members().begin() + i;
  llama_sampler* const member = *place;
  known->members().erase(place);
  return member;
}

// The chain is given every token of the vocabulary with its logit.
llama_token llama_sampler_sample(llama_sampler* smpl, llama_context* ctx, int32_t idx) {
  return llama_answer(__func__, LLAMA_TOKEN_NULL, [&, function = __func__]() -> Result<llama_token> {
    if (!is_live_sampler(function, smpl)) return LLAMA_TOKEN_NULL;
    const float* logits = llama_get_logits_ith(ctx, idx);
    if (!logits) return LLAMA_TOKEN_NULL;
    auto* const chain = dynamic_cast<LlamaSamplerChain*>(own_sampler(smpl));
    std::vector<llama_token_data> local;
    std::vector<llama_token_data>& all = chain ? chain->candidates() : local;
    const int32_t n_vocab = llama_vocab_n_tokens(llama_model_get_vocab(llama_get_model(ctx)));
    all.resize(static_cast<size_t>(n_vocab));
    for (llama_token token = 0; token < n_vocab; ++token)
      all[static_cast<size_t>(token)] = {token, logits[token], 0};
    llama_token_data_array candidates = {all.data(), all.size(), -1, false};
    llama_sampler_apply(smpl, &candidates);
    if (candidates.selected < 0 || static_cast<uint64_t>(candidates.selected) >= candidates.size) {
      return fail(ErrorCode::invalid_argument,
                  "no token was chosen; a chain ends with a sampler that does, such as dist or greedy");
    }
    const llama_token token = candidates.data[candidates.selected].id;
    llama_sampler_accept(smpl, token);
    return token;
  });
}
