// OmniVoice's own C interface: speech from two files, without a bundle.
#include "ov.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "assistant/speech.h"
#include "assistant/wording.h"
#include "base/log.h"
#include "capi/context.h"
#include "gguf/reader.h"
#include "text/unicode.h"
#include "tts/text/voice_design.h"

namespace parlance::capi {

namespace {

// What a thread's last failure was. A plain array: a library with more to clean up at a thread's end could
// not be unloaded before.
thread_local char last_error[1024] = "";

void remember_error(const std::string& message) {
  const std::string text = worded(message, Door::c_library);
  write_text(text, last_error, sizeof last_error);
}

ov_status failed(ov_status status, const std::string& message) {
  remember_error(message);
  return status;
}

ov_status status_of(const Refusal& refusal) {
  switch (refusal.status) {
    case ELIZA_ERR_INVALID_ARG:
      return OV_STATUS_INVALID_PARAMS;
    case ELIZA_ERR_OOM:
      return OV_STATUS_OOM;
    case ELIZA_ERR_CANCELLED:
      return OV_STATUS_CANCELLED;
    default:
      return OV_STATUS_GENERATE_FAILED;
  }
}

ov_status failed(const Refusal& refusal) {
  return failed(status_of(refusal), refusal.message);
}

// One model, on devices of its own.
struct OvContext {
  static constexpr HandleKind kKind = HandleKind::ov_context;

  explicit OvContext(Choice choice) : regions(std::move(choice)) {}

  Regions regions;
  std::shared_ptr<TtsRegion> mouth;  // null: there is no codec
};

Answer<void> check_version(int abi_version) {
  if (abi_version <= OV_ABI_VERSION) return {};
  return refuse(ELIZA_ERR_INVALID_ARG, "abi_version is {}; this library knows {} and what was before",
                abi_version, OV_ABI_VERSION);
}

Answer<void> check_language_model(const char* path) {
  CAPI_TRY(const GgufFile file, GgufFile::open(path));
  CAPI_TRY(const std::string_view architecture, file.get_string("general.architecture"));
  if (architecture == "omnivoice-lm") return {};
  return refuse(ELIZA_ERR_BUNDLE_INVALID, "{}: expected an OmniVoice language model (omnivoice-lm), it is {}",
                path, architecture);
}

Answer<std::shared_ptr<OvContext>> load(const ov_init_params* params) {
  CAPI_CHECK(check_not_null("params", params));
  CAPI_CHECK(check_version(params->abi_version));
  CAPI_CHECK(check_not_null("model_path", params->model_path));
  if (!params->codec_path) {
    CAPI_CHECK(check_language_model(params->model_path));
    return std::make_shared<OvContext>(Choice());
  }
  Choice choice;
  choice.files.base = params->model_path;
  choice.files.codec = params->codec_path;
  auto context = std::make_shared<OvContext>(std::move(choice));
  CAPI_TRY(context->mouth, context->regions.tts.acquire());
  return context;
}

std::string text_or_empty(const char* text) {
  return text ? sanitise_utf8(text) : std::string();
}

// Everything but the voice and what the caller hears of it.
SpeechRequest request_of(const ov_tts_params& params) {
  SpeechRequest request;
  request.text = text_or_empty(params.text);
  request.language = text_or_empty(params.lang);
  request.instruct = text_or_empty(params.instruct);
  request.denoise = params.denoise;
  request.decoding = {.n_step = params.mg_num_step,
                      .guidance = params.mg_guidance_scale,
                      .t_shift = params.mg_t_shift,
                      .layer_penalty = params.mg_layer_penalty_factor,
                      .position_temperature = params.mg_position_temperature,
                      .class_temperature = params.mg_class_temperature,
                      .seed = params.mg_seed};
  if (params.T_override > 0) {
    request.seconds = static_cast<double>(params.T_override) / kFramesPerSecond;
  }
  request.chunking = {.chunk_seconds = std::max(params.chunk_duration_sec, 0.0f),
                      .threshold_seconds = std::max(params.chunk_threshold_sec, 0.0f)};
  return request;
}

Answer<Voice> voice_of(const ov_tts_params& params, Synthesizer& synthesizer) {
  const bool has_codes = params.ref_audio_tokens && params.ref_T > 0;
  const bool has_samples = params.ref_audio_24k && params.ref_n_samples > 0;
  const std::string words = text_or_empty(params.ref_text);
  if (has_samples) {
    CAPI_TRY(const auto samples,
             samples_of("ref_audio_24k", params.ref_audio_24k, static_cast<size_t>(params.ref_n_samples)));
    CAPI_TRY(Voice voice,
             synthesizer.encode_voice(samples, words, {.removes_silence = params.preprocess_prompt}));
    return voice;
  }
  Voice voice;
  if (!has_codes) return voice;
  const CodeFormat format = synthesizer.code_format();
  const auto n = static_cast<size_t>(format.n_codebook) * static_cast<size_t>(params.ref_T);
  voice.reference = {.n_codebook = format.n_codebook,
                     .codes = {params.ref_audio_tokens, params.ref_audio_tokens + n}};
  voice.reference_text = words;
  return voice;
}

// Order and statuses are those that callers of the interface know.
ov_status check_params(const OvContext& context, const ov_tts_params& params) {
  if (auto known = check_version(params.abi_version); !known) return failed(known.error());
  if (!context.mouth) {
    return failed(OV_STATUS_INVALID_PARAMS, "the context has no codec; name one in codec_path of ov_init()");
  }
  if (params.ref_audio_tokens && params.ref_T > 0 && params.ref_audio_24k && params.ref_n_samples > 0) {
    return failed(OV_STATUS_INVALID_PARAMS,
                  "ref_audio_tokens and ref_audio_24k both give a voice; leave one out");
  }
  if (params.dump_dir) {
    return failed(OV_STATUS_INVALID_PARAMS, "dump_dir: this library dumps nothing; pass NULL");
  }
  const auto design =
      resolve_voice_design(text_or_empty(params.instruct), has_cjk(text_or_empty(params.text)));
  if (!design) return failed(OV_STATUS_INSTRUCT_INVALID, design.error().message);
  return OV_STATUS_OK;
}

// Asks the caller whether to go on, where they said that they want to be asked.
class Asked {
 public:
  explicit Asked(const ov_tts_params& params) : params_(params) { ask(); }
  void ask() {
    if (params_.cancel && !is_over_ && params_.cancel(params_.cancel_user_data)) {
      is_over_ = true;
      source_.cancel();
    }
  }
  Cancellation ticket() const { return is_over_ ? over() : source_.ticket(); }
  bool is_over() const { return is_over_; }

