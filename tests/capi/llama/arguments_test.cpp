// Every function with what a caller may get wrong: no argument makes one crash. Texts and buffers are as long
// as the lengths that go with them; handles are of nothing, of something, freed, and numbers out of the air.
#include <array>
#include <climits>
#include <random>
#include <set>
#include <sstream>
#include <tuple>

#include "capi/llama/support.h"
#include "devices/devices.h"

namespace parlance::test {
namespace {

struct LlamaSupply {
  LlamaSupply() {
    for (auto& buffer : buffers) buffer.resize(size_t{1} << 16);
    for (const char* text :
         {"", "hello", "root ::= \"a\"", "{{ messages }}", "general.name", "\xff\xfe\x80 bytes", "/"}) {
      texts.emplace_back(text);
      texts.back().resize(1024);
    }
    llama_context_params params = llama_context_default_params();
    params.n_seq_max = 2;
    live_context = demo_llama_context(params);
    llama_model* const model =
        llama_model_load_from_file(demo_text_file().c_str(), llama_model_default_params());
    llama_context* const context = llama_init_from_model(model, params);
    freed_model = model;
    freed_context = context;
    llama_free(context);
    llama_model_free(model);
    live_chain.reset(llama_sampler_chain_init(llama_sampler_chain_default_params()));
    live_greedy.reset(llama_sampler_init_greedy());
    freed_sampler = llama_sampler_init_greedy();
    llama_sampler_free(freed_sampler);
  }

  std::array<std::vector<char>, 4> buffers;
  std::vector<std::string> texts;
  OwnedLlamaContext live_context;
  OwnedSampler live_chain, live_greedy;
  void *freed_model, *freed_context;
  llama_sampler* freed_sampler;
  std::mt19937 random{1};

