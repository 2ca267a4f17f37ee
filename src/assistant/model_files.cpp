#include "assistant/model_files.h"

#include "assistant/default_model.h"
#include "base/os/environment.h"
#include "base/os/folder.h"
#include "base/parameter.h"
#include "bundle/bundle.h"
#include "hub/local_model.h"
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
  if (!files.folder.empty() && (files.asr.empty() || is_folder(files.folder))) {
    return bundle_with_ears(files.folder);
  }
  if (!files.asr.empty()) return bundle_with_ears(absolute_path(files.asr).parent_path());
  return find_demo_folder("asr").parent_path();
}

// Puts the two files of one model where the first was named as hubs name it.
Result<void> take_pair(std::string& first, std::string& second, fs::path LocalModel::*its_second,
                       std::string_view what) {
  if (!is_remote_name(first)) return {};
  PARLANCE_TRY(const LocalModel model, find_local_model(first));
  if ((model.*its_second).empty() && second.empty()) {
    return fail(ErrorCode::not_found, "{}: there is no {} beside the language model; name another repository",
                first, what);
  }
  first = model.model.string();
  if (second.empty()) second = (model.*its_second).string();
  return {};
}

// A bundle in place of its name; of one model its file, and its pairs as far as none are named beside it.
Result<void> take_folder(ModelFiles& files) {
  if (!is_remote_name(files.folder)) return {};
  PARLANCE_TRY(const LocalModel model, find_local_model(files.folder));
  if (model.kind == RepoKind::bundle) {
    files.folder = model.folder.string();
    return {};
  }
  PARLANCE_TRY(const fs::path file, on_this_machine(files.folder));
  files.folder = file.string();
  if (!model.codec.empty() && files.base.empty()) {
    files.base = files.folder;
    files.codec = model.codec.string();
  }
  if (!model.mmproj.empty() && files.asr.empty()) {
    files.asr = files.folder;
    files.mmproj = model.mmproj.string();
  }
  return {};
}

fs::path folder_or_demo(const ModelFiles& files, std::string_view demo_folder) {
  return files.folder.empty() ? find_demo_folder(demo_folder) : fs::path(files.folder);
}

}  // namespace

Result<ModelFiles> on_this_machine(ModelFiles files) {
  PARLANCE_CHECK(take_folder(files));
  PARLANCE_CHECK(take_pair(files.asr, files.mmproj, &LocalModel::mmproj, "audio encoder (mmproj)"));
  PARLANCE_CHECK(take_pair(files.base, files.codec, &LocalModel::codec, "codec (tokenizer)"));
  for (std::string* file : {&files.text, &files.mmproj, &files.codec, &files.vad, &files.speaker,
                            &files.drafter, &files.embedding}) {
    PARLANCE_TRY(const fs::path found, on_this_machine(*file));
    *file = found.string();
  }
  return files;
}

Result<fs::path> find_text_file(const ModelFiles& named_files) {
  PARLANCE_TRY(const ModelFiles files, on_this_machine(named_files));
  return find_model(files.text.empty() ? files.folder : files.text);
}

Result<AsrFiles> find_asr_files(const ModelFiles& named_files) {
  PARLANCE_TRY(const ModelFiles files, on_this_machine(named_files));
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

Result<TtsFiles> find_tts_files(const ModelFiles& named_files) {
  PARLANCE_TRY(const ModelFiles files, on_this_machine(named_files));
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

Result<AsrFiles> find_aligner_files(const ModelFiles& named_files) {
  PARLANCE_TRY(const ModelFiles files, on_this_machine(named_files));
  const fs::path folder = bundle_of_ears(files);
  PARLANCE_TRY(const Bundle bundle, open_bundle(folder, {.aligner = Need::may}));
  if (!bundle.aligner_text.empty()) return AsrFiles{bundle.aligner_text, bundle.aligner_encoder};
  return fail(ErrorCode::not_found,
              "{} needs the model Qwen3-ForcedAligner: two GGUF files with \"aligner\" in their names, one "
              "also with \"mmproj\", in {}; there are none. The times of segments, in {}, need nothing more",
              Parameter::words, folder.string(), set_to(Parameter::format, "json"));
}

Result<fs::path> find_vad_file(const ModelFiles& named_files) {
  PARLANCE_TRY(const ModelFiles files, on_this_machine(named_files));
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

Result<fs::path> find_speaker_file(const ModelFiles& named_files) {
  PARLANCE_TRY(const ModelFiles files, on_this_machine(named_files));
  if (!files.speaker.empty()) return fs::path(files.speaker);
  const fs::path folder =
      files.folder.empty() ? find_demo_folder("speaker") : fs::path(files.folder) / "speaker";
  const fs::path file = folder.empty() ? folder : first_model_in(folder);
  if (!file.empty()) return file;
  return fail(ErrorCode::not_found,
              "no speaker verifier: there is no speaker/*.gguf in {}; name its file with {}",
              files.folder.empty() ? "models/demo" : files.folder, Parameter::speaker);
}

Result<fs::path> find_drafter_file(const ModelFiles& named_files) {
  PARLANCE_TRY(const ModelFiles files, on_this_machine(named_files));
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

Result<fs::path> find_embedding_file(const ModelFiles& named_files) {
  PARLANCE_TRY(const ModelFiles files, on_this_machine(named_files));
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
  const std::string demo = given.empty() ? find_demo_bundle().string() : given;
  PARLANCE_TRY(const fs::path folder, on_this_machine(demo));
  if (!is_folder(folder)) return fs::path();
  PARLANCE_TRY(const Bundle bundle, open_bundle(folder, {.drafter = Need::may}));
  return bundle.drafter;
}

fs::path find_voices(const ModelFiles& named_files) {
  const ModelFiles files = on_this_machine(named_files).value_or(named_files);
  if (!files.base.empty()) return bundle_of_tts(files.base);
  const fs::path folder = folder_or_demo(files, "tts");
  return folder.empty() ? folder : bundle_of_tts(folder);
}

}  // namespace parlance
