#include "capi/knobs.h"

#include <array>
#include <atomic>

#include "asr/languages.h"
#include "base/ascii.h"
#include "base/os/environment.h"
#include "base/os/folder.h"
#include "base/parse_number.h"
#include "devices/devices.h"
#include "elizainference.h"

namespace parlance::capi {

namespace {

constexpr std::string_view kCpu = "cpu", kGpu = "gpu";

// Positions and rows of a recogniser on a phone.
constexpr int kAndroidContext = 4096, kAndroidBatch = 64;
#ifdef __ANDROID__
constexpr bool kIsAndroid = true;
#else
constexpr bool kIsAndroid = false;
#endif

std::atomic<bool> is_debugging{false};

constexpr std::array kOnWords = {"1", "true", "yes", "on"}, kOffWords = {"0", "false", "no", "off"};

template <auto member, int least, int most>
bool read_number(const std::string& value, Knobs& knobs) {
  const auto number = parse_number<int>(value);
  if (!number || *number < least || *number > most) return false;
  knobs.*member = *number;
  return true;
}

template <auto member>
bool read_seconds(const std::string& value, Knobs& knobs) {
  constexpr float kLeast = 1e-3f, kMost = 120;
  const auto number = parse_number<float>(value);
  if (!number || !(*number >= kLeast && *number <= kMost)) return false;
  knobs.*member = *number;
  return true;
}

template <auto member>
bool read_switch(const std::string& value, Knobs& knobs) {
  for (const bool is_on : {true, false}) {
    for (const char* word : is_on ? kOnWords : kOffWords) {
      if (!ascii::are_equal(value, word)) continue;
      knobs.*member = is_on;
      return true;
    }
  }
  return false;
}

template <auto member>
bool read_file(const std::string& value, Knobs& knobs) {
  knobs.*member = value;
  return is_file(value);
}

bool read_device(const std::string& value, Knobs& knobs) {
  knobs.device = value;
  const std::string kind = value.substr(0, value.find(':'));
  return kind == kCpu ? value == kCpu : kind == "cuda" || kind == "vulkan";
}

bool read_codec_device(const std::string& value, Knobs& knobs) {
  knobs.codec_device = value;
  return value == kCpu || value == kGpu;
}

bool read_language(const std::string& value, Knobs& knobs) {
  for (const char* none : {"0", "false", "none", "auto"}) {
    if (ascii::are_equal(value, none)) return true;
  }
  const auto known = find_speech_language(value);
  if (known) knobs.recognition.language = known->name;
  return known.has_value();
}

bool read_quality(const std::string& value, Knobs& knobs) {
  const auto quality = speech_quality_from_name(value);
  if (quality) knobs.quality = *quality;
  return quality.has_value();
}

struct Variable {
  const char* name;
  const char* values;   // what it may be: for messages and the documentation
  const char* meaning;  // for the documentation, which a test compares with this
  bool (*read)(const std::string& value, Knobs& knobs);
};

constexpr const char* kSwitch = "`1`, `true`, `yes` or `on`; `0`, `false`, `no` or `off`";

constexpr std::array kVariables = std::to_array<Variable>({
    {"ELIZA_DEVICE", "`cpu`, `cuda` or `vulkan`, or one of several such as `vulkan:1`",
     "what computes; without it, the CPU", read_device},
    {"ELIZA_TTS_MASKGIT_STEPS", "a number from 1 to 64", "passes of the speech network; without it, 32",
     read_number<&Knobs::n_steps, 1, 64>},
    {"PARLANCE_TTS_QUALITY", "`exact`, `standard` or `fast`",
     "how much is computed for speech, and in how many passes where nobody says; without it, exact",
     read_quality},
    {"ELIZA_TTS_CHUNK_DURATION_SEC", "a number above 0 and up to 120",
     "how long the parts of a long text are", read_seconds<&Knobs::chunk_seconds>},
    {"ELIZA_TTS_CHUNK_THRESHOLD_SEC", "a number above 0 and up to 120",
     "from which length on a text has several parts", read_seconds<&Knobs::longest_seconds>},
    {"ELIZA_OMNIVOICE_MODEL", "a file that is there",
     "the speech model's language model in place of the bundle's, with the next one",
     read_file<&Knobs::tts_base>},
    {"ELIZA_OMNIVOICE_CODEC", "a file that is there", "its codec, with the one before",
     read_file<&Knobs::tts_codec>},
    {"ELIZA_OMNIVOICE_MG_NUM_STEP", "a number from 4 to 64",
     "passes of the speech network, where `ELIZA_TTS_MASKGIT_STEPS` says nothing",
     read_number<&Knobs::n_omnivoice_steps, 4, 64>},
    {"ELIZA_OMNIVOICE_CODEC_BACKEND", "`cpu` or `gpu`",
     "where the codec computes; `gpu` is where `ELIZA_DEVICE` says, as without it", read_codec_device},
    {"ELIZA_ASR_THREADS", "a number from 1 to 1024",
     "threads of the CPU, whatever they compute; without it, one for each processor",
     read_number<&Knobs::n_threads, 1, 1024>},
    {"ELIZA_ASR_USE_GPU", kSwitch,
     "whether the recogniser computes on a GPU: that of `ELIZA_DEVICE`, else the first one; without it, "
     "where "
     "`ELIZA_DEVICE` says",
     read_switch<&Knobs::asr_uses_gpu>},
    {"ELIZA_ASR_USE_MMAP", kSwitch,
     "whether the recogniser's weights may be read from the mapping of their file; not: they move into "
     "memory "
     "of their own",
     read_switch<&Knobs::maps_asr_weights>},
    {"ELIZA_ASR_USE_EXTRA_BUFTS", kSwitch,
     "whether they move into memory that the CPU reads faster, which they do without it",
     read_switch<&Knobs::moves_asr_weights>},
    {"ELIZA_ASR_N_CTX", "a number from 1024 to 65536",
     "positions of the recogniser's context; recordings are cut into pieces that fit, of three minutes "
     "without "
     "it",
     read_number<&Knobs::asr_n_ctx, 1024, 65536>},
    {"ELIZA_ASR_N_BATCH", "a number from 64 to 4096",
     "positions that go through the recogniser's language model together; without it, 512",
     read_number<&Knobs::asr_n_batch, 64, 4096>},
    {"ELIZA_ASR_FORCE_LANGUAGE", "a language's name or code, or `auto`, `none`, `false` or `0`",
     "what is spoken; without it, and with the latter, the model finds out", read_language},
    {"ELIZA_ASR_DEBUG", kSwitch,
     "whether each transcript is logged, without its words: to standard error, or where `ov_log_set()` says",
     read_switch<&Knobs::is_debugging_asr>},
    {"ELIZA_ASR_ANDROID_CPU_PROFILE", kSwitch,
     "whether the recogniser is one for phones: on the CPU, with `ELIZA_ASR_N_CTX` 4096 and "
     "`ELIZA_ASR_N_BATCH` 64 where these say nothing else; without it, on Android",
     read_switch<&Knobs::is_android>},
});

Answer<void> read(const Variable& variable, Knobs& knobs) {
  const auto value = environment(variable.name);
  if (!value || variable.read(*value, knobs)) return {};
  std::string values = variable.values;
  std::erase(values, '`');
  return refuse(ELIZA_ERR_INVALID_ARG, "{} is '{}'; expected {}; correct it or unset it", variable.name,
                *value, values);
}

Answer<std::string> first_gpu() {
  for (const Backend& backend : list_backends()) {
    if (backend.name == kCpu || !backend.devices || backend.devices->empty()) continue;
    return backend.devices->front().name;
  }
  return refuse(
      ELIZA_ERR_INVALID_ARG,
      "ELIZA_ASR_USE_GPU asks for a GPU, and this library finds none here; set it to 0 or unset it");
}

// What variables say together.
Answer<void> settle(Knobs& knobs) {
  if (knobs.tts_base.has_value() != knobs.tts_codec.has_value()) {
    return refuse(
        ELIZA_ERR_INVALID_ARG,
        "ELIZA_OMNIVOICE_MODEL and ELIZA_OMNIVOICE_CODEC are the two files of one model; set both or "
        "neither");
  }
  if (knobs.codec_device == kGpu && knobs.device == kCpu) {
    return refuse(ELIZA_ERR_INVALID_ARG,
                  "ELIZA_OMNIVOICE_CODEC_BACKEND is 'gpu', and ELIZA_DEVICE names none; name one there or "
                  "unset this");
  }
  if (knobs.asr_uses_gpu == true && knobs.device == kCpu) {
    CAPI_TRY(knobs.asr_device, first_gpu());
  }
  return {};
}

}  // namespace

void Knobs::apply(Choice& choice) const {
  DeviceChoice& devices = choice.devices;
  const bool is_phone = is_android.value_or(kIsAndroid);
  devices.text = devices.voice = device;
  devices.asr = asr_uses_gpu.value_or(!is_phone) ? asr_device : kCpu;
  if (codec_device == kCpu) devices.codec = kCpu;
  devices.n_threads = n_threads;
  devices.asr_huge_pages = moves_asr_weights.value_or(true) || !maps_asr_weights.value_or(true);
  if (tts_base) choice.files.base = *tts_base;
  if (tts_codec) choice.files.codec = *tts_codec;
  if (is_phone || asr_n_ctx) choice.recognizer.n_ctx = asr_n_ctx.value_or(kAndroidContext);
  if (is_phone || asr_n_batch) choice.recognizer.n_batch = asr_n_batch.value_or(kAndroidBatch);
}

void Knobs::apply(SpeechRequest& request) const {
  if (const auto n = n_steps ? n_steps : n_omnivoice_steps) request.decoding.n_step = *n;
  request.quality = quality;
  if (chunk_seconds) request.chunking.chunk_seconds = *chunk_seconds;
  if (longest_seconds) request.chunking.threshold_seconds = *longest_seconds;
}

Answer<Knobs> read_knobs() {
  Knobs knobs;
  for (const Variable& variable : kVariables) CAPI_CHECK(read(variable, knobs));
  CAPI_CHECK(settle(knobs));
  is_debugging = knobs.is_debugging_asr;
  if (knobs.is_debugging_asr) set_log_level(wanted_log_level());
  return knobs;
}

LogLevel wanted_log_level() {
  return is_debugging ? LogLevel::info : LogLevel::warning;
}

}  // namespace parlance::capi