 private:
  static Cancellation over() {
    const CancellationSource source;
    Cancellation ticket = source.ticket();
    source.cancel();
    return ticket;
  }

  const ov_tts_params& params_;
  const CancellationSource source_;
  bool is_over_ = false;
};

ov_status hand_out(const std::vector<float>& samples, ov_audio& out) {
  const size_t n_bytes = samples.size() * sizeof(float);
  auto* copy = static_cast<float*>(std::malloc(std::max<size_t>(n_bytes, 1)));
  if (!copy) return failed(OV_STATUS_OOM, "there is no memory for the speech");
  std::ranges::copy(samples, copy);
  out = {.samples = copy,
         .n_samples = static_cast<int>(samples.size()),
         .sample_rate = kSpeechRateHz,
         .channels = 1};
  return OV_STATUS_OK;
}

ov_status end_of(const Error& error, const Asked& asked, bool is_streamed) {
  if (error.code != ErrorCode::cancelled) return failed(Refusal(error));
  return failed(OV_STATUS_CANCELLED, asked.is_over() ? "cancelled by ov_cancel_cb"
                                     : is_streamed   ? "streaming synthesis failed: on_chunk stopped it"
                                                     : error.message);
}

ov_status synthesize(OvContext& context, const ov_tts_params& params, ov_audio* out) {
  if (const ov_status status = check_params(context, params); status != OV_STATUS_OK) return status;
  Synthesizer& synthesizer = *context.mouth->synthesizer;
  SpeechRequest request = request_of(params);
  auto voice = voice_of(params, synthesizer);
  if (!voice) {
    return failed(voice.error().status == ELIZA_ERR_OOM ? OV_STATUS_OOM : OV_STATUS_GENERATE_FAILED,
                  voice.error().message);
  }
  request.voice = *std::move(voice);
  Asked asked(params);
  request.cancellation = asked.ticket();
  request.on_progress = [&](const SpeechProgress&) { asked.ask(); };
  if (!params.on_chunk) {
    const auto speech = synthesizer.synthesize(request);
    return speech ? hand_out(speech->samples, *out) : end_of(speech.error(), asked, /*is_streamed=*/false);
  }
  const auto report = synthesizer.stream(request, [&](std::span<const float> samples, bool is_last) {
    if (is_last) return true;
    asked.ask();
    return params.on_chunk(samples.data(), static_cast<int>(samples.size()), params.on_chunk_user_data);
  });
  return report ? OV_STATUS_OK : end_of(report.error(), asked, /*is_streamed=*/true);
}

ov_status encode(ov_context* handle, const float* pcm_24k, int n_samples, int32_t** tokens, int* K, int* T) {
  const auto context = handles().find<OvContext>(handle);
  if (!context || !pcm_24k || n_samples <= 0 || !tokens || !K || !T) {
    return failed(OV_STATUS_INVALID_PARAMS,
                  "a context, samples, and places for tokens, K and T are needed; one of them is missing");
  }
  *tokens = nullptr;
  *K = *T = 0;
  if (!context->mouth) return failed(OV_STATUS_INVALID_PARAMS, "the context has no codec");
  const auto samples = samples_of("pcm_24k", pcm_24k, static_cast<size_t>(n_samples));
  if (!samples) return failed(samples.error());
  const auto voice = context->mouth->synthesizer->encode_voice(*samples, {}, {.removes_silence = false});
  if (!voice) return failed(Refusal(voice.error()));
  const auto copy = copy_of(voice->reference.codes);
  if (!copy) return failed(copy.error());
  *tokens = *copy;
  *K = static_cast<int>(voice->reference.n_codebook);
  *T = static_cast<int>(voice->reference.n_frames());
  return OV_STATUS_OK;
}

// The end of every function here that may fail.
template <class Result, class Body>
Result without_exceptions(Result otherwise, Body&& body) noexcept {
  last_error[0] = '\0';
  try {
    return body();
  } catch (const std::bad_alloc&) {
    std::snprintf(last_error, sizeof last_error, "there is not enough memory for this call");
  } catch (const std::exception& e) {
    std::snprintf(last_error, sizeof last_error, "%s", e.what());
  }
  return otherwise;
}

ov_log_level level_of(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return OV_LOG_LEVEL_DEBUG;
    case LogLevel::info:
      return OV_LOG_LEVEL_INFO;
    case LogLevel::warning:
      return OV_LOG_LEVEL_WARN;
    default:
      return OV_LOG_LEVEL_ERROR;
  }
}

}  // namespace

}  // namespace parlance::capi

