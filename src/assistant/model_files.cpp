#include "assistant/model_files.h"

#include <algorithm>
#include <vector>

#include "assistant/default_model.h"
#include "bundle/bundle.h"
#include "vad/silero_weights.h"

namespace parlance {

namespace fs = std::filesystem;

namespace {

// The bundle that a folder is, or is the folder asr of.
fs::path bundle_with_ears(const fs::path& given) {
  std::error_code ec;
  fs::path folder = fs::absolute(given, ec).lexically_normal();
  if (!folder.has_filename()) folder = folder.parent_path();  // it ended in a slash
  return folder.filename() == "asr" ? folder.parent_path() : folder;
}

// Where what belongs to a recogniser is looked for: its detector, its aligner.
fs::path bundle_of_ears(const ModelFiles& files) {
  if (!files.folder.empty()) return bundle_with_ears(files.folder);
  std::error_code ec;
  if (!files.asr.empty()) return bundle_with_ears(fs::absolute(files.asr, ec).parent_path());
  return find_demo_folder("asr").parent_path();
}

fs::path folder_or_demo(const ModelFiles& files, std::string_view demo_folder) {
  return files.folder.empty() ? find_demo_folder(demo_folder) : fs::path(files.folder);
}

// The first GGUF file of a folder by name; empty when there is none.
fs::path first_model_in(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code ec;
  for (fs::directory_iterator it(folder, ec), end; !ec && it != end; it.increment(ec)) {
    if (it->path().extension() == ".gguf") found.push_back(it->path());
  }
  return found.empty() ? fs::path() : *std::ranges::min_element(found);
}

}  // namespace

Result<fs::path> find_text_file(const ModelFiles& files) {
  return find_model(files.text.empty() ? files.folder : files.text);
}

Result<AsrFiles> find_asr_files(const ModelFiles& files) {
  if (!files.asr.empty()) return AsrFiles{files.asr, files.mmproj};
  const fs::path folder = folder_or_demo(files, "asr");
  if (!folder.empty()) {
    PARLANCE_TRY(const Bundle bundle, open_bundle(folder, {.asr = Need::must}));
    return AsrFiles{bundle.asr_text, bundle.asr_encoder};
  }
  return fail(ErrorCode::not_found,
              "no speech model: there is no models/demo/asr/*.gguf near this folder or the program; name the "
              "folder of a Qwen3-ASR pair with --model FOLDER, or its files with --asr and --mmproj");
}

Result<TtsFiles> find_tts_files(const ModelFiles& files) {
  if (!files.base.empty()) return TtsFiles{files.base, files.codec};
  const fs::path folder = folder_or_demo(files, "tts");
  if (!folder.empty()) {
    PARLANCE_TRY(const Bundle bundle, open_bundle(folder, {.tts = Need::must}));
    return TtsFiles{bundle.tts_base, bundle.tts_codec};
  }
  return fail(ErrorCode::not_found,
              "no speech model: there is no models/demo/tts/*.gguf near this folder or the program; name the "
              "folder of an OmniVoice pair with --model FOLDER, or its files with --base and --codec");
}

Result<AsrFiles> find_aligner_files(const ModelFiles& files) {
  const fs::path folder = bundle_of_ears(files);
  PARLANCE_TRY(const Bundle bundle, open_bundle(folder, {.aligner = Need::may}));
  if (!bundle.aligner_text.empty()) return AsrFiles{bundle.aligner_text, bundle.aligner_encoder};
  return fail(
      ErrorCode::not_found,
      "--words needs the model Qwen3-ForcedAligner: two GGUF files with \"aligner\" in their names, one "
      "also with \"mmproj\", in {}; there are none. The times of segments, in --format json, need "
      "nothing more",
      folder.string());
}

Result<fs::path> find_vad_file(const ModelFiles& files) {
  if (!files.vad.empty()) return fs::path(files.vad);
  const fs::path folder = bundle_of_ears(files);
  Result<fs::path> found = fs::path();
  if (!bundle_with_manifest(folder).empty()) {
    PARLANCE_TRY(const Bundle bundle, open_bundle(folder, {.vad = Need::may}));
    found = bundle.vad.empty() ? find_vad({}) : Result<fs::path>(bundle.vad);
  } else {
    found = find_vad(folder);
  }
  if (found) return found;
  return fail(found.error().code, "{}, or with --vad FILE", found.error().message);
}

Result<fs::path> find_speaker_file(const ModelFiles& files) {
  if (!files.speaker.empty()) return fs::path(files.speaker);
  const fs::path folder =
      files.folder.empty() ? find_demo_folder("speaker") : fs::path(files.folder) / "speaker";
  const fs::path file = folder.empty() ? folder : first_model_in(folder);
  if (!file.empty()) return file;
  return fail(ErrorCode::not_found,
              "no speaker verifier: there is no speaker/*.gguf in {}; name its file with --speaker",
              files.folder.empty() ? "models/demo" : files.folder);
}

Result<fs::path> find_drafter_file(const ModelFiles& files) {
  if (!files.drafter.empty()) return fs::path(files.drafter);
  const fs::path folder = files.folder.empty() ? find_demo_bundle() : fs::path(files.folder);
  if (!folder.empty()) {
    PARLANCE_TRY(const Bundle bundle, open_bundle(folder, {.drafter = Need::must}));
    return bundle.drafter;
  }
  return fail(ErrorCode::not_found,
              "no drafter: there is no models/demo near this folder or the program; name a bundle with "
              "--model FOLDER");
}

fs::path find_voices(const ModelFiles& files) {
  if (!files.base.empty()) return bundle_of_tts(files.base);
  const fs::path folder = folder_or_demo(files, "tts");
  return folder.empty() ? folder : bundle_of_tts(folder);
}

}  // namespace parlance
