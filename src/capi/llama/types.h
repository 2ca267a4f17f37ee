// The structs and numbers of llama.cpp's C interface that this library implements, as the header of its
// release 0.7.0 lays them out for 64-bit machines: programs are compiled against that header and linked with
// this library. layout.def is held to both.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

// Handles: numbers that stand for objects, see capi/handles.h. A vocabulary is its model's number, a memory
// its context's.
struct llama_vocab;
struct llama_model;
struct llama_context;
struct llama_memory_i;
struct llama_sampler;
using llama_memory_t = llama_memory_i*;

using llama_token = int32_t;
using llama_pos = int32_t;
using llama_seq_id = int32_t;

constexpr llama_token LLAMA_TOKEN_NULL = -1;
constexpr uint32_t LLAMA_DEFAULT_SEED = 0xFFFFFFFF;  // one that differs from run to run

// Callers' numbers may be any.
enum llama_vocab_type : int { LLAMA_VOCAB_TYPE_NONE = 0, LLAMA_VOCAB_TYPE_SPM = 1, LLAMA_VOCAB_TYPE_BPE = 2 };
enum llama_token_attr : int {
  LLAMA_TOKEN_ATTR_UNDEFINED = 0,
  LLAMA_TOKEN_ATTR_UNKNOWN = 1,
  LLAMA_TOKEN_ATTR_UNUSED = 2,
  LLAMA_TOKEN_ATTR_NORMAL = 4,
  LLAMA_TOKEN_ATTR_CONTROL = 8,
  LLAMA_TOKEN_ATTR_USER_DEFINED = 16,
  LLAMA_TOKEN_ATTR_BYTE = 32,
};
enum llama_pooling_type : int {
  LLAMA_POOLING_TYPE_UNSPECIFIED = -1,  // as the file says
  LLAMA_POOLING_TYPE_NONE = 0,
  LLAMA_POOLING_TYPE_MEAN = 1,
  LLAMA_POOLING_TYPE_CLS = 2,
  LLAMA_POOLING_TYPE_LAST = 3,
  LLAMA_POOLING_TYPE_RANK = 4,
};
enum llama_rope_scaling_type : int { LLAMA_ROPE_SCALING_TYPE_UNSPECIFIED = -1 };
enum llama_attention_type : int {
  LLAMA_ATTENTION_TYPE_UNSPECIFIED = -1,
  LLAMA_ATTENTION_TYPE_CAUSAL = 0,
  LLAMA_ATTENTION_TYPE_NON_CAUSAL = 1,
};
enum llama_flash_attn_type : int {
  LLAMA_FLASH_ATTN_TYPE_AUTO = -1,
  LLAMA_FLASH_ATTN_TYPE_DISABLED = 0,
  LLAMA_FLASH_ATTN_TYPE_ENABLED = 1,
};
enum llama_context_type : int { LLAMA_CONTEXT_TYPE_DEFAULT = 0, LLAMA_CONTEXT_TYPE_MTP = 1 };
enum llama_split_mode : int {
  LLAMA_SPLIT_MODE_NONE = 0,
  LLAMA_SPLIT_MODE_LAYER = 1,
  LLAMA_SPLIT_MODE_ROW = 2,
  LLAMA_SPLIT_MODE_TENSOR = 3,
};
enum llama_load_mode : int {
  LLAMA_LOAD_MODE_AUTO = -1,
  LLAMA_LOAD_MODE_NONE = 0,
  LLAMA_LOAD_MODE_MMAP = 1,
  LLAMA_LOAD_MODE_MLOCK = 2,
  LLAMA_LOAD_MODE_MMAP_MLOCK = 3,
  LLAMA_LOAD_MODE_DIRECT_IO = 4,
};
enum llama_lazy_mode : int { LLAMA_LAZY_MODE_OFF = 0, LLAMA_LAZY_MODE_AUTO = 1, LLAMA_LAZY_MODE_ON = 2 };
enum llama_model_meta_key : int {
  LLAMA_MODEL_META_KEY_SAMPLING_SEQUENCE = 0,
  LLAMA_MODEL_META_KEY_SAMPLING_MIROSTAT_ETA = 11,
};
enum ggml_type : int { GGML_TYPE_F32 = 0, GGML_TYPE_F16 = 1 };  // of a cache; numbers as in base/dtype.h
enum ggml_log_level : int {
  GGML_LOG_LEVEL_NONE = 0,
  GGML_LOG_LEVEL_DEBUG = 1,
  GGML_LOG_LEVEL_INFO = 2,
  GGML_LOG_LEVEL_WARN = 3,
  GGML_LOG_LEVEL_ERROR = 4,
};
enum ggml_numa_strategy : int { GGML_NUMA_STRATEGY_DISABLED = 0 };

