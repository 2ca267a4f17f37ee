/* OmniVoice speech from its two files, for programs that know omnivoice.cpp's C interface (version 2). A
 * part of libelizainference.
 *
 * Text is UTF-8, sound is mono floats at 24,000 Hz. A function that yields a pointer or a status says why it
 * failed in ov_last_error(). What is passed in is read during the call only; what comes out is from malloc
 * and goes back through the function named with it. Contexts may be used from any thread, one call of each at
 * a time; callbacks run on the thread of their call.
 */
#ifndef OV_H
#define OV_H

#include <stdbool.h>
#include <stdint.h>

#if defined(_WIN32)
#define OV_API
#else
#define OV_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* A struct with a higher number than this is refused. */
#define OV_ABI_VERSION 2

enum ov_status {
  OV_STATUS_OK = 0,
  OV_STATUS_INVALID_PARAMS = -1,
  OV_STATUS_INSTRUCT_INVALID = -2,
  OV_STATUS_GENERATE_FAILED = -3,
  OV_STATUS_OOM = -4,
  OV_STATUS_CANCELLED = -5
};

enum ov_log_level {
  OV_LOG_LEVEL_DEBUG = 0,
  OV_LOG_LEVEL_INFO = 1,
  OV_LOG_LEVEL_WARN = 2,
  OV_LOG_LEVEL_ERROR = 3
};

struct ov_context;

struct ov_audio {
  float* samples;
  int n_samples;
  int sample_rate; /* 24000 */
  int channels;    /* 1 */
};

struct ov_init_params {
  int abi_version;
  const char* model_path; /* the language model */
  const char* codec_path; /* the codec ("tokenizer"); NULL: the context cannot speak */
  bool use_fa;            /* how attention is computed is the library's business: without effect */
  bool clamp_fp16;        /* sums are not kept in 16 bits: without effect */
};

typedef bool (*ov_cancel_cb)(void* user_data);                                   /* true: stop */
typedef bool (*ov_audio_chunk_cb)(const float* samples, int n, void* user_data); /* true: go on */
typedef void (*ov_log_cb)(enum ov_log_level level, const char* text, void* user_data);

struct ov_tts_params {
  int abi_version;
  const char* text;
  const char* lang;          /* a name or code; NULL, or one that the model does not know: it finds out */
  const char* instruct;      /* the voice in words: "female, low pitch" */
  int T_override;            /* frames of 40 ms in all, in one piece; 0 and less: as many as the text takes */
  float chunk_duration_sec;  /* longer texts are spoken in pieces of about that length; 0 and less: in one */
  float chunk_threshold_sec; /* what is a longer text */
  bool denoise;              /* the reference's noise is not to be imitated */
  bool preprocess_prompt;    /* silences are cut from ref_audio_24k, and its loudness is set */
  int mg_num_step;           /* passes of the network */
  float mg_guidance_scale;
  float mg_t_shift;
  float mg_layer_penalty_factor;
  float mg_position_temperature;
  float mg_class_temperature;
  uint64_t mg_seed;
  const int32_t*
      ref_audio_tokens; /* codes of a recording whose voice speaks: 8 rows of ref_T; counts with ref_T > 0 */
  int ref_T;
  const float* ref_audio_24k; /* or its samples; counts with ref_n_samples > 0 */
  int ref_n_samples;
  const char* ref_text; /* what is said in it */
  const char* dump_dir; /* nothing is dumped: anything but NULL is refused */
  ov_cancel_cb cancel;  /* asked after every pass of the network and every piece of sound */
  void* cancel_user_data;
  ov_audio_chunk_cb on_chunk; /* not NULL: sound goes there while it is made, and none to `out` */
  void* on_chunk_user_data;
};

/* Static. */
OV_API const char* ov_version(void);
/* Why the last call of this thread that failed did; "" when none has. Valid until the thread's next call. */
OV_API const char* ov_last_error(void);

/* Messages of the whole library; NULL: to standard error. Until it is called there are none. `cb` may be
 * called from any thread, by one at a time. */
OV_API void ov_log_set(ov_log_cb cb, void* user_data);

OV_API void ov_init_default_params(struct ov_init_params* params);
OV_API void ov_tts_default_params(struct ov_tts_params* params);

/* NULL: no such file, one of another model, too new a struct. */
OV_API struct ov_context* ov_init(const struct ov_init_params* params);
OV_API void ov_free(struct ov_context* context);

/* Speaks. `out`, which may be NULL with on_chunk, is zero or holds what an earlier call yielded, which is
 * freed first. */
OV_API enum ov_status ov_synthesize(struct ov_context* context, const struct ov_tts_params* params,
                                    struct ov_audio* out);
OV_API void ov_audio_free(struct ov_audio* audio);

/* Frames that so much sound takes, at least 1; 1 also without a codec. */
OV_API int ov_duration_sec_to_tokens(const struct ov_context* context, float seconds);

/* The codes of a recording as it is: K rows of T, for ov_tokens_free(). */
OV_API enum ov_status ov_encode_reference(struct ov_context* context, const float* pcm_24k, int n_samples,
                                          int32_t** tokens, int* K, int* T);
OV_API void ov_tokens_free(int32_t* tokens);

#ifdef __cplusplus
}
#endif

#endif
