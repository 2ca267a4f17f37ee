// Manifests as text: the only source of this folder that knows the library of JSON.
#include <fmt/ranges.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/ascii.h"
#include "bundle/manifest.h"

namespace parlance {

namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr size_t kMostDepth = 32;    // of values in each other
constexpr size_t kMostText = 1000;   // bytes of one text
constexpr size_t kMostListed = 256;  // elements of a list that is not one of files
constexpr int64_t kMostContext = int64_t{1} << 40;
constexpr int64_t kMostMegabytes = int64_t{1} << 30;

// One line of plain characters, whatever was in the text.
std::string shown(std::string_view text) {
  constexpr size_t kMostShown = 60;
  std::string line(text.substr(0, kMostShown));
  std::ranges::replace_if(
      line, [](char c) { return c < ' ' || c > '~'; }, '?');
  return text.size() > kMostShown ? line + "..." : line;
}

std::string shown(const json& value) {
  if (value.is_null()) return "nothing";
  if (value.is_object()) return "an object";
  if (value.is_array()) return fmt::format("a list of {}", value.size());
  return shown(std::string_view(value.dump(-1, ' ', true, json::error_handler_t::replace)));
}

// The first thing that is wrong, which stands for all that follow.
class Problem {
 public:
  explicit Problem(std::string_view file) : file_(file) {}

  bool found() const { return !message_.empty(); }
  void note(const std::string& field, const std::string& expected, const std::string& found) {
    if (!message_.empty()) return;
    message_ = fmt::format(
        "{}: {}: expected {}, found {}; correct it, or write the manifest anew with 'parlance bundle make'",
        file_, field, expected, found);
  }
  tl::unexpected<Error> error() const { return tl::unexpected<Error>({ErrorCode::corrupt_file, message_}); }

 private:
  std::string_view file_;
  std::string message_;
};

// Values that must be texts, numbers, … of their range. Of one that is not, nothing or the least is yielded.
class Reader {
 public:
  Reader(const json& object, std::string path, Problem& problem)
      : object_(&object), path_(std::move(path)), problem_(&problem) {
    if (object.is_object()) return;
    problem.note(path_.empty() ? "the text" : path_, "an object", shown(object));
    static const json empty = json::object();
    object_ = &empty;
  }

  bool has(const char* key) const { return object_->contains(key); }
  const json& value(const char* key) const {
    static const json null;
    const auto found = object_->find(key);
    return found == object_->end() ? null : *found;
  }
  const json& members() const { return *object_; }
  std::string name_of(std::string_view key) const {
    return path_.empty() ? shown(key) : fmt::format("{}.{}", path_, shown(key));
  }
  // Whether there are no more members than anybody has a use for.
  bool is_small() const {
    if (object_->size() > kMostListed) {
      problem_->note(path_, fmt::format("at most {} members", kMostListed), std::to_string(object_->size()));
    }
    return object_->size() <= kMostListed;
  }
  void note(std::string_view key, const std::string& expected) const {
    const auto found = object_->find(std::string(key));
    problem_->note(name_of(key), expected, found == object_->end() ? "nothing" : shown(*found));
  }
  Reader object(const char* key) const { return Reader(value(key), name_of(key), *problem_); }
  Problem& problem() const { return *problem_; }

  std::string text(const char* key) const {
    const json& item = value(key);
    if (item.is_string()) {
      const auto& text = item.get_ref<const std::string&>();
      if (!text.empty() && text.size() <= kMostText) return text;
    }
    note(key, fmt::format("a text of 1 to {} bytes", kMostText));
    return {};
  }
  template <size_t n>
  std::string word(const char* key, const std::array<std::string_view, n>& words) const {
    const json& item = value(key);
    if (item.is_string() && std::ranges::find(words, item.get_ref<const std::string&>()) != words.end())
      return item;
    note(key, fmt::format("one of {}", fmt::join(words, ", ")));
    return {};
  }
  bool flag(const char* key) const {
    const json& item = value(key);
    if (item.is_boolean()) return item.get<bool>();
    note(key, "true or false");
    return false;
  }
  int64_t integer(const char* key, int64_t most) const {
    const json& item = value(key);
    if (item.is_number_integer() && item > 0 && item <= most) return item.get<int64_t>();
    note(key, fmt::format("a whole number from 1 to {}", most));
    return 1;
  }

