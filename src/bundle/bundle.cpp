#include "bundle/bundle.h"

#include <algorithm>
#include <tuple>

#include "asr/aligner.h"
#include "asr/asr_model.h"
#include "base/os/folder.h"
#include "bundle/bundle_files.h"
#include "bundle/requirements.h"
#include "tts/files/voice_preset.h"
#include "tts/tts_model.h"
#include "vad/silero_weights.h"

namespace parlance {

namespace fs = std::filesystem;

namespace {

// A model that the bundle does not have.
Result<void> check_present(const std::string& name, Need need, bool is_present, const char* what,
                           const char* group) {
  if (need != Need::must || is_present) return {};
  return fail(ErrorCode::not_found, "{}: the bundle has no {} in files.{}; use one that has", name, what,
              group);
}

Result<Bundle> open_with_manifest(const fs::path& folder, const BundleNeeds& needs) {
  PARLANCE_TRY(const ManifestOnDisk found, read_manifest(folder));
  const Manifest& manifest = found.manifest;
  PARLANCE_CHECK(check_requirements(found.name, manifest));

  const bool has_asr = needs.asr != Need::no && !asr_files(manifest).empty();
  const bool has_aligner = needs.aligner != Need::no && !aligner_files(manifest).empty();
  const bool has_tts = needs.tts != Need::no && !manifest.files_of("voice").empty();
  std::vector<ManifestFile> wanted;
  const auto want = [&](const std::vector<ManifestFile>& files) {
    wanted.insert(wanted.end(), files.begin(), files.end());
  };
  // Of several models for the same thing, the first counts.
  const auto first_of = [&](Need need, const std::vector<ManifestFile>& files) {
    if (need == Need::no || files.empty()) return fs::path();
    wanted.push_back(files.front());
    return folder / files.front().path;
  };
  Bundle bundle;
  bundle.folder = folder;
  bundle.id = manifest.id;
  bundle.text = first_of(needs.text, manifest.files_of("text"));
  bundle.vad = first_of(needs.vad, manifest.files_of("vad"));
  bundle.drafter = first_of(needs.drafter, manifest.drafter_files());
  PARLANCE_CHECK(check_present(found.name, needs.asr, has_asr, "model for speech recognition", "asr"));
  PARLANCE_CHECK(check_present(found.name, needs.aligner, has_aligner, "aligner", "asr"));
  PARLANCE_CHECK(check_present(found.name, needs.tts, has_tts, "speech model", "voice"));
  PARLANCE_CHECK(check_present(found.name, needs.vad, !bundle.vad.empty(), "voice detector", "vad"));
  PARLANCE_CHECK(check_present(found.name, needs.drafter, !bundle.drafter.empty(), "drafter", "dflash"));
  if (has_asr) want(asr_files(manifest));
  if (has_aligner) want(aligner_files(manifest));
  if (has_tts) {
    want(manifest.files_of("voice"));
    for (const ManifestFile& file : manifest.files_of("cache")) {
      if (!is_voice_preset(file.path)) continue;
      wanted.push_back(file);
      bundle.voices.push_back(folder / file.path);
    }
    std::ranges::sort(bundle.voices);
  }
  PARLANCE_CHECK(check_checksums(folder, wanted));

  if (has_asr) {
    PARLANCE_TRY(const FilePair pair, find_asr_pair(found));
    std::tie(bundle.asr_text, bundle.asr_encoder) = std::tie(pair.model, pair.second);
  }
  if (has_aligner) {
    PARLANCE_TRY(const FilePair pair, find_aligner_pair(found));
    std::tie(bundle.aligner_text, bundle.aligner_encoder) = std::tie(pair.model, pair.second);
  }
  if (has_tts) {
    PARLANCE_TRY(const FilePair pair, find_voice_pair(found));
    std::tie(bundle.tts_base, bundle.tts_codec) = std::tie(pair.model, pair.second);
  }
  return bundle;
}

Result<Bundle> find_by_places(const fs::path& folder, const BundleNeeds& needs) {
  Bundle bundle;
  bundle.folder = folder;
  if (needs.text != Need::no) {
    bundle.text = first_model_in(folder / "text");
    if (bundle.text.empty() && needs.text == Need::must) {
      return fail(ErrorCode::not_found, "{}: a folder without a language model (text/*.gguf); name a file",
                  folder.string());
    }
  }
  if (needs.asr != Need::no) {
    const auto files = find_asr(folder);
    if (!files && needs.asr == Need::must) return tl::unexpected(files.error());
    if (files) {
      bundle.asr_text = files->text;
      bundle.asr_encoder = files->encoder;
    }
  }
  if (needs.aligner != Need::no) {
    PARLANCE_TRY(const auto files, find_aligner(folder));
    if (files) {
      bundle.aligner_text = files->text;
      bundle.aligner_encoder = files->encoder;
    }
    PARLANCE_CHECK(check_present(folder.string(), needs.aligner, files.has_value(), "aligner", "asr"));
  }
  if (needs.tts != Need::no) {
    const auto files = find_tts(folder);
    if (!files && needs.tts == Need::must) return tl::unexpected(files.error());
    if (files) {
      bundle.tts_base = files->base;
      bundle.tts_codec = files->codec;
    }
    for (const std::string& id : list_voice_presets(folder)) {
      bundle.voices.push_back(folder / "cache" / fmt::format("voice-preset-{}.bin", id));
    }
  }
  if (needs.vad != Need::no) {
    const auto file = find_vad(folder);
    if (!file && needs.vad == Need::must) return tl::unexpected(file.error());
    if (file) bundle.vad = *file;
  }
  if (needs.drafter != Need::no) {
    for (const char* name : {"dflash", "mtp"}) {
      if (bundle.drafter.empty()) bundle.drafter = first_model_in(folder / name);
    }
    if (bundle.drafter.empty() && needs.drafter == Need::must) {
      return fail(ErrorCode::not_found,
                  "{}: there is no drafter (*.gguf in dflash/); use a bundle that has one", folder.string());
    }
  }
  return bundle;
}

}  // namespace

fs::path first_model_in(const fs::path& folder) {
  for (const fs::path& path : files_in(folder).value_or(std::vector<fs::path>())) {
    if (path.extension() == ".gguf") return path;
  }
  return {};
}

fs::path bundle_with_manifest(const fs::path& folder) {
  std::error_code ec;
  if (folder.empty()) return {};
  if (fs::is_regular_file(folder / kManifestName, ec)) return folder;
  fs::path place = fs::absolute(folder, ec).lexically_normal();
  if (ec || !fs::is_directory(place, ec)) return {};
  if (!place.has_filename()) place = place.parent_path();  // it ended in a slash
  place = place.parent_path();
  return fs::is_regular_file(place / kManifestName, ec) ? place : fs::path();
}

Result<Bundle> open_bundle(const fs::path& folder, const BundleNeeds& needs) {
  const fs::path with_manifest = bundle_with_manifest(folder);
  if (!with_manifest.empty()) return open_with_manifest(with_manifest, needs);
  return find_by_places(folder, needs);
}

}  // namespace parlance