using namespace parlance;
using namespace parlance::capi;

const char* ov_version() {
  return "parlance " PARLANCE_VERSION;
}

const char* ov_last_error() {
  return last_error;
}

void ov_log_set(ov_log_cb cb, void* user_data) {
  quietly([&] {
    set_log_level(wanted_log_level());
    if (!cb) {
      set_log_sink({});
      return;
    }
    set_log_sink([cb, user_data](LogLevel level, std::string_view message) {
      cb(level_of(level), worded(message, Door::c_library).c_str(), user_data);
    });
  });
}

void ov_init_default_params(ov_init_params* params) {
  if (!params) return;
  *params = {.abi_version = OV_ABI_VERSION,
             .model_path = nullptr,
             .codec_path = nullptr,
             .use_fa = true,
             .clamp_fp16 = false};
}

void ov_tts_default_params(ov_tts_params* params) {
  if (!params) return;
  ov_tts_params defaults = {};
  defaults.abi_version = OV_ABI_VERSION;
  defaults.chunk_duration_sec = 15;
  defaults.chunk_threshold_sec = 30;
  defaults.denoise = true;
  defaults.preprocess_prompt = true;
  const MaskGitOptions decoding;
  defaults.mg_num_step = decoding.n_step;
  defaults.mg_guidance_scale = decoding.guidance;
  defaults.mg_t_shift = decoding.t_shift;
  defaults.mg_layer_penalty_factor = decoding.layer_penalty;
  defaults.mg_position_temperature = decoding.position_temperature;
  defaults.mg_class_temperature = decoding.class_temperature;
  defaults.mg_seed = decoding.seed;
  *params = defaults;
}

ov_context* ov_init(const ov_init_params* params) {
  return without_exceptions<ov_context*>(nullptr, [&]() -> ov_context* {
    auto context = load(params);
    if (context) return static_cast<ov_context*>(handles().add(*std::move(context)));
    remember_error(context.error().message);
    return nullptr;
  });
}

void ov_free(ov_context* context) {
  quietly([&] { handles().remove<OvContext>(context); });
}

ov_status ov_synthesize(ov_context* context, const ov_tts_params* params, ov_audio* out) {
  return without_exceptions(OV_STATUS_GENERATE_FAILED, [&] {
    const auto own = handles().find<OvContext>(context);
    if (!own) return failed(OV_STATUS_INVALID_PARAMS, "context is none that ov_init() yielded and is open");
    if (!params) return failed(OV_STATUS_INVALID_PARAMS, "params is NULL");
    if (!out && !params->on_chunk)
      return failed(OV_STATUS_INVALID_PARAMS, "out is NULL, and so is on_chunk: nobody gets the speech");
    ov_audio_free(out);
    return synthesize(*own, *params, out);
  });
}

void ov_audio_free(ov_audio* audio) {
  if (!audio) return;
  std::free(audio->samples);
  *audio = {};
}

int ov_duration_sec_to_tokens(const ov_context* context, float seconds) {
  return without_exceptions(1, [&] {
    const auto own = handles().find<OvContext>(context);
    if (!own || !own->mouth || !(seconds > 0)) return 1;
    const double frames = static_cast<double>(seconds) * kFramesPerSecond;
    return static_cast<int>(std::clamp(frames, 1.0, 1e9));
  });
}

ov_status ov_encode_reference(ov_context* context, const float* pcm_24k, int n_samples, int32_t** tokens,
                              int* K, int* T) {
  return without_exceptions(OV_STATUS_GENERATE_FAILED,
                            [&] { return encode(context, pcm_24k, n_samples, tokens, K, T); });
}

void ov_tokens_free(int32_t* tokens) {
  std::free(tokens);
}
