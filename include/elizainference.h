/* libelizainference: hearing, thinking and speaking from one folder of models, for programs in any language.
 *
 * The library comes in three profiles, which differ in what they call themselves and in which functions they
 * export: "3", "4" and "12". Define ELIZA_INFERENCE_ABI as one of these numbers before this header, as the
 * pkg-config files elizainference, elizainference-4 and elizainference-12 do; without it, it is 3.
 *
 * What holds for every function:
 *
 * Text      is UTF-8. Where a length goes with it, it counts bytes without a NUL, and no NUL is needed. Text
 * that is written to a caller's buffer ends in NUL and never inside a code point. Sound     is mono, 32-bit
 * floats, full scale at -1 and 1. Results   that are int: 0 or more is success, below 0 one of the codes.
 * Openers yield NULL instead. Errors    Where there is an out_error, a failure puts a sentence there that
 * names the thing, what was expected and the remedy. It is the caller's, for eliza_inference_free_string().
 * Success puts NULL there. Who passes NULL goes without. Any function that takes a context or handle refuses
 * one that is NULL, was closed or is of another kind with ELIZA_ERR_INVALID_ARG, and any argument with what
 * is wrong with it. Threads   Every function may be called from any thread; calls for one handle, and speech
 * or recognition of one context, wait for each other. Callbacks run on the thread that made the call they
 * belong to, before it returns. Inside of one only eliza_inference_cancel_tts(),
 * eliza_inference_llm_stream_cancel() and the functions that free may be called. Memory    What a caller
 * passes is read during the call only.
 */
#ifndef ELIZAINFERENCE_H
#define ELIZAINFERENCE_H

#include <stddef.h>
#include <stdint.h>

#ifndef ELIZA_INFERENCE_ABI
#define ELIZA_INFERENCE_ABI 3
#endif
#if ELIZA_INFERENCE_ABI != 3 && ELIZA_INFERENCE_ABI != 4 && ELIZA_INFERENCE_ABI != 12
#error "ELIZA_INFERENCE_ABI is 3, 4 or 12"
#endif

#if defined(_WIN32)
#define ELIZA_API
#else
#define ELIZA_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define ELIZA_OK 0
#define ELIZA_ERR_NOT_IMPLEMENTED (-1) /* this library or this model cannot do that */
#define ELIZA_ERR_INVALID_ARG (-2)     /* an argument, or a call whose time has not come */
#define ELIZA_ERR_BUNDLE_INVALID (-3)  /* a file of the bundle is missing or is not what it should be */
#define ELIZA_ERR_FFI_FAULT (-4)       /* the operating system or a device refused */
#define ELIZA_ERR_OOM (-5)             /* memory, or as many are open as there is memory for */
#define ELIZA_ERR_ABI_MISMATCH (-6)    /* a file that a library of another version wrote */
#define ELIZA_ERR_CANCELLED (-7)       /* somebody stopped it */

typedef struct EliInferenceContext EliInferenceContext;
typedef struct EliVad EliVad;
typedef struct EliAsrStream EliAsrStream;
typedef struct EliLlmStream EliLlmStream;
typedef struct EliWakeword EliWakeword;
typedef struct EliSpeaker EliSpeaker;
typedef struct EliDiariz EliDiariz;

/* ---- The library and its contexts ---- */

/* The profile: "3", "4" or "12". Static; never freed. */
ELIZA_API const char* eliza_inference_abi_version(void);

/* A context of the bundle in a folder. Loads nothing yet. NULL: there is no such folder, or its manifest
 * cannot be read. */
ELIZA_API EliInferenceContext* eliza_inference_create(const char* bundle_dir, char** out_error);

/* Ends the context with all that was opened in it; their handles are refused from then on. Cancels what is
 * being computed for them. When it returns and no call is under way, no thread of the context is left. NULL
 * is fine. */
ELIZA_API void eliza_inference_destroy(EliInferenceContext* ctx);

/* Loads a region: "tts", "asr", "text", "dflash" or "mtp" (the drafter), "vad", "wakeword" (which is empty).
 * Speech and recognition need "tts" and "asr" acquired; the others are loaded when they are first used, and a
 * drafter that the bundle does not have is none. Acquiring twice is acquiring once. ELIZA_ERR_BUNDLE_INVALID:
 * files are missing, or damaged, or of another model. */
ELIZA_API int eliza_inference_mmap_acquire(EliInferenceContext* ctx, const char* region_name,
                                           char** out_error);

