#include "hub/choose.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <optional>

#include "base/ascii.h"
#include "base/parse_number.h"
#include "bundle/manifest.h"
#include "text/nearest.h"

namespace parlance {

namespace {

using Paths = std::vector<std::string>;

constexpr std::array<std::string_view, 2> kUsualTags = {"Q4_K_M", "Q8_0"};
// In names of files that are no language model, or not one to talk with.
constexpr std::array<std::string_view, 6> kBeside = {"mmproj",  "imatrix", "mtp-",
                                                     "eagle3-", "dflash-", "dspark-"};
constexpr size_t kMostNamed = 12;  // in messages

bool is_gguf(std::string_view path) {
  return ascii::lower(path).ends_with(".gguf");
}

std::string_view name_in(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == path.npos ? path : path.substr(slash + 1);
}

std::string_view folder_in(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == path.npos ? std::string_view() : path.substr(0, slash);
}

bool is_codec(std::string_view path) {
  return is_gguf(path) && ascii::lower(name_in(path)).find("tokenizer") != std::string::npos;
}

bool is_encoder(std::string_view path) {
  return is_gguf(path) && ascii::lower(name_in(path)).find("mmproj") != std::string::npos;
}

bool is_language_model(std::string_view path) {
  const std::string name = ascii::lower(name_in(path));
  return is_gguf(path) && !is_codec(path) && std::ranges::none_of(kBeside, [&](std::string_view word) {
           return name.find(word) != std::string::npos;
         });
}

// "model-00001-of-00003.gguf": the name without what says which part it is.
struct Part {
  std::string_view stem;
  int number = 1, count = 1;
};

Part part_of(std::string_view path) {
  constexpr size_t kDigits = 5;
  constexpr std::string_view kOf = "-of-";
  const std::string_view stem = path.substr(0, path.size() - std::string_view(".gguf").size());
  const size_t tail = 1 + kDigits + kOf.size() + kDigits;
  if (stem.size() <= tail || stem[stem.size() - tail] != '-') return {stem};
  const std::string_view numbers = stem.substr(stem.size() - tail + 1);
  const auto number = parse_number<int>(numbers.substr(0, kDigits));
  const auto count = parse_number<int>(numbers.substr(kDigits + kOf.size()));
  if (!number || !count || numbers.substr(kDigits, kOf.size()) != kOf || *number < 1 || *number > *count) {
    return {stem};
  }
  return {stem.substr(0, stem.size() - tail), *number, *count};
}

bool is_first_part(std::string_view path) {
  return part_of(path).number == 1;
}

// Whether a path says that its file is of a quantisation: the word ends there, and best it begins there too
// (Q4_K_M is not what is meant by K_M, though people say it; IQ4_XS never by Q4_XS where there is a Q4_XS).
enum class Match : uint8_t { none, end, whole };

Match match_of(std::string_view path, std::string_view tag) {
  const std::string text = ascii::lower(path), word = ascii::lower(tag);
  Match best = Match::none;
  for (size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
    const size_t end = at + word.size();
    if (end >= text.size() || (text[end] != '.' && text[end] != '-' && text[end] != '/')) continue;
    const bool begins =
        at == 0 || text[at - 1] == '-' || text[at - 1] == '.' || text[at - 1] == '/' || text[at - 1] == '_';
    best = std::max(best, begins ? Match::whole : Match::end);
  }
  return best;
}

std::string find_model_file(const Paths& models, std::string_view tag) {
  for (const Match wanted : {Match::whole, Match::end}) {
    for (const std::string& path : models) {
      if (match_of(path, tag) == wanted) return path;
    }
  }
  return {};
}

int bits_of(std::string_view path) {
  const std::string tag = quantisation_of(path);
  const size_t digit = tag.find_first_of("0123456789");
  return digit == tag.npos ? 0 : std::atoi(tag.c_str() + digit);
}

// Of files that might belong to a model, the one in the nearest folder, and of these the one whose
// quantisation is nearest to the model's.
std::string nearest_sibling(const Paths& candidates, std::string_view model) {
  std::string best;
  size_t best_depth = 0;
  int best_distance = std::numeric_limits<int>::max();
  for (const std::string& path : candidates) {
    const std::string_view folder = folder_in(path);
    const bool is_above = folder.empty() || folder == folder_in(model) ||
                          folder_in(model).starts_with(std::string(folder) + "/");
    if (!is_above) continue;
    const int distance = std::abs(bits_of(path) - bits_of(model));
    if (!best.empty() &&
        (folder.size() < best_depth || (folder.size() == best_depth && distance >= best_distance))) {
      continue;
    }
    best = path;
    best_depth = folder.size();
    best_distance = distance;
  }
  return best;
}

template <class Is>
Paths filtered(const Paths& paths, const Is& is) {
  Paths found;
  std::ranges::copy_if(paths, std::back_inserter(found), is);
  return found;
}

std::string listed(Paths words) {
  const bool is_cut = words.size() > kMostNamed;
  if (is_cut) words.resize(kMostNamed);
  return fmt::format("{}{}", fmt::join(words, ", "), is_cut ? ", …" : "");
}

tl::unexpected<Error> no_tag(const ModelName& name, const Paths& models) {
  Paths tags;
  for (const std::string& path : models) {
    const std::string tag = quantisation_of(path);
    if (!tag.empty() && std::ranges::find(tags, tag) == tags.end()) tags.push_back(tag);
  }
  const std::string guess = nearest(ascii::upper(name.tag), tags);
  return fail(ErrorCode::not_found, "{} has no file of {}{}; it has {}", name.repo, name.tag,
              guess.empty() ? "" : ", did you mean " + guess + "?",
              tags.empty() ? listed(models) : listed(tags));
}

tl::unexpected<Error> no_file(const ModelName& name, const Paths& paths) {
  const std::string guess = nearest(name.file, paths);
  Paths alike;
  const size_t dot = name.file.rfind('.');
  for (const std::string& path : paths) {
    if (dot != std::string::npos && path.ends_with(name.file.substr(dot))) alike.push_back(path);
  }
  return fail(ErrorCode::not_found, "{} has no file {}{}; it has {}", name.repo, name.file,
              guess.empty() ? "" : ", did you mean " + guess + "?", listed(alike.empty() ? paths : alike));
}

// All parts of a file, or an error that says which is missing.
Result<Paths> parts_of(const ModelName& name, const Paths& paths, const std::string& file) {
  const Part first = part_of(file);
  Paths parts;
  for (int number = 1; number <= first.count; ++number) {
    const std::string part =
        first.count == 1 ? file : fmt::format("{}-{:05}-of-{:05}.gguf", first.stem, number, first.count);
    if (std::ranges::find(paths, part) == paths.end()) {
      return fail(ErrorCode::not_found, "{} lacks {}, part {} of {}; choose another file of it", name.repo,
                  part, number, first.count);
    }
    parts.push_back(part);
    if (parts.size() > paths.size()) break;
  }
  return parts;
}

bool is_source(std::string_view path) {
  if (path.starts_with("original/") || path.starts_with("onnx/") || path.starts_with(".")) return false;
  const std::string_view name = name_in(path);
  return (name.ends_with(".safetensors") && !name.starts_with("consolidated")) || name.ends_with(".json") ||
         name.ends_with(".jinja") || name == "merges.txt" || name == "tokenizer.model";
}

Result<ChosenFiles> choose_model(const ModelName& name, const Paths& paths, const std::string& file) {
  ChosenFiles chosen;
  PARLANCE_TRY(chosen.paths, parts_of(name, paths, file));
  chosen.model = chosen.paths.front();
  if (!is_language_model(file)) return chosen;
  chosen.mmproj = nearest_sibling(filtered(paths, is_encoder), file);
  chosen.codec = nearest_sibling(filtered(paths, is_codec), file);
  for (const std::string& other : {chosen.mmproj, chosen.codec}) {
    if (!other.empty()) chosen.paths.push_back(other);
  }
  return chosen;
}

}  // namespace

std::string quantisation_of(std::string_view path) {
  if (!is_gguf(path)) return {};
  std::string stem = ascii::upper(name_in(part_of(path).stem));
  const size_t begin = stem.find_last_of("-.");
  if (begin == stem.npos) return {};
  const std::string word = stem.substr(begin + 1);
  const bool is_kind = word.starts_with("Q") || word.starts_with("IQ") || word.starts_with("TQ") ||
                       word.starts_with("BF") || word.starts_with("F") || word.starts_with("MX") ||
                       word.starts_with("NV");
  if (!is_kind || word.find_first_of("0123456789") == word.npos) return {};
  constexpr std::string_view kDynamic = "UD-";
  return stem.substr(0, begin).ends_with("-UD") ? std::string(kDynamic) + word : word;
}

Result<ChosenFiles> choose_files(const ModelName& name, const std::vector<std::string>& given) {
  Paths paths = given;
  std::ranges::sort(paths);
  if (!name.file.empty()) {
    if (std::ranges::find(paths, name.file) == paths.end()) return no_file(name, paths);
    if (is_gguf(name.file)) return choose_model(name, paths, name.file);
    return ChosenFiles{.paths = {name.file}, .model = name.file};
  }
  if (name.tag.empty() && std::ranges::find(paths, kManifestName) != paths.end()) {
    return ChosenFiles{.kind = RepoKind::bundle, .paths = filtered(paths, [](std::string_view path) {
                                                   return !path.starts_with('.');
                                                 })};
  }
  const Paths models =
      filtered(filtered(paths, is_language_model), [](std::string_view path) { return is_first_part(path); });
  if (!models.empty()) {
    std::string file;
    if (!name.tag.empty()) {
      file = find_model_file(models, name.tag);
      if (file.empty()) return no_tag(name, models);
    }
    for (const std::string_view tag : kUsualTags) {
      if (file.empty()) file = find_model_file(models, tag);
    }
    return choose_model(name, paths, file.empty() ? models.front() : file);
  }
  const auto is_weights = [](std::string_view path) { return path.ends_with(".safetensors"); };
  if (name.tag.empty() && std::ranges::any_of(paths, is_weights)) {
    return ChosenFiles{.kind = RepoKind::sources, .paths = filtered(paths, is_source)};
  }
  return fail(ErrorCode::not_found,
              "{} has no GGUF file{}; it has {}; look for a repository whose name ends in GGUF", name.repo,
              name.tag.empty() ? " and no safetensors" : "", paths.empty() ? "nothing" : listed(paths));
}

}  // namespace parlance
