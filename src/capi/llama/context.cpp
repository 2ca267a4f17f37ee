#include "capi/llama/context.h"

#include <algorithm>

#include "assistant/cache_settling.h"
#include "base/checked.h"
#include "base/log.h"
#include "capi/llama/report.h"

namespace parlance::capi {

namespace {

constexpr uint32_t kCtxUnit = 256;  // a context's size is a multiple of it, as there
// Rows of logits that a step makes room for; more of them take more steps.
constexpr int64_t kRowsOfLogits = 64;

tl::unexpected<Error> not_here(const char* field, const char* why) {
  return fail(ErrorCode::unsupported, "{}: {}", field, why);
}

// Fields that ask for what there is no code for. Values that leave it to the model are fine.
Result<void> check_context_params(const llama_context_params& p, const HyperParameters& hp) {
  const auto is_left = [](float value) { return value <= 0; };
  if (p.ctx_type != LLAMA_CONTEXT_TYPE_DEFAULT)
    return not_here("ctx_type", "layers that predict further tokens are not run");
  if (p.rope_scaling_type != LLAMA_ROPE_SCALING_TYPE_UNSPECIFIED || !is_left(p.rope_freq_base) ||
      !is_left(p.rope_freq_scale) || !is_left(p.yarn_ext_factor) || !is_left(p.yarn_attn_factor) ||
      !is_left(p.yarn_beta_fast) || !is_left(p.yarn_beta_slow) || p.yarn_orig_ctx != 0) {
    return not_here("rope_scaling_type, rope_* and yarn_*",
                    "positions turn as the model's file says; leave the defaults");
  }
  if (p.attention_type == LLAMA_ATTENTION_TYPE_NON_CAUSAL)
    return not_here("attention_type", "tokens see those before them, no others");
  if (p.pooling_type == LLAMA_POOLING_TYPE_RANK || hp.pooling == Pooling::rank)
    return not_here("pooling_type", "models that rank texts are not run");
  if (p.cb_eval) return not_here("cb_eval", "there is no graph to look into");
  if (p.moe_cache_size != 0) return not_here("moe_cache_size", "experts lie where their layer does");
  if (p.samplers && p.n_samplers > 0)
    return not_here("samplers", "tokens are sampled on the CPU; use llama_sampler_sample()");
  if (p.ctx_other) return not_here("ctx_other", "contexts share nothing but their model");
  if (p.n_seq_max > llama_max_parallel_sequences()) {
    return fail(ErrorCode::invalid_argument, "n_seq_max is {}; it is up to {}", p.n_seq_max,
                llama_max_parallel_sequences());
  }
  return {};
}

Result<KvFormat> cache_format_of(const char* field, ggml_type type) {
  const auto dtype = dtype_from_id(static_cast<uint32_t>(type));
  const auto format = dtype ? kv_format_from_name(name_of(*dtype)) : std::nullopt;
  if (format) return *format;
  return fail(ErrorCode::unsupported, "{} is {}; a cache is one of {}", field,
              dtype ? std::string(name_of(*dtype)) : fmt::format("type {}", static_cast<int64_t>(type)),
              kv_format_names());
}

enum llama_pooling_type pooling_of_context(const llama_context_params& params, Pooling of_file) {
  if (params.pooling_type != LLAMA_POOLING_TYPE_UNSPECIFIED) return params.pooling_type;
  switch (of_file) {
    case Pooling::mean:
      return LLAMA_POOLING_TYPE_MEAN;
    case Pooling::first:
      return LLAMA_POOLING_TYPE_CLS;
    case Pooling::last:
      return LLAMA_POOLING_TYPE_LAST;
    case Pooling::none:
    case Pooling::rank:
      break;
  }
  return LLAMA_POOLING_TYPE_NONE;
}

// Sizes as there: rounded up, and a batch no larger than the context that was asked for.
Result<LlamaContextShape> shape_of(const llama_context_params& p, const HyperParameters& hp) {
  constexpr uint32_t kMost = 1u << 30;
  LlamaContextShape shape;
  const auto asked = p.n_ctx == 0 ? static_cast<uint32_t>(hp.n_ctx_train) : p.n_ctx;
  if (asked > kMost || p.n_batch > kMost || p.n_ubatch > kMost) {
    return fail(ErrorCode::invalid_argument, "n_ctx is {}, n_batch {}, n_ubatch {}; each is up to {}", asked,
                p.n_batch, p.n_ubatch, kMost);
  }
  shape.n_seq_max = std::max(1u, p.n_seq_max);
  shape.is_unified = p.kv_unified;
  const uint32_t whole = align_up(asked, kCtxUnit);
  shape.n_ctx_seq = p.kv_unified ? whole : align_up(std::max(1u, whole / shape.n_seq_max), kCtxUnit);
  shape.n_ctx = p.kv_unified ? whole : shape.n_ctx_seq * shape.n_seq_max;
  shape.n_batch = std::max(1u, std::min(p.n_batch, asked));
  shape.n_ubatch = std::min(shape.n_batch, p.n_ubatch == 0 ? shape.n_batch : p.n_ubatch);
  shape.n_threads = p.n_threads;
  shape.n_threads_batch = p.n_threads_batch;
  if (p.pooling_type < LLAMA_POOLING_TYPE_UNSPECIFIED || p.pooling_type > LLAMA_POOLING_TYPE_RANK) {
    return fail(ErrorCode::invalid_argument, "pooling_type is {}; it is from -1 to 3",
                static_cast<int>(p.pooling_type));
  }
  shape.pooling = pooling_of_context(p, hp.pooling);
  return shape;
}

}  // namespace

Result<std::shared_ptr<LlamaContext>> LlamaContext::create(const llama_model* handle,
                                                           std::shared_ptr<LlamaModel> model,
                                                           const llama_context_params& params) {
  auto context = std::make_shared<LlamaContext>();
  PARLANCE_TRY(context->weights_,
               model->weights(llama_threads(std::max(params.n_threads, params.n_threads_batch))));
  const HyperParameters& hp = context->weights_->model->hyper_parameters();
  PARLANCE_CHECK(check_context_params(params, hp));
  PARLANCE_TRY(context->shape_, shape_of(params, hp));
  const LlamaContextShape& shape = context->shape_;
  if (!params.offload_kqv && context->weights_->device->name() != "cpu")
    return not_here("offload_kqv", "a layer's cache lies where the layer does");

  SessionOptions options{.n_ctx = shape.n_ctx_seq, .n_batch = shape.n_ubatch};
  PARLANCE_TRY(options.cache.k.format, cache_format_of("type_k", params.type_k));
  PARLANCE_TRY(options.cache.v.format, cache_format_of("type_v", params.type_v));
  options.n_seq = static_cast<int>(shape.n_seq_max);
  options.n_cache = shape.is_unified ? shape.n_ctx : 0;
  options.n_outputs = params.embeddings ? shape.n_ubatch : std::min<int64_t>(kRowsOfLogits, shape.n_ubatch);
  options.takes_embeddings = true;
  settle_cache(*context->weights_->model, options, [](const std::string& remark) { log_warning("{}", remark); });
  PARLANCE_TRY(context->context_, Context::create(*context->weights_->model, options));
  context->model_handle_ = handle;
  context->model_ = std::move(model);
  context->wants_embeddings_ = params.embeddings;
  context->is_timed_ = !params.no_perf;
  context->set_abort(params.abort_callback, params.abort_callback_data);
  context->n_vocab_ = context->weights_->model->model().n_vocab();
  context->n_embd_ = hp.n_embd;
  return context;
}

// A context's threads are those of the weights that it was made with.
void LlamaContext::set_threads(int32_t n_threads, int32_t n_threads_batch) {
  const int now = llama_threads(std::max(shape_.n_threads, shape_.n_threads_batch));
  if (llama_threads(std::max(n_threads, n_threads_batch)) == now) return;
  log_line(LogLevel::warning,
           fmt::format("llama_set_n_threads: the context computes with {} threads, as it was made for; "
                       "give n_threads to llama_init_from_model()",
                       now));
}

std::shared_ptr<LlamaContext> llama_context_of(const char* function, const void* handle) {
  auto context = handles().find<LlamaContext>(handle);
  if (!context)
    llama_log_error(function,
                    {ErrorCode::invalid_argument, "there is no such context; it was freed, or never made"});
  return context;
}

namespace {

// What does not change about a context; `otherwise` where there is none.
template <class R, class Read>
R about_context(const char* function, const void* handle, R otherwise, Read read) {
  return llama_answer(function, otherwise, [&]() -> Result<R> {
    const auto context = llama_context_of(function, handle);
    return context ? static_cast<R>(read(*context)) : otherwise;
  });
}

}  // namespace

}  // namespace parlance::capi