 private:
  const json* object_;
  std::string path_;
  Problem* problem_;
};

bool is_name_character(char c) {
  return ascii::is_digit(c) || ascii::is_letter(c) || c == '.' || c == '_' || c == '-';
}

// "1.0.0", "1.0.0-weights-staged.2", "1.0.0+build.5".
bool is_version(std::string_view text) {
  for (int part = 0; part < 3; ++part) {
    const size_t n = std::ranges::find_if_not(text, ascii::is_digit) - text.begin();
    if (n == 0 || n > 9) return false;
    text.remove_prefix(n);
    if (part == 2) break;
    if (!text.starts_with('.')) return false;
    text.remove_prefix(1);
  }
  if (text.empty()) return true;
  return text.size() > 1 && (text[0] == '-' || text[0] == '+') &&
         std::ranges::all_of(text.substr(1), [](char c) { return is_name_character(c) || c == '+'; });
}

// "2026-11-22T08:00:00Z", with or without a fraction of the second.
bool is_moment(std::string_view text) {
  constexpr std::string_view kForm = "0000-00-00T00:00:00";
  if (text.size() <= kForm.size() || text.back() != 'Z') return false;
  for (size_t i = 0; i < kForm.size(); ++i) {
    if (kForm[i] == '0' ? !ascii::is_digit(text[i]) : text[i] != kForm[i]) return false;
  }
  const auto two = [&](size_t at) { return (text[at] - '0') * 10 + text[at + 1] - '0'; };
  if (two(5) < 1 || two(5) > 12 || two(8) < 1 || two(8) > 31) return false;
  if (two(11) > 23 || two(14) > 59 || two(17) > 59) return false;
  const std::string_view fraction = text.substr(kForm.size(), text.size() - kForm.size() - 1);
  if (fraction.empty()) return true;
  return fraction.size() > 1 && fraction[0] == '.' &&
         std::ranges::all_of(fraction.substr(1), ascii::is_digit);
}

bool is_sha256(std::string_view text) {
  return text.size() == 64 &&
         std::ranges::all_of(text, [](char c) { return ascii::is_digit(c) || (c >= 'a' && c <= 'f'); });
}

// ---- The parts, in the order of the file ----

void read_head(const Reader& root, Manifest& manifest) {
  if (root.has("$schema")) root.text("$schema");
  manifest.id = root.text("id");
  manifest.tier = root.text("tier");
  manifest.version = root.text("version");
  manifest.published_at = root.text("publishedAt");
  if (!std::ranges::all_of(manifest.id, is_name_character)) {
    root.note("id", "letters, digits, '.', '_' and '-'");
  }
  if (!std::ranges::all_of(manifest.tier, is_name_character)) {
    root.note("tier", "letters, digits, '.', '_' and '-'");
  }
  if (!is_version(manifest.version)) root.note("version", "a version such as 1.0.0");
  if (!is_moment(manifest.published_at)) {
    root.note("publishedAt", "a moment in UTC such as 2026-11-22T08:00:00Z");
  }
}

void read_lineage(const Reader& lineage, Manifest& manifest) {
  if (!lineage.is_small()) return;
  for (const auto& [component, value] : lineage.members().items()) {
    const Reader entry(value, lineage.name_of(component), lineage.problem());
    manifest.lineage.push_back({component, entry.text("base"), entry.text("license")});
  }
}

ManifestFile read_file(const Reader& entry) {
  ManifestFile file{.path = entry.text("path"), .sha256 = entry.text("sha256")};
  if (!is_path_inside(file.path)) {
    entry.note("path", "a path below the bundle's folder in ASCII, with '/' between names");
  }
  if (!is_sha256(file.sha256)) entry.note("sha256", "64 hexadecimal digits in lower case");
  if (entry.has("ctx")) file.ctx = entry.integer("ctx", kMostContext);
  return file;
}

void read_files(const Reader& files, Manifest& manifest) {
  if (!files.is_small()) return;
  size_t n_files = 0;
  for (const auto& [name, list] : files.members().items()) {
    const auto bad = [&](const std::string& expected) { files.note(name, expected); };
    if (!list.is_array()) return bad("a list of files");
    n_files += list.size();
    if (n_files > kMostManifestFiles) {
      return bad(fmt::format("at most {} files in all groups", kMostManifestFiles));
    }
    FileGroup group{.name = name, .files = {}};
    for (size_t i = 0; i < list.size() && !files.problem().found(); ++i) {
      group.files.push_back(
          read_file(Reader(list[i], fmt::format("{}[{}]", files.name_of(name), i), files.problem())));
    }
    manifest.files.push_back(std::move(group));
  }
}

std::vector<std::string> read_words(const Reader& object, const char* key) {
  const json& list = object.value(key);
  if (!list.is_array() || list.size() > kMostListed) {
    object.note(key, "a list of names");
    return {};
  }
  std::vector<std::string> words;
  for (size_t i = 0; i < list.size(); ++i) {
    const bool is_name = list[i].is_string() && !list[i].get_ref<const std::string&>().empty() &&
                         list[i].get_ref<const std::string&>().size() <= kMostText;
    if (is_name) {
      words.push_back(list[i]);
    } else {
      object.problem().note(fmt::format("{}[{}]", object.name_of(key), i), "a name", shown(list[i]));
    }
  }
  return words;
}

void read_kernels(const Reader& kernels, Manifest& manifest) {
  constexpr std::array<std::string_view, 3> kStatus = {"pass", "fail", "skipped"};
  manifest.required_kernels = read_words(kernels, "required");
  manifest.optional_kernels = read_words(kernels, "optional");
  const Reader backends = kernels.object("verifiedBackends");
  for (const char* name : {"metal", "vulkan", "cuda", "rocm", "cpu"}) {
    if (!backends.has(name)) continue;
    const Reader entry = backends.object(name);
    manifest.backends.push_back(
        {name, entry.word("status", kStatus), entry.text("atCommit"), entry.text("report")});
  }
}

// A figure's range. What of an eval is in no table has no range.
struct Range {
  std::string_view eval, figure;
  double most;
  bool is_required;
};
constexpr double kAny = 1e300;
constexpr std::array<Range, 12> kRanges = {{{"textEval", "score", 1, true},
                                            {"voiceRtf", "rtf", kAny, true},
                                            {"asrWer", "wer", kAny, true},
                                            {"embedMteb", "score", 1, true},
                                            {"vadLatencyMs", "median", kAny, true},
                                            {"vadLatencyMs", "boundaryMs", kAny, false},
                                            {"vadLatencyMs", "endpointMs", kAny, false},
                                            {"vadLatencyMs", "falseBargeInRate", 1, false},
                                            {"dflash", "acceptanceRate", 1, false},
                                            {"dflash", "speedup", kAny, false},
                                            {"mtp", "acceptanceRate", 1, false},
                                            {"mtp", "speedup", kAny, false}}};

void check_ranges(const Reader& entry, const std::string& name) {
  for (const Range& range : kRanges) {
    if (range.eval != name) continue;
    const json& item = entry.value(std::string(range.figure).c_str());
    if (item.is_null() && !range.is_required) continue;  // not measured
    if (!item.is_number() || !(item.get<double>() >= 0 && item.get<double>() <= range.most)) {
      entry.note(range.figure, range.most == kAny ? "a number that is not negative" : "a number from 0 to 1");
    }
  }
}

// Two are true or false; the others are objects of figures and `passed`.
void read_evals(const Reader& evals, Manifest& manifest) {
  if (!evals.is_small()) return;
  for (const auto& [name, value] : evals.members().items()) {
    Eval eval{.name = name, .figures = {}, .has_passed = {}};
    if (name == "e2eLoopOk" || name == "thirtyTurnOk") {
      eval.has_passed = evals.flag(name.c_str());
    } else {
      const Reader entry(value, evals.name_of(name), evals.problem());
      check_ranges(entry, name);
      eval.has_passed = entry.flag("passed");
      for (const auto& [figure, item] : entry.members().items()) {
        if (!item.is_number() || eval.figures.size() >= kMostListed) continue;
        if (std::isfinite(item.get<double>())) eval.figures.emplace_back(figure, item.get<double>());
      }
    }
    manifest.evals.push_back(std::move(eval));
  }
}

void read_voice(const Reader& voice, Manifest& manifest) {
  voice.text("version");
  if (voice.value("frozen") != true) voice.note("frozen", "true");
  const Reader cache = voice.object("cache");
  manifest.voice_cache = {cache.text("speakerPreset"), cache.text("phraseCacheSeed")};
  if (voice.has("capabilities")) read_words(voice, "capabilities");
}

void read_provenance(const Reader& provenance, Manifest& manifest) {
  manifest.has_provenance = true;
  provenance.text("releaseState");
  provenance.flag("finetuned");
  const Reader sources = provenance.object("sourceModels");
  if (!sources.is_small()) return;
  for (const auto& [slot, value] : sources.members().items()) {
    Reader(value, sources.name_of(slot), sources.problem()).text("repo");
  }
}

void read_all(const Reader& root, Manifest& manifest) {
  constexpr std::array<std::string_view, 2> kChannels = {"recommended", "base-v1"};
  read_head(root, manifest);
  read_lineage(root.object("lineage"), manifest);
  read_files(root.object("files"), manifest);
  read_kernels(root.object("kernels"), manifest);
  read_evals(root.object("evals"), manifest);
  const Reader ram = root.object("ramBudgetMb");
  manifest.ram_min_mb = ram.integer("min", kMostMegabytes);
  manifest.ram_recommended_mb = ram.integer("recommended", kMostMegabytes);
  if (root.has("voice")) read_voice(root.object("voice"), manifest);
  if (root.has("provenance")) read_provenance(root.object("provenance"), manifest);
  if (root.has("releaseChannel")) manifest.release_channel = root.word("releaseChannel", kChannels);
  manifest.is_default_eligible = root.flag("defaultEligible");
}

// The value of a text; nothing when it is no JSON, or when values lie in each other too deeply for those who
// walk through them call by call.
template <class Value>
std::optional<Value> parse_json(std::string_view text) {
  bool is_too_deep = false;
  const auto look = [&](int depth, auto, auto&) {
    is_too_deep |= depth > static_cast<int>(kMostDepth);
    return !is_too_deep;
  };
  Value value = Value::parse(text, look, /*allow_exceptions=*/false);
  if (value.is_discarded() || is_too_deep) return std::nullopt;
  return value;
}

}  // namespace

