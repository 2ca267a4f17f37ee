#include "assistant/model_files.h"

#include "assistant/default_model.h"
#include "base/os/environment.h"
#include "base/parameter.h"
#include "bundle/bundle.h"
#include "vad/silero_weights.h"

namespace parlance {

namespace fs = std::filesystem;

namespace {

// The bundle that a folder is, or is the folder asr of.
fs::path bundle_with_ears(const fs::path& given) {
  const fs::path folder = absolute_path(given);
  return folder.filename() == "asr" ? folder.parent_path() : folder;
}

// Where what belongs to a recogniser is looked for: its detector, its aligner.
fs::path bundle_of_ears(const ModelFiles& files) {
  if (!files.folder.empty()) return bundle_with_ears(files.folder);
  if (!files.asr.empty()) return bundle_with_ears(absolute_path(files.asr).parent_path());
  return find_demo_folder("asr").parent_path();
}

fs::path folder_or_demo(const ModelFiles& files, std::string_view demo_folder) {
  return files.folder.empty() ? find_demo_folder(demo_folder) : fs::path(files.folder);
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
              "folder of a Qwen3-ASR pair with {}, or its files with {} and {}",
              set_to(Parameter::model, "FOLDER"), Parameter::asr, Parameter::mmproj);
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
              "folder of an OmniVoice pair with {}, or its files with {} and {}",
              set_to(Parameter::model, "FOLDER"), Parameter::tts_base, Parameter::tts_codec);
}

Result<AsrFiles> find_aligner_files(const ModelFiles& files) {
  const fs::path folder = bundle_of_ears(files);
  PARLANCE_TRY(const Bundle bundle, open_bundle(folder, {.aligner = Need::may}));
  if (!bundle.aligner_text.empty()) return AsrFiles{bundle.aligner_text, bundle.aligner_encoder};
  return fail(ErrorCode::not_found,
              "{} needs the model Qwen3-ForcedAligner: two GGUF files with \"aligner\" in their names, one "
              "also with \"mmproj\", in {}; there are none. The times of segments, in {}, need nothing more",
              Parameter::words, folder.string(), set_to(Parameter::format, "json"));
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
  return fail(found.error().code, "{}, or with {}", found.error().message, set_to(Parameter::vad, "FILE"));
}

Result<fs::path> find_speaker_file(const ModelFiles& files) {
  if (!files.speaker.empty()) return fs::path(files.speaker);
  const fs::path folder =
      files.folder.empty() ? find_demo_folder("speaker") : fs::path(files.folder) / "speaker";
  const fs::path file = folder.empty() ? folder : first_model_in(folder);
  if (!file.empty()) return file;
  return fail(ErrorCode::not_found,
              "no speaker verifier: there is no speaker/*.gguf in {}; name its file with {}",
              files.folder.empty() ? "models/demo" : files.folder, Parameter::speaker);
}

Result<fs::path> find_drafter_file(const ModelFiles& files) {
  if (!files.drafter.empty()) return fs::path(files.drafter);
  const fs::path folder = files.folder.empty() ? find_demo_bundle() : fs::path(files.folder);
  if (!folder.empty()) {
    PARLANCE_TRY(const Bundle bundle, open_bundle(folder, {.drafter = Need::must}));
    return bundle.drafter;
  }
  return fail(ErrorCode::not_found,
              "no drafter: there is no models/demo near this folder or the program; name a bundle with {}",
              set_to(Parameter::model, "FOLDER"));
}

Result<fs::path> find_embedding_file(const ModelFiles& files) {
  if (!files.embedding.empty()) return fs::path(files.embedding);
  const fs::path folder =
      files.folder.empty() ? find_demo_folder("embedding") : fs::path(files.folder) / "embedding";
  const fs::path file = is_folder(folder) ? first_model_in(folder) : fs::path();
  if (!file.empty()) return file;
  return fail(ErrorCode::not_found, "no embedding model: there is no embedding/*.gguf in {}",
              files.folder.empty() ? "models/demo" : files.folder);
}

Result<fs::path> find_own_drafter(const ModelFiles& files) {
  const std::string& named = files.text.empty() ? files.folder : files.text;
  const std::string given = named.empty() ? environment("PARLANCE_MODEL").value_or("") : named;
  const fs::path folder = given.empty() ? find_demo_bundle() : fs::path(given);
  if (!is_folder(folder)) return fs::path();
  PARLANCE_TRY(const Bundle bundle, open_bundle(folder, {.drafter = Need::may}));
  return bundle.drafter;
}

fs::path find_voices(const ModelFiles& files) {
  if (!files.base.empty()) return bundle_of_tts(files.base);
  const fs::path folder = folder_or_demo(files, "tts");
  return folder.empty() ? folder : bundle_of_tts(folder);
}

}  // namespace parlance