/* Lets a region go, acquired or not. Its memory is given back as soon as nothing that was opened uses it. */
ELIZA_API int eliza_inference_mmap_evict(EliInferenceContext* ctx, const char* region_name, char** out_error);

/* Frees an out_error. NULL is fine. */
ELIZA_API void eliza_inference_free_string(char* str);

/* ---- Text to sound, at 24,000 Hz ---- */

/* Speaks a text into out_pcm, which has room for max_samples; yields how many were written. Where they are
 * too few, the error has "required samples=N", and the same call with that room yields the same speech at
 * once. speaker_preset_id is that of a voice of the bundle (cache/voice-preset-<id>.bin); NULL: the model
 * chooses, as for "default" where there is no such file. Needs the region "tts". ELIZA_ERR_CANCELLED: see
 * eliza_inference_cancel_tts(). */
ELIZA_API int eliza_inference_tts_synthesize(EliInferenceContext* ctx, const char* text, size_t text_len,
                                             const char* speaker_preset_id, float* out_pcm,
                                             size_t max_samples, char** out_error);

/* Takes samples as they are made, which are valid during the call; anything but 0 ends the speech. The last
 * call has no samples (NULL, 0) and is_final is 1; it comes exactly once, however speech that has begun ends,
 * and its answer does not count. */
typedef int (*eliza_tts_chunk_cb)(const float* pcm, size_t n_samples, int is_final, void* user_data);

/* 1: speech is streamed while it is made, and can be cancelled. */
ELIZA_API int eliza_inference_tts_stream_supported(void);

/* Speaks a text in pieces. Nothing is called where arguments are refused. ELIZA_ERR_CANCELLED: on_chunk or
 * eliza_inference_cancel_tts() ended it. */
ELIZA_API int eliza_inference_tts_synthesize_stream(EliInferenceContext* ctx, const char* text,
                                                    size_t text_len, const char* speaker_preset_id,
                                                    eliza_tts_chunk_cb on_chunk, void* user_data,
                                                    char** out_error);

/* Stops the context's speech, batch or streamed, within one step of the network, from any thread. When
 * nothing is being said it stops the call that comes within the next 200 ms, if one does: who cancels cannot
 * know whether the other thread has got there yet. */
ELIZA_API int eliza_inference_cancel_tts(EliInferenceContext* ctx, char** out_error);

#if ELIZA_INFERENCE_ABI >= 4
/* The codes of a recording whose voice is to be spoken with: K rows of ref_T numbers, tokens[k * ref_T + t].
 * sample_rate_hz is 24000; at most 60 seconds. *out_tokens is the caller's, for
 * eliza_inference_free_tokens(). Needs the region "tts". */
ELIZA_API int eliza_inference_encode_reference(EliInferenceContext* ctx, const float* pcm, size_t n_samples,
                                               int sample_rate_hz, int* out_K, int* out_ref_T,
                                               int** out_tokens, char** out_error);

/* Frees tokens that a function yielded. NULL is fine. */
ELIZA_API void eliza_inference_free_tokens(int* tokens);
#endif

/* ---- Drafted tokens ---- */

/* What became of tokens that were proposed for an answer. Indices count the tokens of the answer, from 0. */
typedef struct EliVerifierEvent {
  const int* accepted_token_ids; /* that the model would have said too; an end of turn may be the last */
  size_t n_accepted;
  int rejected_from; /* tokens [from, to) were not, or came behind the end; -1 and -1: there are none */
  int rejected_to;
  const int* corrected_token_ids; /* what the model says in their place */
  size_t n_corrected;
} EliVerifierEvent;

/* The event and its arrays are valid during the call. */
typedef void (*eliza_verifier_cb)(const EliVerifierEvent* event, void* user_data);

/* From now on `cb` is told of every step of the context's answers in which tokens had been proposed, inside
 * of the call that takes the answer. NULL: nobody is. */
ELIZA_API int eliza_inference_set_verifier_callback(EliInferenceContext* ctx, eliza_verifier_cb cb,
                                                    void* user_data, char** out_error);

/* ---- Is somebody speaking ---- */

ELIZA_API int eliza_inference_vad_supported(void);

/* A detector for one stream of sound; sample_rate_hz is 16000. */
ELIZA_API EliVad* eliza_inference_vad_open(EliInferenceContext* ctx, int sample_rate_hz, char** out_error);

/* The probability of speech, 0 to 1, in the stream's next 512 samples (32 ms). n_samples is 512. */
ELIZA_API int eliza_inference_vad_process(EliVad* vad, const float* pcm, size_t n_samples,
                                          float* out_probability, char** out_error);

