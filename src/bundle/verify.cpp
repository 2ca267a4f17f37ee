#include "bundle/verify.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/os/file.h"
#include "base/os/folder.h"
#include "bundle/bundle.h"
#include "bundle/bundle_files.h"
#include "bundle/requirements.h"
#include "bundle/sha256.h"
#include "gguf/reader.h"
#include "gguf/totals.h"
#include "tts/files/voice_preset.h"
#include "vad/silero_weights.h"

namespace parlance {

namespace fs = std::filesystem;

namespace {

bool is_gguf(const fs::path& path) {
  const auto file = MappedFile::open(path);
  constexpr std::string_view kMagic = "GGUF";
  return file && file->bytes().size() >= kMagic.size() &&
         std::ranges::equal(file->bytes().first(kMagic.size()), std::as_bytes(std::span(kMagic)));
}

Result<FileContent> read_gguf(const fs::path& path) {
  PARLANCE_TRY(const GgufFile file, GgufFile::open(path));
  FileContent content;
  PARLANCE_TRY(const auto architecture, file.find_string("general.architecture"));
  PARLANCE_TRY(const auto name, file.find_string("general.name"));
  PARLANCE_TRY(const auto tokens, file.find_strings("tokenizer.ggml.tokens"));
  content.kind = architecture.value_or("GGUF");
  content.name = name.value_or("");
  content.n_vocab = tokens ? tokens->size() : 0;
  const auto n_ctx = file.find_int(content.kind + ".context_length", 1, int64_t{1} << 40);
  if (n_ctx && *n_ctx) content.n_ctx = **n_ctx;
  content.n_parameters = static_cast<double>(n_weights(file));
  return content;
}

// Nothing for a format that this program does not know.
Result<std::optional<FileContent>> read_content(const std::string& group, const fs::path& path,
                                                const std::string& said_path) {
  FileContent content;
  if (group == "cache" && is_voice_preset(said_path)) {
    PARLANCE_TRY(const VoicePreset preset, read_voice_preset(path));
    content.kind = "voice preset";
    content.name = preset.instruct.empty() ? preset.reference_text : preset.instruct;
    return content;
  }
  if (group == "vad") {
    PARLANCE_TRY(const SileroWeights weights, read_silero_weights(path));
    content.kind = "voice detector";
    return content;
  }
  if (!is_gguf(path)) return std::nullopt;
  return read_gguf(path);
}

// What is in the file, against what the manifest says of it.
void look_into(const fs::path& folder, FileReport& file) {
  const auto path = find_file(folder, file.said);
  if (!path) {
    file.problem = path.error().message;
    return;
  }
  std::error_code ec;
  file.n_bytes = fs::file_size(*path, ec);
  if (!file.problem.empty()) return;
  const auto content = read_content(file.group, *path, file.said.path);
  if (!content) {
    file.problem = content.error().message;
    return;
  }
  file.content = *content;
  if (file.content && file.content->n_ctx > 0 && file.said.ctx > file.content->n_ctx) {
    file.problem = fmt::format(
        "{}: the manifest says a context of {}, the model was made for {}; write the manifest anew with "
        "'parlance bundle make'",
        path->string(), file.said.ctx, file.content->n_ctx);
  }
  const bool must_be_known = file.group == "text" || file.group == "voice" || file.group == "asr" ||
                             file.group == "dflash" || file.group == "mtp";
  if (!file.content && must_be_known) {
    file.problem = fmt::format("{}: expected a GGUF file; copy the bundle again", path->string());
  }
}

// Folders and endings of what people read and programs do not load.
bool is_document(const std::string& path) {
  constexpr std::array<std::string_view, 5> kFolders = {"licenses/", "evals/", "evidence/", "checksums/",
                                                        "quantization/"};
  constexpr std::array<std::string_view, 5> kEndings = {".md", ".txt", ".json", ".jsonl", "LICENSE"};
  return std::ranges::any_of(kFolders, [&](auto folder) { return path.starts_with(folder); }) ||
         std::ranges::any_of(kEndings, [&](auto ending) { return path.ends_with(ending); });
}

// Files that no group names: loaders that search folders would find them.
void look_for_strangers(const fs::path& folder, BundleReport& report) {
  constexpr size_t kMostNamed = 20;
  std::set<std::string> named;
  for (const FileReport& file : report.files) named.insert(file.said.path);
  std::vector<std::string> strangers;
  for (const fs::path& file : files_below(folder).value_or(std::vector<fs::path>())) {
    const std::string path = file.lexically_relative(folder).generic_string();
    if (!named.contains(path) && !is_document(path)) strangers.push_back(path);
  }
  std::ranges::sort(strangers);
  for (const std::string& path : strangers) {
    if (report.warnings.size() == kMostNamed) {
      report.warnings.push_back(fmt::format("and {} more", strangers.size() - kMostNamed));
      return;
    }
    report.warnings.push_back(path + ": the manifest does not name this file");
  }
}

void look_at_vocabularies(BundleReport& report) {
  constexpr size_t kProductVocabulary = 248320;  // of the Qwen3.5 family
  constexpr std::array<std::string_view, 4> kTiers = {"0_8b", "2b", "4b", "27b"};
  const FileReport* text = nullptr;
  for (const FileReport& file : report.files) {
    if (!file.content || file.content->n_vocab == 0) continue;
    if (file.group == "text") {
      text = text ? text : &file;
      if (std::ranges::find(kTiers, report.manifest.tier) != kTiers.end() &&
          file.content->n_vocab != kProductVocabulary) {
        report.warnings.push_back(fmt::format("{}: a vocabulary of {}, models of this tier have {}",
                                              file.said.path, file.content->n_vocab, kProductVocabulary));
      }
    }
  }
  for (const FileReport& file : report.files) {
    const bool is_drafter = file.group == "dflash" || file.group == "mtp";
    if (!is_drafter || !text || !file.content || file.content->n_vocab == 0) continue;
    if (file.content->n_vocab == text->content->n_vocab) continue;
    report.problems.push_back(
        fmt::format("{}: a vocabulary of {}, {} has {}; give a drafter of the same model", file.said.path,
                    file.content->n_vocab, text->said.path, text->content->n_vocab));
  }
}

void check_files(const fs::path& folder, BundleReport& report) {
  std::vector<fs::path> paths;
  for (const FileReport& file : report.files) paths.push_back(folder / file.said.path);
  const std::vector<Result<FileDigest>> digests = digests_of_files(paths);
  for (size_t i = 0; i < paths.size(); ++i) {
    FileReport& file = report.files[i];
    if (const auto path = find_file(folder, file.said); !path) {
      file.problem = path.error().message;
    } else if (!digests[i]) {
      file.problem = digests[i].error().message;
    } else {
      file.found_sha256 = digests[i]->sha256;
      const auto same = check_checksum(*path, file.said, file.found_sha256);
      if (!same) file.problem = same.error().message;
    }
  }
}

// Whether the files of a model belong together, once each of them is good.
void check_pairs(const ManifestOnDisk& bundle, BundleReport& report) {
  const auto check = [&](std::string_view group, bool is_there,
                         Result<FilePair> (*find)(const ManifestOnDisk&)) {
    const bool is_good = std::ranges::none_of(
        report.files, [&](const FileReport& file) { return file.group == group && !file.problem.empty(); });
    if (!is_good || !is_there) return;
    if (const auto pair = find(bundle); !pair) report.problems.push_back(pair.error().message);
  };
  check("asr", !asr_files(bundle.manifest).empty(), find_asr_pair);
  check("asr", !aligner_files(bundle.manifest).empty(), find_aligner_pair);
  check("voice", !bundle.manifest.files_of("voice").empty(), find_voice_pair);
}

void check_machine(BundleReport& report) {
  for (const auto& checked : {check_kernels(report.name, report.manifest),
                              check_memory(report.name, report.manifest, report.memory_bytes)}) {
    if (!checked) report.problems.push_back(checked.error().message);
  }
}

Result<BundleReport> look_at(const fs::path& given, bool checks_everything) {
  const fs::path place = bundle_with_manifest(given);
  PARLANCE_TRY(const ManifestOnDisk found, read_manifest(place.empty() ? given : place));
  BundleReport report;
  report.name = found.name;
  report.manifest = found.manifest;
  report.memory_bytes = machine_memory_bytes();
  const auto add_kernels = [&](const std::vector<std::string>& kernels, bool is_required) {
    for (const std::string& kernel : kernels) {
      report.kernels.push_back({kernel, is_required, is_offered(kernel)});
    }
  };
  add_kernels(found.manifest.required_kernels, true);
  add_kernels(found.manifest.optional_kernels, false);
  for (const FileGroup& group : found.manifest.files) {
    for (const ManifestFile& file : group.files) {
      FileReport& entry = report.files.emplace_back();
      entry.group = group.name;
      entry.said = file;
    }
  }
  if (checks_everything) check_files(found.folder, report);
  for (FileReport& file : report.files) look_into(found.folder, file);
  if (!checks_everything) return report;
  check_pairs(found, report);
  check_machine(report);
  look_at_vocabularies(report);
  look_for_strangers(found.folder, report);
  return report;
}

}  // namespace

bool BundleReport::has_passed() const {
  const auto is_good = [](const FileReport& file) { return file.problem.empty(); };
  return problems.empty() && std::ranges::all_of(files, is_good);
}

Result<BundleReport> describe_bundle(const fs::path& folder) {
  return look_at(folder, false);
}

Result<BundleReport> verify_bundle(const fs::path& folder) {
  return look_at(folder, true);
}

}  // namespace parlance