  size_t choose(size_t n) { return random() % n; }
  template <class T, size_t n>
  T one_of(const std::array<T, n>& values) {
    return values[choose(n)];
  }
};

void* out_of_the_air() {
  return reinterpret_cast<void*>(0x123456789);
}

template <class T>
struct LlamaCandidates;  // one for each type of an argument

template <class T>
requires(std::is_integral_v<T> || std::is_enum_v<T>) struct LlamaCandidates<T> {
  static T take(LlamaSupply& s) {
    constexpr std::array kValues = {0, 1, 2, 5, 512, -1, -2, INT_MIN};
    const int value = s.one_of(kValues);
    if constexpr (std::is_unsigned_v<T>) return static_cast<T>(std::max(value, 0));
    return static_cast<T>(value);
  }
};
template <>
struct LlamaCandidates<bool> {
  static bool take(LlamaSupply& s) { return s.choose(2) == 0; }
};
template <>
struct LlamaCandidates<float> {
  static float take(LlamaSupply& s) {
    return s.one_of(std::array{0.0f, 1.0f, 0.5f, -1.0f, 1e38f, std::nanf(""), HUGE_VALF});
  }
};
template <>
struct LlamaCandidates<const char*> {
  static const char* take(LlamaSupply& s) {
    return s.choose(5) == 0 ? nullptr : s.texts[s.choose(s.texts.size())].data();
  }
};
// Buffers of numbers and text.
template <class T>
requires(std::is_arithmetic_v<std::remove_const_t<T>>) struct LlamaCandidates<T*> {
  static T* take(LlamaSupply& s) {
    if (s.choose(3) == 0) return nullptr;
    auto& buffer = s.buffers[s.choose(s.buffers.size())];
    std::fill(buffer.begin(), buffer.end(), static_cast<char>(s.choose(3) == 0 ? 0x7f : 0));
    return reinterpret_cast<T*>(buffer.data());
  }
};
template <>
struct LlamaCandidates<void*> {
  static void* take(LlamaSupply&) { return nullptr; }
};
template <>
struct LlamaCandidates<void**> {
  static void** take(LlamaSupply& s) {
    static void* place;
    return s.choose(2) == 0 ? nullptr : &place;
  }
};
template <>
struct LlamaCandidates<const char**> {
  static const char** take(LlamaSupply& s) {
    static std::array<const char*, 512> places;
    return s.choose(2) == 0 ? nullptr : places.data();
  }
};
template <class T>
struct LlamaHandle {
  template <size_t n>
  static T* of(LlamaSupply& s, const std::array<void*, n>& values) {
    return static_cast<T*>(s.one_of(values));
  }
};
template <>
struct LlamaCandidates<llama_model*> {
  static llama_model* take(LlamaSupply& s) {
    return LlamaHandle<llama_model>::of(s, std::array<void*, 5>{nullptr, demo_llama(), s.freed_model,
                                                                s.live_context.get(), out_of_the_air()});
  }
};
template <>
struct LlamaCandidates<const llama_model*> : LlamaCandidates<llama_model*> {};
template <>
struct LlamaCandidates<const llama_vocab*> {
  static const llama_vocab* take(LlamaSupply& s) {
    return reinterpret_cast<const llama_vocab*>(LlamaCandidates<llama_model*>::take(s));
  }
};
template <>
struct LlamaCandidates<llama_context*> {
  static llama_context* take(LlamaSupply& s) {
    return LlamaHandle<llama_context>::of(
        s,
        std::array<void*, 5>{nullptr, s.live_context.get(), s.freed_context, demo_llama(), out_of_the_air()});
  }
};
template <>
struct LlamaCandidates<const llama_context*> : LlamaCandidates<llama_context*> {};
template <>
struct LlamaCandidates<llama_memory_t> {
  static llama_memory_t take(LlamaSupply& s) {
    return reinterpret_cast<llama_memory_t>(LlamaCandidates<llama_context*>::take(s));
  }
};
template <>
struct LlamaCandidates<llama_sampler*> {
  static llama_sampler* take(LlamaSupply& s) {
    return LlamaHandle<llama_sampler>::of(
        s, std::array<void*, 5>{nullptr, s.live_chain.get(), s.live_greedy.get(), s.freed_sampler,
                                out_of_the_air()});
  }
};
template <>
struct LlamaCandidates<const llama_sampler*> : LlamaCandidates<llama_sampler*> {};
template <>
struct LlamaCandidates<llama_token_data_array*> {
  static llama_token_data_array* take(LlamaSupply& s) {
    static std::array<llama_token_data, 3> data = {{{0, 1, 0}, {1, 2, 0}, {2, 0, 0}}};
    static llama_token_data_array array;
    array = {s.choose(4) == 0 ? nullptr : data.data(), s.choose(4), -1, s.choose(2) == 0};
    return s.choose(4) == 0 ? nullptr : &array;
  }
};
template <>
struct LlamaCandidates<llama_sampler_i*> {
  static llama_sampler_i* take(LlamaSupply&) { return nullptr; }
};
template <>
struct LlamaCandidates<const llama_logit_bias*> {
  static const llama_logit_bias* take(LlamaSupply& s) {
    static const std::array<llama_logit_bias, 512> biases = {};
    return s.choose(3) == 0 ? nullptr : biases.data();
  }
};
template <>
struct LlamaCandidates<const llama_chat_message*> {
  static const llama_chat_message* take(LlamaSupply& s) {
    static std::array<llama_chat_message, 512> messages = {};
    messages[1] = {"user", "\xff"};
    return s.choose(3) == 0 ? nullptr : messages.data();
  }
};
template <>
struct LlamaCandidates<llama_adapter_lora**> {
  static llama_adapter_lora** take(LlamaSupply&) { return nullptr; }
};
template <>
struct LlamaCandidates<llama_sampler_chain_params> {
  static llama_sampler_chain_params take(LlamaSupply&) { return {}; }
};
template <>
struct LlamaCandidates<llama_model_params> {
  static llama_model_params take(LlamaSupply& s) {
    llama_model_params params = llama_model_default_params();
    params.n_gpu_layers = LlamaCandidates<int32_t>::take(s);
    params.split_mode = LlamaCandidates<llama_split_mode>::take(s);
    params.load_mode = LlamaCandidates<llama_load_mode>::take(s);
    params.vocab_only = s.choose(2) == 0;
    return params;
  }
};
template <>
struct LlamaCandidates<llama_context_params> {
  static llama_context_params take(LlamaSupply& s) {
    llama_context_params params = llama_context_default_params();
    for (uint32_t* number : {&params.n_ctx, &params.n_batch, &params.n_ubatch, &params.n_seq_max}) {
      if (s.choose(2) == 0) *number = s.one_of(std::array{0u, 1u, 5u, 64u, 300u, UINT32_MAX});
    }
    params.n_threads = LlamaCandidates<int32_t>::take(s);
    params.pooling_type =
        s.choose(2) == 0 ? LLAMA_POOLING_TYPE_MEAN : LlamaCandidates<enum llama_pooling_type>::take(s);
    if (s.choose(4) == 0) params.type_k = LlamaCandidates<ggml_type>::take(s);
    params.embeddings = s.choose(2) == 0;
    return params;
  }
};
template <>
struct LlamaCandidates<llama_batch> {
  static llama_batch take(LlamaSupply& s) {
    static std::array<llama_token, 512> tokens = {1, 2, 3};
    static std::array<llama_pos, 512> positions = {0, 1, 2};
    static std::array<int8_t, 512> wanted = {1};
    llama_batch batch = {};
    batch.n_tokens = s.one_of(std::array{0, 1, 3, 500, -1, INT_MIN});
    if (s.choose(4) != 0) batch.token = tokens.data();
    if (s.choose(2) == 0) batch.pos = positions.data();
    if (s.choose(2) == 0) batch.logits = wanted.data();
    return batch;
  }
};
template <>
struct LlamaCandidates<ggml_log_callback*> {
  static ggml_log_callback* take(LlamaSupply& s) {
    static ggml_log_callback place;
    return s.choose(2) == 0 ? nullptr : &place;
  }
};
template <class R, class... Args>
struct LlamaCandidates<R (*)(Args...)> {
  static R (*take(LlamaSupply&))(Args...) { return nullptr; }
};

// What is made goes again.
template <class R>
void end_result(R result) {
  if constexpr (std::is_same_v<R, llama_model*>) llama_model_free(result);
  if constexpr (std::is_same_v<R, llama_context*>) llama_free(result);
}

template <class R, class... Args>
void provoke_llama(const char* name, R (*function)(Args...), LlamaSupply& s, int n_calls) {
  SCOPED_TRACE(name);
  for (int i = 0; i < n_calls; ++i) {
    std::tuple<Args...> args{LlamaCandidates<Args>::take(s)...};
    if constexpr (std::is_void_v<R>) {
      std::apply(function, args);
    } else {
      const R result = std::apply(function, args);
      if (std::string(name) != "llama_get_model") end_result(result);
      if constexpr (std::is_same_v<R, llama_sampler*>) {
        const std::string made_by = name;
        if (made_by.starts_with("llama_sampler_init") || made_by == "llama_sampler_chain_init" ||
            made_by == "llama_sampler_clone")
          llama_sampler_free(result);
      }
    }
  }
}

#define PARLANCE_EVERY_LLAMA(X)                                                                                                                                      \
  X(llama_backend_init)                                                                                                                                              \
  X(llama_backend_free)                                                                                                                                              \
  X(llama_numa_init) X(llama_version) X(llama_print_system_info) X(llama_time_us) X(llama_max_devices) X(                                                            \
      llama_max_parallel_sequences) X(llama_max_tensor_buft_overrides) X(llama_supports_mmap)                                                                        \
      X(llama_supports_mlock) X(llama_supports_rpc) X(llama_log_get) X(ggml_backend_load_all) X(                                                                     \
          ggml_time_us) X(llama_model_default_params) X(llama_model_load_from_file) X(llama_model_get_vocab)                                                         \
          X(llama_model_n_ctx_train) X(llama_model_n_embd) X(llama_model_n_embd_inp) X(                                                                              \
              llama_model_n_embd_out) X(llama_model_n_layer) X(llama_model_n_head) X(llama_model_n_head_kv)                                                          \
              X(llama_model_size) X(llama_model_n_params) X(llama_model_desc) X(llama_model_meta_val_str) X(                                                         \
                  llama_model_meta_count) X(llama_model_meta_key_str) X(llama_model_meta_key_by_index)                                                               \
                  X(llama_model_meta_val_str_by_index) X(llama_model_chat_template) X(llama_model_has_encoder) X(                                                    \
                      llama_model_has_decoder) X(llama_model_decoder_start_token) X(llama_model_is_recurrent)                                                        \
                      X(llama_model_is_hybrid) X(llama_model_n_cls_out) X(llama_model_cls_label) X(                                                                  \
                          llama_vocab_type) X(llama_vocab_n_tokens) X(llama_vocab_get_text) X(llama_vocab_get_attr)                                                  \
                          X(llama_vocab_is_eog) X(llama_vocab_is_control) X(llama_vocab_bos) X(llama_vocab_eos) X(                                                   \
                              llama_vocab_eot) X(llama_vocab_sep) X(llama_vocab_nl) X(llama_vocab_pad)                                                               \
                              X(llama_vocab_mask) X(llama_vocab_get_add_bos) X(llama_vocab_get_add_eos) X(                                                           \
                                  llama_vocab_get_add_sep) X(llama_vocab_get_suppress_tokens) X(llama_tokenize)                                                      \
                                  X(llama_token_to_piece) X(llama_detokenize) X(llama_chat_apply_template) X(                                                        \
                                      llama_chat_builtin_templates) X(llama_context_default_params)                                                                  \
                                      X(llama_init_from_model) X(llama_n_ctx) X(llama_n_ctx_seq) X(                                                                  \
                                          llama_n_batch) X(llama_n_ubatch) X(llama_n_seq_max)                                                                        \
                                          X(llama_get_model) X(llama_get_memory) X(llama_pooling_type) X(                                                            \
                                              llama_flash_attn_type_name) X(llama_set_n_threads) X(llama_n_threads)                                                  \
                                              X(llama_n_threads_batch) X(llama_set_embeddings) X(                                                                    \
                                                  llama_set_abort_callback) X(llama_set_adapters_lora)                                                               \
                                                  X(llama_synchronize) X(llama_batch_get_one) X(llama_encode) X(                                                     \
                                                      llama_decode) X(llama_get_logits) X(llama_get_logits_ith)                                                      \
                                                      X(llama_get_embeddings) X(llama_get_embeddings_ith) X(                                                         \
                                                          llama_get_embeddings_seq) X(llama_memory_clear)                                                            \
                                                          X(llama_memory_seq_rm) X(llama_memory_seq_cp) X(                                                           \
                                                              llama_memory_seq_keep) X(llama_memory_seq_add) X(llama_memory_seq_pos_min) X(llama_memory_seq_pos_max) \
                                                              X(llama_memory_can_shift) X(llama_state_seq_get_size) X(                                               \
                                                                  llama_state_seq_get_data) X(llama_state_seq_set_data)                                              \
                                                                  X(llama_state_seq_save_file) X(llama_state_seq_load_file) X(                                       \
                                                                      llama_sampler_init) X(llama_sampler_name) X(llama_sampler_accept)                              \
                                                                      X(llama_sampler_apply) X(                                                                      \
                                                                          llama_sampler_reset) X(llama_sampler_clone)                                                \
                                                                          X(llama_sampler_chain_default_params) X(                                                   \
                                                                              llama_sampler_chain_init) X(llama_sampler_chain_add)                                   \
                                                                              X(llama_sampler_chain_get) X(llama_sampler_chain_n) X(                                 \
                                                                                  llama_sampler_chain_remove) X(llama_sampler_init_greedy)                           \
                                                                                  X(llama_sampler_init_dist) X(llama_sampler_init_top_k) X(                          \
                                                                                      llama_sampler_init_top_p) X(llama_sampler_init_min_p)                          \
                                                                                      X(llama_sampler_init_typical) X(                                               \
                                                                                          llama_sampler_init_temp)                                                   \
                                                                                          X(llama_sampler_init_temp_ext) X(                                          \
                                                                                              llama_sampler_init_penalties)                                          \
                                                                                              X(llama_sampler_init_logit_bias) X(                                    \
                                                                                                  llama_sampler_init_grammar)                                        \
                                                                                                  X(llama_sampler_get_seed) X(                                       \
                                                                                                      llama_sampler_sample)                                          \
                                                                                                      X(llama_perf_context) X(                                       \
                                                                                                          llama_perf_context_print)                                  \
                                                                                                          X(llama_perf_context_reset)                                \
                                                                                                              X(llama_perf_sampler)                                  \
                                                                                                                  X(llama_perf_sampler_print)                        \
                                                                                                                      X(llama_perf_sampler_reset)

// What frees what it is given, or sets what every test hears, or ends the program; asked for by itself below.
const std::set<std::string> kLlamaElsewhere = {
    "llama_model_free",   "llama_free",    "llama_batch_init", "llama_batch_free",
    "llama_sampler_free", "llama_log_set", "ggml_abort",       "llama_supports_gpu_offload"};

TEST(LlamaArguments, NoneCrashes) {
  const TemporaryFolder folder;  // where files are written whose names are any text
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  LlamaSupply supply;
  const LlamaLog log;
#define PARLANCE_PROVOKE_LLAMA(name) provoke_llama(#name, &name, supply, 60);
  PARLANCE_EVERY_LLAMA(PARLANCE_PROVOKE_LLAMA)
  std::filesystem::current_path(before);
  EXPECT_FALSE(log.text.empty());
}

TEST(LlamaArguments, NoneFreesTwice) {
  LlamaSupply supply;
  const LlamaLog log;
  for (int i = 0; i < 3; ++i) {
    llama_model_free(static_cast<llama_model*>(supply.freed_model));
    llama_free(static_cast<llama_context*>(supply.freed_context));
    llama_sampler_free(supply.freed_sampler);
    llama_sampler_free(static_cast<llama_sampler*>(out_of_the_air()));
    llama_free(reinterpret_cast<llama_context*>(demo_llama()));  // of another kind
  }
  llama_model_free(nullptr);
  llama_free(nullptr);
  llama_sampler_free(nullptr);
  EXPECT_EQ(llama_model_n_layer(demo_llama()), 6);
  for (const auto& [n_tokens, embd, n_seq] : {std::tuple(0, 0, 0),
                                              {1, 0, 1},
                                              {3, 4, 2},
                                              {-1, 0, 1},
                                              {1, -1, 1},
                                              {1, 0, -1},
                                              {INT_MAX, INT_MAX, INT_MAX}})
    llama_batch_free(llama_batch_init(n_tokens, embd, n_seq));
}

TEST(LlamaArguments, GpusAreThoseThatTheLibraryFinds) {
  bool has_gpu = false;
  for (const Backend& backend : list_backends()) {
    has_gpu = has_gpu || (backend.name != "cpu" && backend.devices && !backend.devices->empty());
  }
  EXPECT_EQ(llama_supports_gpu_offload(), has_gpu);
}

TEST(LlamaArguments, EveryFunctionIsProvoked) {
  std::set<std::string> here = kLlamaElsewhere, exported;
#define PARLANCE_NAME_LLAMA(name) here.insert(#name);
  PARLANCE_EVERY_LLAMA(PARLANCE_NAME_LLAMA)
  std::istringstream table(read_text(source_root() / "src/capi/exports.txt"));
  for (std::string line; std::getline(table, line);) {
    if (line.starts_with("llama_") || line.starts_with("ggml_"))
      exported.insert(line.substr(0, line.find(' ')));
  }
  EXPECT_EQ(here, exported);
}

TEST(LlamaDeathTest, AbortSaysWhere) {
  EXPECT_DEATH(ggml_abort("file.cpp", 7, "%s %d", "because", 3), "file.cpp:7: because 3");
}

}  // namespace
}  // namespace parlance::test