/* What comes next is the beginning of another stream. */
ELIZA_API int eliza_inference_vad_reset(EliVad* vad, char** out_error);
ELIZA_API void eliza_inference_vad_close(EliVad* vad);

/* ---- Sound to text ---- */

/* What is said in a recording of any sample rate from 1,000 to 384,000 Hz. Yields the bytes that were
 * written, at most max_text_bytes - 1, and a NUL behind them; 0 where nothing is said. No samples are no
 * speech, whatever is acquired; else it needs the region "asr". */
ELIZA_API int eliza_inference_asr_transcribe(EliInferenceContext* ctx, const float* pcm, size_t n_samples,
                                             int sample_rate_hz, char* out_text, size_t max_text_bytes,
                                             char** out_error);

ELIZA_API int eliza_inference_asr_stream_supported(void);

/* A stream of sound of any sample rate that is recognised while it comes in. Needs the region "asr", which
 * stays until the stream is closed. ELIZA_ERR_OOM's reason, as many are open as the region has room for, is
 * NULL here. */
ELIZA_API EliAsrStream* eliza_inference_asr_stream_open(EliInferenceContext* ctx, int sample_rate_hz,
                                                        char** out_error);

/* Copies samples and returns at once; yields n_samples. Not after finish. */
ELIZA_API int eliza_inference_asr_stream_feed(EliAsrStream* stream, const float* pcm, size_t n_samples,
                                              char** out_error);

/* What is known so far; never waits. Yields bytes as eliza_inference_asr_transcribe(). Who passes out_tokens
 * and io_n_tokens (its room on entry, what was written on return) gets the text's tokens in the vocabulary of
 * the bundle's language model. */
ELIZA_API int eliza_inference_asr_stream_partial(EliAsrStream* stream, char* out_text, size_t max_text_bytes,
                                                 int* out_tokens, size_t* io_n_tokens, char** out_error);

/* The sound has ended: waits for the transcript of all of it. Asked again, it says the same. */
ELIZA_API int eliza_inference_asr_stream_finish(EliAsrStream* stream, char* out_text, size_t max_text_bytes,
                                                int* out_tokens, size_t* io_n_tokens, char** out_error);
ELIZA_API void eliza_inference_asr_stream_close(EliAsrStream* stream);

/* ---- Answers of the language model ---- */

/* How an answer is made. What is 0 or NULL is left to the library, but for temperature. */
typedef struct EliLlmStreamConfigV3 { /* of profiles 3 and 4 */
  int32_t max_tokens;                 /* of an answer; 0: as many as the context holds */
  float temperature;                  /* 0: always the likeliest token */
  float top_p;
  int32_t top_k;
  float repeat_penalty;
  int32_t slot_id;              /* what is computed is shared by content: any number does */
  const char* prompt_cache_key; /* so does any key */
  int32_t draft_min;            /* fewer proposed tokens are not worth a step */
  int32_t draft_max;            /* at once, up to 16; below 0: nothing is proposed */
  const char* drafter_path;     /* of another drafter than the bundle's; NULL: that one, if there is one */
  int32_t disable_thinking;     /* not 0: the model may not begin to think aloud */
} EliLlmStreamConfigV3;

typedef struct EliLlmStreamConfigV8 { /* of profile 12 */
  int32_t max_tokens;
  float temperature;
  float top_p;
  int32_t top_k;
  float repeat_penalty;
  int32_t slot_id;
  const char* prompt_cache_key;
  int32_t draft_min;
  int32_t draft_max;
  const char* drafter_path;
  const char* gbnf_grammar; /* what answers must look like, in llama.cpp's notation; NULL or "": any text */
  int32_t disable_thinking;
  int32_t n_gpu_layers;     /* below 0: as many as fit; on the CPU without effect */
  const char* cache_type_k; /* formats of the cache, such as "q8_0" or "tbq4_0"; NULL: "f16" */
  const char* cache_type_v;
} EliLlmStreamConfigV8;

#if ELIZA_INFERENCE_ABI >= 12
typedef EliLlmStreamConfigV8 EliLlmStreamConfig;
#else
typedef EliLlmStreamConfigV3 EliLlmStreamConfig;
#endif

ELIZA_API int eliza_inference_llm_stream_supported(void);

/* A conversation's tokens with answers to them. Loads the region "text" where nobody has; it stays until the
 * stream is closed. NULL also: as many are open as the region has room for. */
