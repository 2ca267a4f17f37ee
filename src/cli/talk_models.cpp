#include "cli/talk_models.h"

#include <algorithm>
#include <functional>
#include <future>

#include "assistant/default_model.h"
#include "bundle/bundle.h"
#include "devices/devices.h"
#include "models/model.h"

namespace parlance {

namespace fs = std::filesystem;

namespace {

// Ears have the rank that every device begins with, the best.
constexpr int kMouthRank = 1, kMindRank = 2;

constexpr int64_t kMostContext = 4096;
// A turn is a few sentences; the recogniser's memory goes by this.
constexpr double kMostTurnSeconds = 60;

Result<fs::path> bundle_folder(const TalkModelChoice& choice) {
  if (!choice.bundle.empty()) return fs::path(choice.bundle);
  const fs::path demo = find_demo_bundle();
  const bool names_all =
      !choice.text.empty() && !choice.asr.empty() && !choice.base.empty() && !choice.vad.empty();
  if (!demo.empty() || names_all) return demo;
  return fail(ErrorCode::not_found,
              "no models: there is no models/demo near this folder or the program; name a bundle with "
              "--model FOLDER");
}

// Each loads what is behind one of the four parts; they run at the same time and touch nothing in common.

Result<void> load_detector(const TalkModelChoice& choice, TalkModels& loaded) {
  fs::path file = choice.vad;
  if (file.empty()) {
    PARLANCE_TRY(const Bundle bundle, open_bundle(loaded.bundle, {.vad = Need::may}));
    file = bundle.vad;
  }
  if (file.empty()) {
    const auto found = find_vad(loaded.bundle);
    if (!found) return fail(found.error().code, "{}, or with --vad FILE", found.error().message);
    file = *found;
  }
  PARLANCE_TRY(loaded.detector, load_silero(file));
  return {};
}

Result<void> load_ears(const TalkModelChoice& choice, TalkModels& loaded) {
  AsrFiles files{choice.asr, choice.mmproj};
  if (choice.asr.empty()) {
    PARLANCE_TRY(const Bundle bundle, open_bundle(loaded.bundle, {.asr = Need::must}));
    files = {bundle.asr_text, bundle.asr_encoder};
  }
  PARLANCE_TRY(loaded.asr, AsrModel::load(files, *loaded.ears_device, {.huge_pages = !choice.no_huge_pages}));
  RecognizerOptions options;
  options.n_streams = 2;
  options.max_seconds = kMostTurnSeconds;
  PARLANCE_TRY(loaded.recognizer, Recognizer::create(*loaded.asr, options));
  return {};
}

Result<void> load_mouth(const TalkModelChoice& choice, TalkModels& loaded) {
  TtsFiles files{choice.base, choice.codec};
  if (choice.base.empty()) {
    PARLANCE_TRY(const Bundle bundle, open_bundle(loaded.bundle, {.tts = Need::must}));
    files = {bundle.tts_base, bundle.tts_codec};
    loaded.voices = bundle.folder;
  } else {
    loaded.voices = bundle_of_tts(files.base);
  }
  PARLANCE_TRY(loaded.tts,
               TtsModel::load(files, *loaded.mouth_device, {.huge_pages = !choice.no_huge_pages}));
  loaded.synthesizer = std::make_unique<Synthesizer>(*loaded.tts);
  return {};
}

Result<void> load_mind(const TalkModelChoice& choice, TalkModels& loaded) {
  fs::path path = choice.text;
  if (path.empty()) {
    PARLANCE_TRY(const Bundle bundle, open_bundle(loaded.bundle, {.text = Need::must}));
    path = bundle.text;
  }
  PARLANCE_TRY(auto file, GgufFile::open(path));
  PARLANCE_TRY(const HyperParameters hp, read_hyper_parameters(file));
  PARLANCE_TRY(loaded.text, TextModel::load(std::move(file), Placement(*loaded.mind_device, hp.n_layer),
                                            {.huge_pages = !choice.no_huge_pages}));
  SessionOptions options;
  options.n_ctx = std::min(kMostContext, hp.n_ctx_train);
  PARLANCE_TRY(loaded.session, Session::create(*loaded.text, options));
  return {};
}

}  // namespace

Result<void> check_models(const TalkModelChoice& choice) {
  if (choice.asr.empty() != choice.mmproj.empty()) {
    return fail(ErrorCode::invalid_argument, "--asr and --mmproj are the two files of one model; give both");
  }
  if (choice.base.empty() != choice.codec.empty()) {
    return fail(ErrorCode::invalid_argument, "--base and --codec are the two files of one model; give both");
  }
  return {};
}

Result<TalkModels> load_talk_models(const TalkModelChoice& choice) {
  TalkModels loaded;
  PARLANCE_TRY(loaded.bundle, bundle_folder(choice));
  PARLANCE_TRY(loaded.ears_device, make_device("cpu", choice.n_threads));
  loaded.mouth_device = share_cpu_device(*loaded.ears_device, kMouthRank);
  if (choice.device == "cpu") {
    loaded.mind_device = share_cpu_device(*loaded.ears_device, kMindRank);
  } else {
    PARLANCE_TRY(loaded.mind_device, make_device(choice.device, choice.n_threads));
  }

  using Load = Result<void> (*)(const TalkModelChoice&, TalkModels&);
  std::vector<std::future<Result<void>>> loads;
  for (const Load load : {load_mind, load_mouth, load_ears}) {
    loads.push_back(std::async(std::launch::async, load, std::cref(choice), std::ref(loaded)));
  }
  Result<void> done = load_detector(choice, loaded);
  for (auto& load : loads) {
    Result<void> result = load.get();
    if (done) done = std::move(result);
  }
  PARLANCE_CHECK(done);
  return loaded;
}

}  // namespace parlance