using ggml_log_callback = void (*)(ggml_log_level level, const char* text, void* user_data);
using ggml_abort_callback = bool (*)(void* data);
using llama_progress_callback = bool (*)(float progress, void* user_data);

// What this runtime does not have is a pointer that must be null, and not looked into.
struct ggml_backend_device;
struct ggml_tensor;
struct llama_adapter_lora;
struct llama_model_tensor_buft_override {
  const char* pattern;
  void* buft;
};
struct llama_model_kv_override {
  int tag;
  char key[128];
  alignas(8) char value[128];
};
struct llama_sampler_seq_config {
  llama_seq_id seq_id;
  llama_sampler* sampler;
};

struct llama_model_params {
  ggml_backend_device** devices;
  const llama_model_tensor_buft_override* tensor_buft_overrides;
  int32_t n_gpu_layers;  // below 0: all that fit
  llama_split_mode split_mode;
  llama_load_mode load_mode;
  llama_lazy_mode lazy_mode;
  int32_t main_gpu;
  const float* tensor_split;
  llama_progress_callback progress_callback;
  void* progress_callback_user_data;
  const llama_model_kv_override* kv_overrides;  // to one with an empty key
  bool vocab_only;
  bool check_tensors;
  bool use_extra_bufts;
  bool no_host;
  bool no_alloc;
  bool load_mtp;
};

struct llama_context_params {
  uint32_t n_ctx;  // tokens of all sequences; 0: as many as the model was trained for
  uint32_t n_batch;
  uint32_t n_ubatch;
  uint32_t n_seq_max;
  uint32_t n_rs_seq;
  uint32_t n_outputs_max;
  uint32_t n_outputs_max_per_seq;
  int32_t n_threads;
  int32_t n_threads_batch;
  llama_context_type ctx_type;
  llama_rope_scaling_type rope_scaling_type;
  enum llama_pooling_type pooling_type;
  llama_attention_type attention_type;
  llama_flash_attn_type flash_attn_type;
  float rope_freq_base;
  float rope_freq_scale;
  float yarn_ext_factor;
  float yarn_attn_factor;
  float yarn_beta_fast;
  float yarn_beta_slow;
  uint32_t yarn_orig_ctx;
  float defrag_thold;
  bool (*cb_eval)(ggml_tensor* tensor, bool ask, void* user_data);
  void* cb_eval_user_data;
  ggml_type type_k;
  ggml_type type_v;
  size_t moe_cache_size;
  ggml_abort_callback abort_callback;
  void* abort_callback_data;
  bool embeddings;
  bool offload_kqv;
  bool no_perf;
  bool op_offload;
  bool swa_full;
  bool kv_unified;
  llama_sampler_seq_config* samplers;
  size_t n_samplers;
  llama_context* ctx_other;
};

// Rows for the model. What is null: rows of `embd` in place of tokens; positions behind what the sequence
// holds; sequence 0; the outputs of the last row, or of all where embeddings are wanted.
struct llama_batch {
  int32_t n_tokens;
  llama_token* token;
  float* embd;
  llama_pos* pos;
  int32_t* n_seq_id;
  llama_seq_id** seq_id;
  int8_t* logits;
};

struct llama_token_data {
  llama_token id;
  float logit;
  float p;
};
struct llama_token_data_array {
  llama_token_data* data;
  size_t size;
  int64_t selected;  // index, not token
  bool sorted;       // by logit, descending
};
struct llama_logit_bias {
  llama_token token;
  float bias;
};
struct llama_sampler_chain_params {
  bool no_perf;
};
struct llama_chat_message {
  const char* role;
  const char* content;
};

// What programs implement to have samplers of their own. Where nothing is said a function may be null.
struct llama_sampler_i {
  const char* (*name)(const llama_sampler* smpl);
  void (*accept)(llama_sampler* smpl, llama_token token);
  void (*apply)(llama_sampler* smpl, llama_token_data_array* cur_p);  // never null
  void (*reset)(llama_sampler* smpl);
  llama_sampler* (*clone)(const llama_sampler* smpl);
  void (*free)(llama_sampler* smpl);
  void* of_graphs[6];  // for sampling on a device, which this library does not do
};
struct llama_sampler {
  llama_sampler_i* iface;
  void* ctx;
};

struct llama_perf_context_data {
  double t_start_ms;
  double t_load_ms;
  double t_p_eval_ms;
  double t_eval_ms;
  int32_t n_p_eval;
  int32_t n_eval;
  int32_t n_reused;
  int32_t n_reallocs_same;
  int32_t n_reallocs_diff;
};
struct llama_perf_sampler_data {
  double t_sample_ms;
  int32_t n_sample;
};

}  // extern "C"
