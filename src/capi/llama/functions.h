// The functions of llama.cpp's C interface that this library has. It can be read behind types.h and behind
// the header itself: a test does the latter, so that no declaration differs. What they do, docs/c-library.md
// says where it differs from llama.cpp. Objects may be used from any thread; a context by one at a time.
#pragma once

#define PARLANCE_LLAMA_API __attribute__((visibility("default")))

extern "C" {

// The library (library.cpp)
PARLANCE_LLAMA_API void llama_backend_init(void);
PARLANCE_LLAMA_API void llama_backend_free(void);
PARLANCE_LLAMA_API void llama_numa_init(enum ggml_numa_strategy numa);
PARLANCE_LLAMA_API const char* llama_version(void);
PARLANCE_LLAMA_API const char* llama_print_system_info(void);
PARLANCE_LLAMA_API int64_t llama_time_us(void);
PARLANCE_LLAMA_API size_t llama_max_devices(void);
PARLANCE_LLAMA_API size_t llama_max_parallel_sequences(void);
PARLANCE_LLAMA_API size_t llama_max_tensor_buft_overrides(void);
PARLANCE_LLAMA_API bool llama_supports_mmap(void);
PARLANCE_LLAMA_API bool llama_supports_mlock(void);
PARLANCE_LLAMA_API bool llama_supports_gpu_offload(void);
PARLANCE_LLAMA_API bool llama_supports_rpc(void);
PARLANCE_LLAMA_API void llama_log_get(ggml_log_callback* log_callback, void** user_data);
PARLANCE_LLAMA_API void llama_log_set(ggml_log_callback log_callback, void* user_data);
PARLANCE_LLAMA_API void ggml_backend_load_all(void);
PARLANCE_LLAMA_API int64_t ggml_time_us(void);
[[noreturn]] PARLANCE_LLAMA_API void ggml_abort(const char* file, int line, const char* fmt, ...);

// Models (model.cpp, metadata.cpp)
PARLANCE_LLAMA_API struct llama_model_params llama_model_default_params(void);
PARLANCE_LLAMA_API struct llama_model* llama_model_load_from_file(const char* path_model,
                                                                  struct llama_model_params params);
PARLANCE_LLAMA_API void llama_model_free(struct llama_model* model);
PARLANCE_LLAMA_API const struct llama_vocab* llama_model_get_vocab(const struct llama_model* model);
PARLANCE_LLAMA_API int32_t llama_model_n_ctx_train(const struct llama_model* model);
PARLANCE_LLAMA_API int32_t llama_model_n_embd(const struct llama_model* model);
PARLANCE_LLAMA_API int32_t llama_model_n_embd_inp(const struct llama_model* model);
PARLANCE_LLAMA_API int32_t llama_model_n_embd_out(const struct llama_model* model);
PARLANCE_LLAMA_API int32_t llama_model_n_layer(const struct llama_model* model);
PARLANCE_LLAMA_API int32_t llama_model_n_head(const struct llama_model* model);
PARLANCE_LLAMA_API int32_t llama_model_n_head_kv(const struct llama_model* model);
PARLANCE_LLAMA_API uint64_t llama_model_size(const struct llama_model* model);
PARLANCE_LLAMA_API uint64_t llama_model_n_params(const struct llama_model* model);
PARLANCE_LLAMA_API int32_t llama_model_desc(const struct llama_model* model, char* buf, size_t buf_size);
PARLANCE_LLAMA_API int32_t llama_model_meta_val_str(const struct llama_model* model, const char* key,
                                                    char* buf, size_t buf_size);
PARLANCE_LLAMA_API int32_t llama_model_meta_count(const struct llama_model* model);
PARLANCE_LLAMA_API const char* llama_model_meta_key_str(enum llama_model_meta_key key);
PARLANCE_LLAMA_API int32_t llama_model_meta_key_by_index(const struct llama_model* model, int32_t i,
                                                         char* buf, size_t buf_size);
PARLANCE_LLAMA_API int32_t llama_model_meta_val_str_by_index(const struct llama_model* model, int32_t i,
                                                             char* buf, size_t buf_size);
PARLANCE_LLAMA_API const char* llama_model_chat_template(const struct llama_model* model, const char* name);
PARLANCE_LLAMA_API bool llama_model_has_encoder(const struct llama_model* model);
PARLANCE_LLAMA_API bool llama_model_has_decoder(const struct llama_model* model);
PARLANCE_LLAMA_API llama_token llama_model_decoder_start_token(const struct llama_model* model);
PARLANCE_LLAMA_API bool llama_model_is_recurrent(const struct llama_model* model);
PARLANCE_LLAMA_API bool llama_model_is_hybrid(const struct llama_model* model);
PARLANCE_LLAMA_API uint32_t llama_model_n_cls_out(const struct llama_model* model);
PARLANCE_LLAMA_API const char* llama_model_cls_label(const struct llama_model* model, uint32_t i);

// Vocabularies (vocabulary.cpp, chat_template.cpp)
PARLANCE_LLAMA_API enum llama_vocab_type llama_vocab_type(const struct llama_vocab* vocab);
PARLANCE_LLAMA_API int32_t llama_vocab_n_tokens(const struct llama_vocab* vocab);
PARLANCE_LLAMA_API const char* llama_vocab_get_text(const struct llama_vocab* vocab, llama_token token);
PARLANCE_LLAMA_API enum llama_token_attr llama_vocab_get_attr(const struct llama_vocab* vocab,
                                                              llama_token token);
PARLANCE_LLAMA_API bool llama_vocab_is_eog(const struct llama_vocab* vocab, llama_token token);
PARLANCE_LLAMA_API bool llama_vocab_is_control(const struct llama_vocab* vocab, llama_token token);
PARLANCE_LLAMA_API llama_token llama_vocab_bos(const struct llama_vocab* vocab);
PARLANCE_LLAMA_API llama_token llama_vocab_eos(const struct llama_vocab* vocab);
PARLANCE_LLAMA_API llama_token llama_vocab_eot(const struct llama_vocab* vocab);
PARLANCE_LLAMA_API llama_token llama_vocab_sep(const struct llama_vocab* vocab);
PARLANCE_LLAMA_API llama_token llama_vocab_nl(const struct llama_vocab* vocab);
PARLANCE_LLAMA_API llama_token llama_vocab_pad(const struct llama_vocab* vocab);
PARLANCE_LLAMA_API llama_token llama_vocab_mask(const struct llama_vocab* vocab);
PARLANCE_LLAMA_API bool llama_vocab_get_add_bos(const struct llama_vocab* vocab);
PARLANCE_LLAMA_API bool llama_vocab_get_add_eos(const struct llama_vocab* vocab);
PARLANCE_LLAMA_API bool llama_vocab_get_add_sep(const struct llama_vocab* vocab);
PARLANCE_LLAMA_API const llama_token* llama_vocab_get_suppress_tokens(const struct llama_vocab* vocab,
                                                                      int32_t* n_suppress_tokens);
PARLANCE_LLAMA_API int32_t llama_tokenize(const struct llama_vocab* vocab, const char* text, int32_t text_len,
                                          llama_token* tokens, int32_t n_tokens_max, bool add_special,
                                          bool parse_special);
PARLANCE_LLAMA_API int32_t llama_token_to_piece(const struct llama_vocab* vocab, llama_token token, char* buf,
                                                int32_t length, int32_t lstrip, bool special);
PARLANCE_LLAMA_API int32_t llama_detokenize(const struct llama_vocab* vocab, const llama_token* tokens,
                                            int32_t n_tokens, char* text, int32_t text_len_max,
                                            bool remove_special, bool unparse_special);
PARLANCE_LLAMA_API int32_t llama_chat_apply_template(const char* tmpl, const struct llama_chat_message* chat,
                                                     size_t n_msg, bool add_ass, char* buf, int32_t length);
PARLANCE_LLAMA_API int32_t llama_chat_builtin_templates(const char** output, size_t len);

// Contexts (context.cpp)
PARLANCE_LLAMA_API struct llama_context_params llama_context_default_params(void);
PARLANCE_LLAMA_API struct llama_context* llama_init_from_model(struct llama_model* model,
                                                               struct llama_context_params params);
PARLANCE_LLAMA_API void llama_free(struct llama_context* ctx);
PARLANCE_LLAMA_API uint32_t llama_n_ctx(const struct llama_context* ctx);
PARLANCE_LLAMA_API uint32_t llama_n_ctx_seq(const struct llama_context* ctx);
PARLANCE_LLAMA_API uint32_t llama_n_batch(const struct llama_context* ctx);
PARLANCE_LLAMA_API uint32_t llama_n_ubatch(const struct llama_context* ctx);
PARLANCE_LLAMA_API uint32_t llama_n_seq_max(const struct llama_context* ctx);
PARLANCE_LLAMA_API const struct llama_model* llama_get_model(const struct llama_context* ctx);
PARLANCE_LLAMA_API llama_memory_t llama_get_memory(const struct llama_context* ctx);
PARLANCE_LLAMA_API enum llama_pooling_type llama_pooling_type(const struct llama_context* ctx);
PARLANCE_LLAMA_API const char* llama_flash_attn_type_name(enum llama_flash_attn_type flash_attn_type);
PARLANCE_LLAMA_API void llama_set_n_threads(struct llama_context* ctx, int32_t n_threads,
                                            int32_t n_threads_batch);
PARLANCE_LLAMA_API int32_t llama_n_threads(struct llama_context* ctx);
PARLANCE_LLAMA_API int32_t llama_n_threads_batch(struct llama_context* ctx);
PARLANCE_LLAMA_API void llama_set_embeddings(struct llama_context* ctx, bool embeddings);
PARLANCE_LLAMA_API void llama_set_abort_callback(struct llama_context* ctx,
                                                 ggml_abort_callback abort_callback,
                                                 void* abort_callback_data);
PARLANCE_LLAMA_API int32_t llama_set_adapters_lora(struct llama_context* ctx,
                                                   struct llama_adapter_lora** adapters, size_t n_adapters,
                                                   float* scales);
PARLANCE_LLAMA_API void llama_synchronize(struct llama_context* ctx);

// Batches and what comes of them (batch.cpp, decode.cpp)
PARLANCE_LLAMA_API struct llama_batch llama_batch_get_one(llama_token* tokens, int32_t n_tokens);
PARLANCE_LLAMA_API struct llama_batch llama_batch_init(int32_t n_tokens, int32_t embd, int32_t n_seq_max);
PARLANCE_LLAMA_API void llama_batch_free(struct llama_batch batch);
PARLANCE_LLAMA_API int32_t llama_encode(struct llama_context* ctx, struct llama_batch batch);
PARLANCE_LLAMA_API int32_t llama_decode(struct llama_context* ctx, struct llama_batch batch);
PARLANCE_LLAMA_API float* llama_get_logits(struct llama_context* ctx);
PARLANCE_LLAMA_API float* llama_get_logits_ith(struct llama_context* ctx, int32_t i);
PARLANCE_LLAMA_API float* llama_get_embeddings(struct llama_context* ctx);
PARLANCE_LLAMA_API float* llama_get_embeddings_ith(struct llama_context* ctx, int32_t i);
PARLANCE_LLAMA_API float* llama_get_embeddings_seq(struct llama_context* ctx, llama_seq_id seq_id);

// What sequences hold (memory.cpp, state.cpp)
PARLANCE_LLAMA_API void llama_memory_clear(llama_memory_t mem, bool data);
PARLANCE_LLAMA_API bool llama_memory_seq_rm(llama_memory_t mem, llama_seq_id seq_id, llama_pos p0,
                                            llama_pos p1);
PARLANCE_LLAMA_API void llama_memory_seq_cp(llama_memory_t mem, llama_seq_id seq_id_src,
                                            llama_seq_id seq_id_dst, llama_pos p0, llama_pos p1);
PARLANCE_LLAMA_API void llama_memory_seq_keep(llama_memory_t mem, llama_seq_id seq_id);
PARLANCE_LLAMA_API void llama_memory_seq_add(llama_memory_t mem, llama_seq_id seq_id, llama_pos p0,
                                             llama_pos p1, llama_pos delta);
PARLANCE_LLAMA_API llama_pos llama_memory_seq_pos_min(llama_memory_t mem, llama_seq_id seq_id);
PARLANCE_LLAMA_API llama_pos llama_memory_seq_pos_max(llama_memory_t mem, llama_seq_id seq_id);
PARLANCE_LLAMA_API bool llama_memory_can_shift(llama_memory_t mem);
PARLANCE_LLAMA_API size_t llama_state_seq_get_size(struct llama_context* ctx, llama_seq_id seq_id);
PARLANCE_LLAMA_API size_t llama_state_seq_get_data(struct llama_context* ctx, uint8_t* dst, size_t size,
                                                   llama_seq_id seq_id);
PARLANCE_LLAMA_API size_t llama_state_seq_set_data(struct llama_context* ctx, const uint8_t* src, size_t size,
                                                   llama_seq_id dest_seq_id);
PARLANCE_LLAMA_API size_t llama_state_seq_save_file(struct llama_context* ctx, const char* filepath,
                                                    llama_seq_id seq_id, const llama_token* tokens,
                                                    size_t n_token_count);
PARLANCE_LLAMA_API size_t llama_state_seq_load_file(struct llama_context* ctx, const char* filepath,
                                                    llama_seq_id dest_seq_id, llama_token* tokens_out,
                                                    size_t n_token_capacity, size_t* n_token_count_out);

// Samplers (sampler.cpp, sampler_chain.cpp, and the kinds in sampler_*.cpp)
PARLANCE_LLAMA_API struct llama_sampler* llama_sampler_init(struct llama_sampler_i* iface, void* ctx);
PARLANCE_LLAMA_API const char* llama_sampler_name(const struct llama_sampler* smpl);
PARLANCE_LLAMA_API void llama_sampler_accept(struct llama_sampler* smpl, llama_token token);
PARLANCE_LLAMA_API void llama_sampler_apply(struct llama_sampler* smpl, struct llama_token_data_array* cur_p);
PARLANCE_LLAMA_API void llama_sampler_reset(struct llama_sampler* smpl);
PARLANCE_LLAMA_API struct llama_sampler* llama_sampler_clone(const struct llama_sampler* smpl);
PARLANCE_LLAMA_API void llama_sampler_free(struct llama_sampler* smpl);
PARLANCE_LLAMA_API struct llama_sampler_chain_params llama_sampler_chain_default_params(void);
PARLANCE_LLAMA_API struct llama_sampler* llama_sampler_chain_init(struct llama_sampler_chain_params params);
PARLANCE_LLAMA_API void llama_sampler_chain_add(struct llama_sampler* chain, struct llama_sampler* smpl);
PARLANCE_LLAMA_API struct llama_sampler* llama_sampler_chain_get(struct llama_sampler* chain, int32_t i);
PARLANCE_LLAMA_API int32_t llama_sampler_chain_n(const struct llama_sampler* chain);
PARLANCE_LLAMA_API struct llama_sampler* llama_sampler_chain_remove(struct llama_sampler* chain, int32_t i);
PARLANCE_LLAMA_API struct llama_sampler* llama_sampler_init_greedy(void);
PARLANCE_LLAMA_API struct llama_sampler* llama_sampler_init_dist(uint32_t seed);
PARLANCE_LLAMA_API struct llama_sampler* llama_sampler_init_top_k(int32_t k);
PARLANCE_LLAMA_API struct llama_sampler* llama_sampler_init_top_p(float p, size_t min_keep);
PARLANCE_LLAMA_API struct llama_sampler* llama_sampler_init_min_p(float p, size_t min_keep);
PARLANCE_LLAMA_API struct llama_sampler* llama_sampler_init_typical(float p, size_t min_keep);
PARLANCE_LLAMA_API struct llama_sampler* llama_sampler_init_temp(float t);
PARLANCE_LLAMA_API struct llama_sampler* llama_sampler_init_temp_ext(float t, float delta, float exponent);
PARLANCE_LLAMA_API struct llama_sampler* llama_sampler_init_penalties(int32_t n_vocab, int32_t penalty_last_n,
                                                                      float penalty_repeat,
                                                                      float penalty_freq,
                                                                      float penalty_present);
PARLANCE_LLAMA_API struct llama_sampler* llama_sampler_init_logit_bias(
    int32_t n_vocab, int32_t n_logit_bias, const struct llama_logit_bias* logit_bias);
PARLANCE_LLAMA_API struct llama_sampler* llama_sampler_init_grammar(const struct llama_vocab* vocab,
                                                                    const char* grammar_str,
                                                                    const char* grammar_root);
PARLANCE_LLAMA_API uint32_t llama_sampler_get_seed(const struct llama_sampler* smpl);
PARLANCE_LLAMA_API llama_token llama_sampler_sample(struct llama_sampler* smpl, struct llama_context* ctx,
                                                    int32_t idx);

// Times (perf.cpp)
PARLANCE_LLAMA_API struct llama_perf_context_data llama_perf_context(const struct llama_context* ctx);
PARLANCE_LLAMA_API void llama_perf_context_print(const struct llama_context* ctx);
PARLANCE_LLAMA_API void llama_perf_context_reset(struct llama_context* ctx);
PARLANCE_LLAMA_API struct llama_perf_sampler_data llama_perf_sampler(const struct llama_sampler* chain);
PARLANCE_LLAMA_API void llama_perf_sampler_print(const struct llama_sampler* chain);
PARLANCE_LLAMA_API void llama_perf_sampler_reset(struct llama_sampler* chain);

}  // extern "C"