Result<Manifest> parse_manifest(std::string_view name, std::string_view text) {
  Problem problem(name);
  if (text.size() > kMostManifestBytes) {
    problem.note("the text", fmt::format("at most {} bytes", kMostManifestBytes),
                 fmt::format("{}", text.size()));
    return problem.error();
  }
  const std::optional<json> root = parse_json<json>(text);
  if (!root) {
    problem.note("the text", fmt::format("JSON of at most {} levels", kMostDepth), "something else");
    return problem.error();
  }
  Manifest manifest;
  read_all(Reader(*root, "", problem), manifest);
  if (problem.found()) return problem.error();
  PARLANCE_CHECK(check_rules(name, manifest));
  return manifest;
}

Result<std::string> make_manifest_text(std::string_view name, const ManifestHead& head,
                                       std::string_view description_name, std::string_view description) {
  const std::optional<ordered_json> given =
      description.size() <= kMostManifestBytes ? parse_json<ordered_json>(description) : std::nullopt;
  if (!given || !given->is_object()) {
    return fail(ErrorCode::corrupt_file,
                "{}: expected a JSON object with lineage, kernels, evals, ramBudgetMb, …; correct it",
                description_name);
  }
  constexpr std::string_view kIdBegin = "eliza-1-";
  ordered_json manifest;
  const auto put = [&](const char* key, const std::string& value) {
    if (!value.empty()) {
      manifest[key] = value;
    } else if (given->contains(key)) {
      manifest[key] = (*given)[key];
    }
  };
  put("$schema", "");
  put("id", head.id);
  put("tier", head.tier);
  if (!manifest.contains("tier") && head.id.starts_with(kIdBegin)) {
    manifest["tier"] = head.id.substr(kIdBegin.size());
  }
  put("version", head.version);
  put("publishedAt", head.published_at);
  put("lineage", "");
  ordered_json& files = manifest["files"] = ordered_json::object();
  for (const FileGroup& group : head.files) {
    ordered_json& list = files[group.name] = ordered_json::array();
    for (const ManifestFile& file : group.files) {
      ordered_json entry = {{"path", file.path}, {"sha256", file.sha256}};
      if (file.ctx > 0) entry["ctx"] = file.ctx;
      list.push_back(std::move(entry));
    }
  }
  for (const auto& [key, value] : given->items()) {
    if (!manifest.contains(key)) manifest[key] = value;
  }
  std::string text = manifest.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
  PARLANCE_CHECK(parse_manifest(name, text));
  return text;
}

}  // namespace parlance
