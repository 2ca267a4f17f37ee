#include "capi/knobs.h"

#include <array>

#include "asr/languages.h"
#include "base/ascii.h"
#include "base/os/environment.h"
#include "base/parse_number.h"
#include "elizainference.h"

namespace parlance::capi {

namespace {

constexpr int kMostSteps = 64, kMostThreads = 1024;
constexpr float kMostChunkSeconds = 120;

// The variable's number in [least, most]; `above` that it must exceed instead.
template <class T>
Answer<std::optional<T>> number_in(const char* name, T least, T most, const char* range) {
  const auto value = environment(name);
  if (!value) return std::optional<T>();
  const auto number = parse_number<T>(*value);
  if (number && *number >= least && *number <= most) return std::optional<T>(*number);
  return refuse(ELIZA_ERR_INVALID_ARG, "{} is '{}'; it is a number {}", name, *value, range);
}

Answer<std::optional<float>> seconds(const char* name) {
  constexpr float kLeast = 1e-3f;
  return number_in<float>(name, kLeast, kMostChunkSeconds, "above 0 and up to 120");
}

Answer<std::string> language() {
  constexpr const char* kName = "ELIZA_ASR_FORCE_LANGUAGE";
  const auto value = environment(kName);
  if (!value) return std::string();
  for (const char* none : {"0", "false", "none", "auto"}) {
    if (*value == none) return std::string();
  }
  const auto known = find_speech_language(*value);
  if (known) return std::string(known->name);
  return refuse(ELIZA_ERR_INVALID_ARG, "{}: {}", kName, known.error().message);
}

}  // namespace

void Knobs::apply(SpeechRequest& request) const {
  if (n_steps) request.decoding.n_step = *n_steps;
  if (chunk_seconds) request.chunking.chunk_seconds = *chunk_seconds;
  if (longest_seconds) request.chunking.threshold_seconds = *longest_seconds;
}

Answer<Knobs> read_knobs() {
  Knobs knobs;
  knobs.device = environment("ELIZA_DEVICE").value_or(knobs.device);
  CAPI_TRY(const auto n_threads, number_in<int>("ELIZA_ASR_THREADS", 1, kMostThreads, "from 1 to 1024"));
  knobs.n_threads = n_threads.value_or(0);
  CAPI_TRY(knobs.n_steps, number_in<int>("ELIZA_TTS_MASKGIT_STEPS", 1, kMostSteps, "from 1 to 64"));
  CAPI_TRY(knobs.chunk_seconds, seconds("ELIZA_TTS_CHUNK_DURATION_SEC"));
  CAPI_TRY(knobs.longest_seconds, seconds("ELIZA_TTS_CHUNK_THRESHOLD_SEC"));
  CAPI_TRY(knobs.recognition.language, language());
  return knobs;
}

}  // namespace parlance::capi
