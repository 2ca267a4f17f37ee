#include "cli/listen_models.h"

#include "assistant/default_model.h"
#include "assistant/text_region.h"
#include "bundle/bundle.h"
#include "devices/devices.h"

namespace parlance {

namespace fs = std::filesystem;

namespace {

// The folder whose sub-folders are asr, vad, ...; empty when nothing says where it is.
fs::path bundle_of(const ListenModelChoice& choice) {
  fs::path folder = choice.folder;
  std::error_code error;  // whoever opens a file there says what is wrong
  if (folder.empty() && !choice.asr.empty()) folder = fs::absolute(choice.asr, error).parent_path();
  if (folder.empty()) return find_demo_folder("asr").parent_path();
  folder = fs::absolute(folder, error).lexically_normal();
  if (!folder.has_filename()) folder = folder.parent_path();  // it ended in a slash
  return folder.filename() == "asr" ? folder.parent_path() : folder;
}

Result<AsrFiles> files_of(const ListenModelChoice& choice) {
  if (!choice.asr.empty()) return AsrFiles{choice.asr, choice.mmproj};
  const fs::path folder = choice.folder.empty() ? find_demo_folder("asr") : fs::path(choice.folder);
  if (!folder.empty()) {
    PARLANCE_TRY(const Bundle bundle, open_bundle(folder, {.asr = Need::must}));
    return AsrFiles{bundle.asr_text, bundle.asr_encoder};
  }
  return fail(ErrorCode::not_found,
              "no speech model: there is no models/demo/asr/*.gguf near this folder or the program; name the "
              "folder of a Qwen3-ASR pair with --model FOLDER, or its files with --asr and --mmproj");
}

// The weights of the bundle, else those that the environment names; not_found when there are none.
Result<fs::path> find_detector(const ListenModelChoice& choice) {
  const fs::path folder = bundle_of(choice);
  if (bundle_with_manifest(folder).empty()) return find_vad(folder);
  PARLANCE_TRY(const Bundle bundle, open_bundle(folder, {.vad = Need::may}));
  return bundle.vad.empty() ? find_vad({}) : bundle.vad;
}

}  // namespace

Result<LoadedRecognizer> load_recognizer(const ListenOptions& options) {
  PARLANCE_TRY(const AsrFiles files, files_of(options.models));
  LoadedRecognizer loaded;
  PARLANCE_TRY(loaded.device, make_device(options.models.device, options.models.n_threads));
  PARLANCE_TRY(loaded.model,
               AsrModel::load(files, *loaded.device, {.huge_pages = !options.models.no_huge_pages}));
  PARLANCE_TRY(loaded.recognizer, Recognizer::create(*loaded.model, options.recognizer));
  loaded.text_name = display_name(loaded.model->text());
  loaded.encoder_name = files.encoder.stem().string();
  return loaded;
}

Result<std::shared_ptr<const SileroModel>> load_detector(const ListenModelChoice& choice) {
  if (!choice.vad.empty()) return load_silero(choice.vad);
  const Result<fs::path> found = find_detector(choice);
  if (found) return load_silero(*found);
  if (found.error().code != ErrorCode::not_found) return tl::unexpected(found.error());
  return fail(found.error().code, "{}, or with --vad FILE", found.error().message);
}

Result<std::shared_ptr<const SileroModel>> load_detector_if_any(const ListenModelChoice& choice) {
  auto detector = load_detector(choice);
  const bool is_none = !detector && detector.error().code == ErrorCode::not_found;
  if (is_none && choice.vad.empty()) return nullptr;
  return detector;
}

Result<std::unique_ptr<Aligner>> load_aligner(const ListenModelChoice& choice, Device& device) {
  const fs::path bundle = bundle_of(choice);
  PARLANCE_TRY(const Bundle found, open_bundle(bundle, {.aligner = Need::may}));
  if (!found.aligner_text.empty()) {
    return Aligner::load({found.aligner_text, found.aligner_encoder}, device);
  }
  return fail(
      ErrorCode::not_found,
      "--words needs the model Qwen3-ForcedAligner: two GGUF files with \"aligner\" in their names, one "
      "also with \"mmproj\", in {}; there are none. The times of segments, in --format json, need "
      "nothing more",
      bundle.string());
}

}  // namespace parlance