ELIZA_API EliLlmStream* eliza_inference_llm_stream_open(EliInferenceContext* ctx,
                                                        const EliLlmStreamConfig* config, char** out_error);

/* Puts in tokens of the prompt, and computes them. They follow what the stream holds (prompts, answers, a
 * slot), unless they begin as that does, with the same 16 tokens or with all of it: then they are the whole
 * prompt, and what is known of it is not computed again. Ends an answer that nobody took all of. */
ELIZA_API int eliza_inference_llm_stream_prefill(EliLlmStream* stream, const int* tokens, size_t n_tokens,
                                                 char** out_error);

#if ELIZA_INFERENCE_ABI >= 12 || defined(ELIZA_INFERENCE_EVERY_FUNCTION)
/* The next step of an answer to what was put in: its tokens, up to `capacity`, and the text that is complete
 * with them. What has no room comes with the next call. 0: there is more; 1: that was the last. n_drafted and
 * n_accepted, which may be NULL, count the tokens that were proposed for this step and those of them that
 * were right. ELIZA_ERR_CANCELLED: eliza_inference_llm_stream_cancel(). */
ELIZA_API int eliza_inference_llm_stream_next(EliLlmStream* stream, int* tokens_out, size_t capacity,
                                              size_t* n_out, char* text_out, size_t text_capacity,
                                              int* n_drafted, int* n_accepted, char** out_error);
#endif

#if ELIZA_INFERENCE_ABI < 12 || defined(ELIZA_INFERENCE_EVERY_FUNCTION)
/* Gets every token of an answer with the text that is complete with it, which may be "". Anything but 0 ends
 * the answer. */
typedef int (*eliza_llm_token_cb)(int token_id, const char* piece, void* user_data);

/* A whole answer of at most max_new_tokens (0 and less: as the stream was opened with). Yields how many there
 * were. ELIZA_ERR_CANCELLED: on_token or eliza_inference_llm_stream_cancel() ended it. */
ELIZA_API int eliza_inference_llm_stream_generate(EliLlmStream* stream, int max_new_tokens,
                                                  eliza_llm_token_cb on_token, void* user_data,
                                                  char** out_error);
#endif

/* Ends what the stream computes, within one step, and further answers until something is put in again. From
 * any thread. */
ELIZA_API int eliza_inference_llm_stream_cancel(EliLlmStream* stream);

/* What the stream holds, with all that was computed of it, to a file and back; what comes back can be
 * answered at once. ELIZA_ERR_ABI_MISMATCH: another version of the library wrote the file;
 * ELIZA_ERR_INVALID_ARG: it is for another model or cache, or damaged. */
ELIZA_API int eliza_inference_llm_stream_save_slot(EliLlmStream* stream, const char* filename,
                                                   char** out_error);
ELIZA_API int eliza_inference_llm_stream_restore_slot(EliLlmStream* stream, const char* filename,
                                                      char** out_error);

/* Cancels, waits for a call that is under way, and closes. */
ELIZA_API void eliza_inference_llm_stream_close(EliLlmStream* stream);

#if ELIZA_INFERENCE_ABI >= 12

/* 1: answers are drafted; 1: caches take quantised formats. */
ELIZA_API int eliza_inference_llm_mtp_supported(void);
ELIZA_API int eliza_inference_llm_kv_quant_supported(void);

/* Whether a turn has ended: the probability of target_id as the next token, and the likeliest next token with
 * its own. Any of the three places may be NULL. */
ELIZA_API int eliza_inference_llm_eot_supported(void);
ELIZA_API int eliza_inference_llm_eot_score(EliInferenceContext* ctx, const int* token_ids, size_t n_tokens,
                                            int target_id, float* out_p_target, int* out_top_id,
                                            float* out_p_top, char** out_error);

/* ---- Text as numbers ---- */

/* A text's direction in the language model's space: *out_dim values of length 1 together. pooling: -1 as the
 * model file says, 1 the mean of all tokens, 2 the first, 3 the last. Where capacity is too small, *out_dim
 * says what it takes. */
ELIZA_API int eliza_inference_embed_supported(void);
ELIZA_API int eliza_inference_embed(EliInferenceContext* ctx, const char* text, size_t text_len, int pooling,
                                    float* out, size_t capacity, int* out_dim, char** out_error);

/* Tokens of the language model. add_special: with those that a prompt begins and ends with; parse_special:
 * texts of control tokens are these. *out_tokens is the caller's, for eliza_inference_free_tokens(). */