using namespace parlance;
using namespace parlance::capi;

llama_context_params llama_context_default_params() {
  llama_context_params params = {};
  params.n_ctx = 512;
  params.n_batch = 2048;
  params.n_ubatch = 512;
  params.n_seq_max = 1;
  params.n_outputs_max_per_seq = 1;
  params.n_threads = params.n_threads_batch = 4;
  params.rope_scaling_type = LLAMA_ROPE_SCALING_TYPE_UNSPECIFIED;
  params.pooling_type = LLAMA_POOLING_TYPE_UNSPECIFIED;
  params.attention_type = LLAMA_ATTENTION_TYPE_UNSPECIFIED;
  params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_AUTO;
  params.yarn_ext_factor = params.yarn_attn_factor = params.yarn_beta_fast = params.yarn_beta_slow = -1;
  params.defrag_thold = -1;
  params.type_k = params.type_v = GGML_TYPE_F16;
  params.offload_kqv = params.no_perf = params.op_offload = params.swa_full = true;
  return params;
}

llama_context* llama_init_from_model(llama_model* model, llama_context_params params) {
  return llama_answer(__func__, static_cast<llama_context*>(nullptr),
                      [&, function = __func__]() -> Result<llama_context*> {
                        auto known = llama_model_of(function, model);
                        if (!known) return nullptr;
                        PARLANCE_TRY(auto context, LlamaContext::create(model, std::move(known), params));
                        return static_cast<llama_context*>(handles().add(std::move(context)));
                      });
}

