#include "cli/say_models.h"

#include <array>

#include "assistant/default_model.h"
#include "audio/audio_file.h"
#include "bundle/bundle.h"
#include "cli/terminal/options.h"
#include "devices/devices.h"
#include "tts/audio/sinc_resampler.h"

namespace parlance {

namespace fs = std::filesystem;

namespace {

constexpr double kLeastReferenceSeconds = 0.5;
constexpr double kMostFileSeconds = 3600;  // a recording of that length is refused, but its own is then named

Result<TtsFiles> files_of(const SayModelChoice& choice) {
  if (!choice.base.empty()) return TtsFiles{choice.base, choice.codec};
  const fs::path folder = choice.folder.empty() ? find_demo_folder("tts") : fs::path(choice.folder);
  if (!folder.empty()) {
    PARLANCE_TRY(const Bundle bundle, open_bundle(folder, {.tts = Need::must}));
    return TtsFiles{bundle.tts_base, bundle.tts_codec};
  }
  return fail(ErrorCode::not_found,
              "no speech model: there is no models/demo/tts/*.gguf near this folder or the program; name the "
              "folder of an OmniVoice pair with --model FOLDER, or its files with --base and --codec");
}

}  // namespace

OptionGroup say_model_group(SayModelChoice& choice) {
  return {
      "Models",
      {text_option("-m, --model", "FOLDER",
                   "The folder with the two files of an OmniVoice model, or a bundle that has them in its "
                   "folder tts, and voices in its folder cache. Without it: the bundled demo model.",
                   choice.folder),
       text_option("--base", "FILE", "The language model, with --codec instead of a folder.", choice.base),
       text_option("--codec", "FILE", "The codec (\"tokenizer\") that belongs to --base.", choice.codec),
       threads_option(choice.n_threads), device_option(choice.device),
       huge_pages_option(choice.no_huge_pages)}};
}

Result<void> check_models(const SayModelChoice& choice) {
  if (choice.base.empty() != choice.codec.empty()) {
    return fail(ErrorCode::invalid_argument, "--base and --codec are the two files of one model; give both");
  }
  if (!choice.base.empty() && !choice.folder.empty()) {
    return fail(ErrorCode::invalid_argument, "--model and --base both name the model; leave one out");
  }
  return {};
}

Result<LoadedSynthesizer> load_synthesizer(const SayModelChoice& choice) {
  PARLANCE_TRY(const TtsFiles files, files_of(choice));
  LoadedSynthesizer loaded;
  loaded.bundle = bundle_of_tts(choice.folder.empty() ? files.base : fs::path(choice.folder));
  PARLANCE_TRY(loaded.device, make_device(choice.device, choice.n_threads));
  PARLANCE_TRY(loaded.model, TtsModel::load(files, *loaded.device, {.huge_pages = !choice.no_huge_pages}));
  loaded.synthesizer = std::make_unique<Synthesizer>(*loaded.model);
  return loaded;
}

Result<std::vector<float>> read_for_codec(const fs::path& path) {
  PARLANCE_TRY(AudioFile file, AudioFile::open(path, {.max_seconds = kMostFileSeconds}));
  std::vector<float> samples;
  std::array<float, 1 << 14> piece;
  for (;;) {
    PARLANCE_TRY(const int64_t n, file.read(piece));
    if (n == 0) break;
    samples.insert(samples.end(), piece.begin(), piece.begin() + n);
  }
  return sinc_resample(samples, file.sample_rate_hz(), kSpeechRateHz);
}

Result<Voice> voice_of_recording(Synthesizer& synthesizer, const RecordingChoice& recording,
                                 Cancellation cancellation) {
  PARLANCE_TRY(const std::vector<float> samples, read_for_codec(recording.file));
  const double seconds = static_cast<double>(samples.size()) / kSpeechRateHz;
  if (seconds < kLeastReferenceSeconds) {
    return fail(ErrorCode::invalid_argument,
                "{}: {:.2f} seconds are too short to know a voice by; give 3 to 10 seconds of speech",
                recording.file, seconds);
  }
  auto voice = synthesizer.encode_voice(samples, recording.text, /*is_prepared=*/false, cancellation);
  if (voice) return *std::move(voice);
  return fail(voice.error().code, "{}: {}", recording.file, voice.error().message);
}

}  // namespace parlance
