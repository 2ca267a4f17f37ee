// How long contexts and samplers took, where they were asked to measure it.
#include <algorithm>

#include "capi/llama/context.h"
#include "capi/llama/sampler_chain.h"
#include "engine/elapsed.h"

namespace parlance::capi {

llama_perf_context_data LlamaContext::times() const {
  llama_perf_context_data data = {};
  data.t_start_ms = std::chrono::duration<double, std::milli>(start_.time_since_epoch()).count();
  data.t_load_ms = model_->load_ms();
  data.t_p_eval_ms = prompt_ms_;
  data.t_eval_ms = answer_ms_;
  // as there, never 0
  data.n_p_eval = std::max(1, n_prompt_);
  data.n_eval = std::max(1, n_answer_);
  return data;
}

void LlamaContext::reset_times() {
  start_ = Clock::now();
  prompt_ms_ = answer_ms_ = 0;
  n_prompt_ = n_answer_ = 0;
}

namespace {

std::string per_token(const char* what, double ms, int32_t n, const char* of) {
  const double speed = ms > 0 ? n * 1000 / ms : 0;
  return fmt::format("{:>16} = {:10.2f} ms / {:5} {} ({:8.2f} ms per token, {:8.2f} tokens per second)", what,
                     ms, n, of, n > 0 ? ms / n : 0, speed);
}

}  // namespace

}  // namespace parlance::capi

using namespace parlance;
using namespace parlance::capi;

llama_perf_context_data llama_perf_context(const llama_context* ctx) {
  return with_llama_context(
      __func__, ctx, llama_perf_context_data{},
      [](LlamaContext& context) -> Result<llama_perf_context_data> { return context.times(); });
}

void llama_perf_context_print(const llama_context* ctx) {
  with_llama_context(__func__, ctx, false, [](LlamaContext& context) -> Result<bool> {
    const llama_perf_context_data data = context.times();
    llama_say(LogLevel::info, fmt::format("{:>16} = {:10.2f} ms", "load time", data.t_load_ms));
    llama_say(LogLevel::info, per_token("prompt eval time", data.t_p_eval_ms, data.n_p_eval, "tokens"));
    llama_say(LogLevel::info, per_token("eval time", data.t_eval_ms, data.n_eval, "runs  "));
    return true;
  });
}

void llama_perf_context_reset(llama_context* ctx) {
  with_llama_context(__func__, ctx, false, [](LlamaContext& context) -> Result<bool> {
    context.reset_times();
    return true;
  });
}

llama_perf_sampler_data llama_perf_sampler(const llama_sampler* chain) {
  return llama_answer(__func__, llama_perf_sampler_data{},
                      [&, function = __func__]() -> Result<llama_perf_sampler_data> {
                        const LlamaSamplerChain* known = chain_of(function, chain);
                        return known ? known->times() : llama_perf_sampler_data{};
                      });
}

void llama_perf_sampler_print(const llama_sampler* chain) {
  llama_do(__func__, [&, function = __func__]() -> Result<void> {
    const LlamaSamplerChain* known = chain_of(function, chain);
    if (!known) return {};
    llama_say(LogLevel::info,
              per_token("sampling time", known->times().t_sample_ms, known->times().n_sample, "runs  "));
    return {};
  });
}

void llama_perf_sampler_reset(llama_sampler* chain) {
  llama_do(__func__, [&, function = __func__]() -> Result<void> {
    if (LlamaSamplerChain* known = chain_of(function, chain)) known->reset_times();
    return {};
  });
}
