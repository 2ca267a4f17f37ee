#include "tts/tts_model.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "tts/audio/speech_format.h"

namespace parlance {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kBaseArchitecture = "omnivoice-lm", kCodecArchitecture = "omnivoice-tokenizer";

std::vector<fs::path> gguf_files_below(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code ec;
  for (fs::recursive_directory_iterator entry(folder, ec), end; !ec && entry != end; entry.increment(ec)) {
    if (entry->path().extension() == ".gguf" && entry->is_regular_file(ec)) files.push_back(entry->path());
  }
  std::ranges::sort(files);
  return files;
}

std::string names_of(const std::vector<fs::path>& files) {
  std::vector<std::string> names;
  for (const fs::path& file : files) names.push_back(file.filename().string());
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

Result<GgufFile> open_with_architecture(const fs::path& path, std::string_view expected) {
  PARLANCE_TRY(GgufFile file, GgufFile::open(path));
  PARLANCE_TRY(const std::string_view architecture, file.get_string("general.architecture"));
  if (architecture == expected) return file;
  return fail(ErrorCode::unsupported, "{}: expected general.architecture {}, found {}", path.string(),
              expected, architecture);
}

}  // namespace

Result<TtsFiles> find_tts(const fs::path& folder) {
  std::error_code ec;
  fs::path root = folder;
  for (const char* name : {"voice", "tts"}) {
    if (fs::is_directory(folder / name, ec)) root = folder / name;
  }
  if (!fs::is_directory(root, ec)) {
    return fail(ErrorCode::not_found,
                "{} is not a folder; give one that holds the two files of an OmniVoice model", root.string());
  }
  const std::vector<fs::path> files = gguf_files_below(root);
  std::vector<fs::path> bases, codecs;
  for (const fs::path& path : files) {
    const auto file = GgufFile::open(path);  // a damaged one is reported when it is the only one
    const auto architecture = file ? file->get_string("general.architecture") : tl::unexpected(file.error());
    if (!architecture) {
      if (files.size() <= 2) return tl::unexpected(architecture.error());
    } else if (*architecture == kBaseArchitecture) {
      bases.push_back(path);
    } else if (*architecture == kCodecArchitecture) {
      codecs.push_back(path);
    }
  }
  if (bases.size() == 1 && codecs.size() == 1) return TtsFiles{bases.front(), codecs.front()};
  return fail(
      ErrorCode::not_found,
      "{}: expected one GGUF file with the architecture {} and one with {}, found {} and {}; name the two "
      "files",
      root.string(), kBaseArchitecture, kCodecArchitecture, names_of(bases), names_of(codecs));
}

fs::path bundle_of_tts(const fs::path& folder_or_file) {
  std::error_code ec;
  fs::path folder = fs::absolute(folder_or_file, ec).lexically_normal();
  if (!folder.has_filename()) folder = folder.parent_path();  // it ended in a slash
  if (!fs::is_directory(folder, ec)) folder = folder.parent_path();
  const fs::path name = folder.filename();
  return name == "tts" || name == "voice" || name == "speech" ? folder.parent_path() : folder;
}

Result<void> TtsModel::check_pair() const {
  const OmniVoiceParameters& lm = lm_->parameters();
  const OmniVoiceCodecParameters& codec = codec_->parameters();
  if (codec.n_codebook != lm.n_codebook || codec.n_codes != lm.n_audio_vocab - 1 ||
      lm.mask != lm.n_audio_vocab - 1) {
    return fail(
        ErrorCode::unsupported,
        "{} decides {} codes of {} values with the mask {}, {} knows {} of {}; give the two files of the "
        "same model",
        base_file_.name(), lm.n_codebook, lm.n_audio_vocab - 1, lm.mask, codec_file_.name(), codec.n_codebook,
        codec.n_codes);
  }
  if (codec.hop() != kSpeechFrameSamples) {
    return fail(ErrorCode::unsupported, "{}: frames have {} samples; this program speaks with {} at {} Hz",
                codec_file_.name(), codec.hop(), kSpeechFrameSamples, kSpeechRateHz);
  }
  return {};
}

Result<std::unique_ptr<TtsModel>> TtsModel::load(const TtsFiles& files, Device& device,
                                                 const TtsModelOptions& options) {
  PARLANCE_TRY(GgufFile base, open_with_architecture(files.base, kBaseArchitecture));
  PARLANCE_TRY(GgufFile codec, open_with_architecture(files.codec, kCodecArchitecture));
  Device& codec_device = options.codec_device ? *options.codec_device : device;
  std::unique_ptr<TtsModel> model(new TtsModel(std::move(base), std::move(codec), device, codec_device));
  PARLANCE_TRY(model->lm_, OmniVoiceLm::load(model->base_file_, device, WeightPrecision::as_stored,
                                             options.widened_weights));
  PARLANCE_TRY(model->codec_, OmniVoiceCodec::load(model->codec_file_, codec_device));
  PARLANCE_CHECK(model->check_pair());
  PARLANCE_TRY(model->traits_, speech_traits_of(model->base_file_));
  PARLANCE_TRY(model->tokenizer_, load_tts_tokenizer(model->base_file_, options.pre_tokenizer));
  if (options.huge_pages && device.name() == "cpu") model->base_file_.move_to_huge_pages();
  if (options.huge_pages && codec_device.name() == "cpu") model->codec_file_.move_to_huge_pages();
  return model;
}

}  // namespace parlance