void llama_free(llama_context* ctx) {
  llama_do(__func__, [&]() -> Result<void> {
    handles().remove<LlamaContext>(ctx);
    return {};
  });
}

uint32_t llama_n_ctx(const llama_context* ctx) {
  return about_context(__func__, ctx, 0u, [](const LlamaContext& c) { return c.shape().n_ctx; });
}

uint32_t llama_n_ctx_seq(const llama_context* ctx) {
  return about_context(__func__, ctx, 0u, [](const LlamaContext& c) { return c.shape().n_ctx_seq; });
}

uint32_t llama_n_batch(const llama_context* ctx) {
  return about_context(__func__, ctx, 0u, [](const LlamaContext& c) { return c.shape().n_batch; });
}

uint32_t llama_n_ubatch(const llama_context* ctx) {
  return about_context(__func__, ctx, 0u, [](const LlamaContext& c) { return c.shape().n_ubatch; });
}

uint32_t llama_n_seq_max(const llama_context* ctx) {
  return about_context(__func__, ctx, 0u, [](const LlamaContext& c) { return c.shape().n_seq_max; });
}

int32_t llama_n_threads(llama_context* ctx) {
  return about_context(__func__, ctx, 0, [](const LlamaContext& c) { return c.shape().n_threads; });
}

int32_t llama_n_threads_batch(llama_context* ctx) {
  return about_context(__func__, ctx, 0, [](const LlamaContext& c) { return c.shape().n_threads_batch; });
}

const llama_model* llama_get_model(const llama_context* ctx) {
  return about_context(__func__, ctx, static_cast<const llama_model*>(nullptr),
                       [](const LlamaContext& c) { return c.model_handle(); });
}

llama_memory_t llama_get_memory(const llama_context* ctx) {
  return about_context(__func__, ctx, llama_memory_t(), [&](const LlamaContext&) {
    return reinterpret_cast<llama_memory_t>(const_cast<llama_context*>(ctx));
  });
}

enum llama_pooling_type llama_pooling_type(const llama_context* ctx) {
  return about_context(__func__, ctx, LLAMA_POOLING_TYPE_UNSPECIFIED,
                       [](const LlamaContext& c) { return c.shape().pooling; });
}

// What a program may ask for; attention is computed in one way.
const char* llama_flash_attn_type_name(llama_flash_attn_type flash_attn_type) {
  switch (flash_attn_type) {
    case LLAMA_FLASH_ATTN_TYPE_AUTO:
      return "auto";
    case LLAMA_FLASH_ATTN_TYPE_DISABLED:
      return "disabled";
    case LLAMA_FLASH_ATTN_TYPE_ENABLED:
      return "enabled";
  }
  return "unknown";
}

void llama_set_n_threads(llama_context* ctx, int32_t n_threads, int32_t n_threads_batch) {
  with_llama_context(__func__, ctx, false, [&](LlamaContext& c) -> Result<bool> {
    c.set_threads(n_threads, n_threads_batch);
    return true;
  });
}

void llama_set_embeddings(llama_context* ctx, bool embeddings) {
  with_llama_context(__func__, ctx, false, [&](LlamaContext& c) -> Result<bool> {
    c.set_embeddings(embeddings);
    return true;
  });
}

void llama_set_abort_callback(llama_context* ctx, ggml_abort_callback abort_callback,
                              void* abort_callback_data) {
  with_llama_context(__func__, ctx, false, [&](LlamaContext& c) -> Result<bool> {
    c.set_abort(abort_callback, abort_callback_data);
    return true;
  });
}

// None can be loaded, so that none is all that can be set.
int32_t llama_set_adapters_lora(llama_context* ctx, llama_adapter_lora**, size_t n_adapters, float*) {
  return with_llama_context(__func__, ctx, -1, [&](LlamaContext&) -> Result<int32_t> {
    if (n_adapters > 0) return not_here("adapters", "weights are as the model's file has them");
    return 0;
  });
}

// What is computed is there when the call that asked for it returns.
void llama_synchronize(llama_context* ctx) {
  (void)llama_context_of(__func__, ctx);
}
