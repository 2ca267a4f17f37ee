#include "bundle/manifest.h"

#include <algorithm>
#include <array>

namespace parlance {

namespace {

constexpr int64_t kLeastProductContext = 131072;
constexpr int64_t kMostPlainContext = 8192;  // beyond it, products need compressed caches to fit
constexpr std::string_view kDefaultPreset = "cache/voice-preset-default.bin";

// Groups whose models must say where they come from, and under which name they do.
struct Component {
  std::string_view group, lineage;
};
constexpr std::array<Component, 9> kComponents = {{{"text", "text"},
                                                   {"voice", "voice"},
                                                   {"asr", "asr"},
                                                   {"vision", "vision"},
                                                   {"embedding", "embedding"},
                                                   {"vad", "vad"},
                                                   {"wakeword", "wakeword"},
                                                   {"dflash", "drafter"},
                                                   {"mtp", "drafter"}}};

constexpr std::array<std::string_view, 4> kProductEvals = {"textEval", "voiceRtf", "e2eLoopOk",
                                                           "thirtyTurnOk"};

bool contains(const std::vector<std::string>& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

bool has_path(const std::vector<ManifestFile>& files, std::string_view path) {
  return std::ranges::find(files, path, &ManifestFile::path) != files.end();
}

// The rules about one manifest, a function for each part of it.
struct Rules {
  std::string_view name;
  const Manifest& manifest;
  bool is_product;  // not of the tier demo

  template <class... Args>
  tl::unexpected<Error> broken(std::string_view field, fmt::format_string<Args...> expected,
                               Args&&... args) const {
    return fail(ErrorCode::corrupt_file,
                "{}: {}: expected {}; correct it, or write the manifest anew with 'parlance bundle make'",
                name, field, fmt::format(expected, std::forward<Args>(args)...));
  }

  Result<void> identity() const {
    const std::string begin = "eliza-1-" + manifest.tier;
    if (manifest.id == begin || manifest.id.starts_with(begin + "-")) return {};
    return broken("id", "{}, as the tier says, or that with '-' and more behind it, found {}", begin,
                  manifest.id);
  }

  Result<void> groups() const {
    for (const FileGroup& group : manifest.files) {
      for (auto file = group.files.begin(); file != group.files.end(); ++file) {
        if (std::ranges::find(group.files.begin(), file, file->path, &ManifestFile::path) == file) continue;
        return broken("files." + group.name, "each path once, found {} twice", file->path);
      }
    }
    if (manifest.files_of("text").empty()) return broken("files.text", "at least one file, found none");
    if (!is_product) return {};
    if (manifest.files_of("voice").empty()) return broken("files.voice", "at least one file, found none");
    for (const std::string_view group : {"asr", "vision"}) {
      if (manifest.find_group(group)) continue;
      return broken(fmt::format("files.{}", group), "a list, even if it is empty, found nothing");
    }
    if (!manifest.find_group("dflash") && !manifest.find_group("mtp")) {
      return broken("files", "a list dflash or mtp, even if it is empty, found neither");
    }
    if (has_path(manifest.files_of("cache"), kDefaultPreset)) return {};
    return broken("files.cache", "{} among its files", kDefaultPreset);
  }

  Result<void> contexts() const {
    const int64_t least = is_product ? kLeastProductContext : 1;
    for (const ManifestFile& file : manifest.files_of("text")) {
      if (file.ctx < least) {
        return broken("files.text", "ctx of at least {} for {}, found {}{}", least, file.path, file.ctx,
                      is_product ? " (only bundles of the tier demo may have less)" : "");
      }
      if (file.ctx <= kMostPlainContext) continue;
      for (const std::string_view kernel : {"qjl", "polarquant"}) {
        if (contains(manifest.required_kernels, kernel)) continue;
        return broken("kernels.required", "{} for contexts of more than {} tokens", kernel,
                      kMostPlainContext);
      }
    }
    return {};
  }

  Result<void> origins() const {
    for (const Component& component : kComponents) {
      if (manifest.files_of(component.group).empty() || manifest.find_lineage(component.lineage)) continue;
      return broken(fmt::format("lineage.{}", component.lineage),
                    "base and license of the models in files.{}", component.group);
    }
    if (manifest.release_channel != "base-v1" || manifest.has_provenance) return {};
    return broken("provenance", "the sources of the models, since releaseChannel is base-v1, found nothing");
  }

  Result<void> voice_cache() const {
    for (const std::string& path : manifest.voice_cache) {
      if (has_path(manifest.files_of("cache"), path)) continue;
      return broken("voice.cache", "paths that are among files.cache, found {}",
                    is_path_inside(path) ? path : "another");
    }
    return {};
  }

  Result<void> needs() const {
    if (manifest.ram_recommended_mb < manifest.ram_min_mb) {
      return broken("ramBudgetMb.recommended", "no less than ramBudgetMb.min, {}, found {}",
                    manifest.ram_min_mb, manifest.ram_recommended_mb);
    }
    if (is_product && manifest.required_kernels.empty()) {
      return broken("kernels.required", "at least one kernel, found none");
    }
    for (const std::string_view eval : kProductEvals) {
      if (is_product && !manifest.find_eval(eval)) {
        return broken(fmt::format("evals.{}", eval), "a result, found nothing");
      }
    }
    return {};
  }

  // Who may be offered to everybody.
  Result<void> eligibility() const {
    if (!manifest.is_default_eligible) return {};
    const auto no = [&](const std::string& why) { return broken("defaultEligible", "false, since {}", why); };
    if (!is_product) return no("the tier is demo");
    if (manifest.release_channel == "base-v1") return no("releaseChannel is base-v1");
    for (const Eval& eval : manifest.evals) {
      if (!eval.has_passed.value_or(false)) return no(fmt::format("evals.{} has not passed", eval.name));
    }
    bool has_pass = false;
    for (const VerifiedBackend& backend : manifest.backends) {
      if (backend.status == "fail") {
        return no(fmt::format("kernels.verifiedBackends.{} failed", backend.backend));
      }
      has_pass |= backend.status == "pass";
    }
    if (!has_pass) return no("no backend in kernels.verifiedBackends has passed");
    return {};
  }
};

}  // namespace

const FileGroup* Manifest::find_group(std::string_view name) const {
  const auto found = std::ranges::find(files, name, &FileGroup::name);
  return found == files.end() ? nullptr : &*found;
}

const std::vector<ManifestFile>& Manifest::files_of(std::string_view name) const {
  static const std::vector<ManifestFile> none;
  const FileGroup* group = find_group(name);
  return group ? group->files : none;
}

const Lineage* Manifest::find_lineage(std::string_view component) const {
  const auto found = std::ranges::find(lineage, component, &Lineage::component);
  return found == lineage.end() ? nullptr : &*found;
}

const Eval* Manifest::find_eval(std::string_view name) const {
  const auto found = std::ranges::find(evals, name, &Eval::name);
  return found == evals.end() ? nullptr : &*found;
}

const std::vector<ManifestFile>& Manifest::drafter_files() const {
  const std::vector<ManifestFile>& files = files_of("dflash");
  return files.empty() ? files_of("mtp") : files;
}

Result<void> check_rules(std::string_view name, const Manifest& manifest) {
  const Rules rules{name, manifest, manifest.tier != kDemoTier};
  PARLANCE_CHECK(rules.identity());
  PARLANCE_CHECK(rules.groups());
  PARLANCE_CHECK(rules.contexts());
  PARLANCE_CHECK(rules.origins());
  PARLANCE_CHECK(rules.voice_cache());
  PARLANCE_CHECK(rules.needs());
  return rules.eligibility();
}

bool is_path_inside(std::string_view path) {
  constexpr size_t kMostBytes = 512;
  const auto is_plain = [](char c) { return c >= ' ' && c <= '~' && c != '\\' && c != ':'; };
  if (path.empty() || path.size() > kMostBytes || !std::ranges::all_of(path, is_plain)) return false;
  for (;;) {
    const size_t end = path.find('/');
    const std::string_view part = path.substr(0, end);
    if (part.empty() || part == "." || part == "..") return false;
    if (end == std::string_view::npos) return true;
    path.remove_prefix(end + 1);
  }
}

}  // namespace parlance
