#include "asr/asr_model.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/os/folder.h"

namespace parlance {

namespace fs = std::filesystem;

namespace {

bool contains_any(const std::string& name, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return name.find(word) != std::string::npos; });
}

std::string names_of(const std::vector<fs::path>& files) {
  std::string names;
  for (const fs::path& file : files) names += (names.empty() ? "" : ", ") + file.filename().string();
  return names.empty() ? "none" : names;
}

}  // namespace

Result<AsrFiles> find_asr(const fs::path& folder) {
  const fs::path root = is_folder(folder / "asr") ? folder / "asr" : folder;
  const AsrFiles usual{root / "eliza-1-asr.gguf", root / "eliza-1-asr-mmproj.gguf"};
  if (is_file(usual.text) && is_file(usual.encoder)) return usual;
  if (!is_folder(root)) {
    return fail(ErrorCode::not_found,
                "{} is not a folder; give one that holds the two files of a Qwen3-ASR model", root.string());
  }
  std::vector<fs::path> encoders, texts;
  for (const fs::path& path : files_below(root).value_or(std::vector<fs::path>())) {
    const std::string name = path.filename().string();
    if (path.extension() != ".gguf" || !is_file(path)) continue;
    if (contains_any(name, {"aligner"})) continue;
    if (contains_any(name, {"mmproj"})) {
      encoders.push_back(path);
    } else if (!contains_any(name, {"tokenizer", "support", "vocab"})) {
      texts.push_back(path);
    }
  }
  if (encoders.size() == 1 && texts.size() == 1) return AsrFiles{texts.front(), encoders.front()};
  return fail(ErrorCode::not_found,
              "{}: expected one language model and one mmproj file (eliza-1-asr.gguf, "
              "eliza-1-asr-mmproj.gguf), found "
              "{} and {}; name the two files",
              root.string(), names_of(texts), names_of(encoders));
}

Result<std::unique_ptr<AsrModel>> AsrModel::load(const AsrFiles& files, Device& device,
                                                 const TextModelOptions& options) {
  PARLANCE_TRY(auto encoder_file, GgufFile::open(files.encoder));
  std::unique_ptr<AsrModel> model(new AsrModel(std::move(encoder_file), device));
  PARLANCE_TRY(model->encoder_, AudioEncoder::load(model->encoder_file_, device, options.precision));
  if (options.huge_pages && device.name() == "cpu") model->encoder_file_.move_to_huge_pages();
  PARLANCE_TRY(auto text_file, GgufFile::open(files.text));
  PARLANCE_CHECK(architecture_of(text_file));
  PARLANCE_TRY(const HyperParameters hp, read_hyper_parameters(text_file));
  constexpr int64_t kLeastSeconds = 2, kMostSeconds = 1200;
  PARLANCE_TRY(model->longest_seconds_,
               text_file.find_int("parlance.max_seconds", kLeastSeconds, kMostSeconds));
  PARLANCE_TRY(model->text_, TextModel::load(std::move(text_file), Placement(device, hp.n_layer), options));
  if (model->encoder_->parameters().n_out != hp.n_embd) {
    return fail(ErrorCode::unsupported,
                "{} yields rows of {}, {} takes rows of {}; give the two files of the same model",
                files.encoder.string(), model->encoder_->parameters().n_out, files.text.string(), hp.n_embd);
  }
  return model;
}

}  // namespace parlance