ELIZA_API int eliza_inference_tokenize_supported(void);
ELIZA_API int eliza_inference_tokenize(EliInferenceContext* ctx, const char* text, size_t text_len,
                                       int add_special, int parse_special, int** out_tokens,
                                       size_t* out_n_tokens, char** out_error);

/* And back; yields bytes. remove_special: without those that a prompt begins and ends with; unparse_special:
 * control tokens as their texts, else as nothing. Where max_text_bytes is too small, the error has "required
 * bytes=N". */
ELIZA_API int eliza_inference_detokenize(EliInferenceContext* ctx, const int* tokens, size_t n_tokens,
                                         int remove_special, int unparse_special, char* out_text,
                                         size_t max_text_bytes, char** out_error);

/* ---- Words and their times ---- */

/* As eliza_inference_asr_transcribe(), with the times of its words in milliseconds; *io_n_words is their room
 * on entry, what was written on return. Words are what white space separates in the text, without what is no
 * letter or digit; a Chinese character is a word. Needs an aligner in the bundle's folder asr. */
ELIZA_API int eliza_inference_asr_timestamps_supported(void);
ELIZA_API int eliza_inference_asr_transcribe_timed(EliInferenceContext* ctx, const float* pcm,
                                                   size_t n_samples, int sample_rate_hz, char* out_text,
                                                   size_t max_text_bytes, int* out_start_ms, int* out_end_ms,
                                                   size_t* io_n_words, char** out_error);

/* ---- Who is speaking ---- */

#define ELIZA_SPEAKER_EMBEDDING_DIM 256

/* What compares voices; gguf_path NULL: the bundle's. */
ELIZA_API int eliza_inference_speaker_supported(void);
ELIZA_API EliSpeaker* eliza_inference_speaker_open(EliInferenceContext* ctx, const char* gguf_path,
                                                   char** out_error);

/* The voice in 16,000 Hz samples: ELIZA_SPEAKER_EMBEDDING_DIM values of length 1 together, of which those
 * that the model does not have are 0. The cosine of two says how alike they sound. */
ELIZA_API int eliza_inference_speaker_embed(EliSpeaker* speaker, const float* pcm, size_t n_samples,
                                            float* out_embedding, char** out_error);
ELIZA_API void eliza_inference_speaker_close(EliSpeaker* speaker);

/* ---- What this library does not have: supported is 0, everything else ELIZA_ERR_NOT_IMPLEMENTED with a
 * reason, or NULL ---- */

ELIZA_API int eliza_inference_wakeword_supported(void);
ELIZA_API EliWakeword* eliza_inference_wakeword_open(EliInferenceContext* ctx, int sample_rate_hz,
                                                     const char* head_name, char** out_error);
ELIZA_API int eliza_inference_wakeword_score(EliWakeword* wakeword, const float* pcm, size_t n_samples,
                                             float* out_probability, char** out_error);
ELIZA_API int eliza_inference_wakeword_reset(EliWakeword* wakeword, char** out_error);
ELIZA_API void eliza_inference_wakeword_close(EliWakeword* wakeword);

ELIZA_API int eliza_inference_diariz_supported(void);
ELIZA_API EliDiariz* eliza_inference_diariz_open(EliInferenceContext* ctx, const char* gguf_path,
                                                 char** out_error);
ELIZA_API int eliza_inference_diariz_segment(EliDiariz* diariz, const float* pcm, size_t n_samples,
                                             int8_t* out_labels, size_t* io_n_labels, char** out_error);
ELIZA_API void eliza_inference_diariz_close(EliDiariz* diariz);

ELIZA_API int eliza_inference_vision_supported(void);
ELIZA_API int eliza_inference_describe_image(EliInferenceContext* ctx, const unsigned char* image,
                                             size_t n_bytes, const char* mmproj_path, const char* prompt,
                                             char* out_text, size_t max_text_bytes, char** out_error);

ELIZA_API int eliza_inference_kokoro_supported(void);
ELIZA_API int eliza_inference_kokoro_load(EliInferenceContext* ctx, const char* gguf_path,
                                          const char* voice_bin_path, int style_dim, char** out_error);
ELIZA_API int eliza_inference_kokoro_synthesize(EliInferenceContext* ctx, const char* text, size_t text_len,
                                                float speed, float* out_pcm, size_t max_samples,
                                                char** out_error);
ELIZA_API int eliza_inference_kokoro_sample_rate(EliInferenceContext* ctx);

#endif /* ELIZA_INFERENCE_ABI >= 12 */

#ifdef __cplusplus
}
#endif

#endif
