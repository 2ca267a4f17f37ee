#include <algorithm>
#include <array>

#include "convert/vocabulary_source.h"

namespace parlance {

namespace {

// What published tokenizer.json files have where a reader of GGUF files has a name for it.
struct KnownPattern {
  std::string_view regex;
  std::string_view name;
};
constexpr std::array kKnownPatterns = {
    KnownPattern{
        R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
        "qwen2"},
    KnownPattern{
        R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
        "llama-bpe"},
    KnownPattern{
        R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
        "qwen35"},
};
constexpr int kMostNested = 8;

struct Found {
  std::vector<std::string> regexes;
  bool has_byte_level_regex = false;
  bool has_other = false;  // a step that is neither
};

void collect(const Json& step, int depth, Found& found) {
  const JsonFields fields{step, "pre_tokenizer"};
  const std::string type = fields.text_or("type", "");
  if (type == "Sequence" && depth < kMostNested) {
    const auto steps = fields.find("pretokenizers");
    for (const Json& inner : (steps ? steps->elements() : std::nullopt).value_or(std::vector<Json>())) {
      collect(inner, depth + 1, found);
    }
  } else if (type == "Split") {
    const auto pattern = fields.find("pattern");
    const auto regex = pattern ? pattern->member("Regex") : std::nullopt;
    found.regexes.push_back(regex ? regex->text().value_or("") : "");
  } else if (type == "ByteLevel") {
    found.has_byte_level_regex |= fields.truth_or("use_regex", true);
  } else {
    found.has_other = true;
  }
}

}  // namespace

std::string pre_tokenizer_name(const Json& pre_tokenizer) {
  Found found;
  if (!pre_tokenizer.is_object()) return {};
  collect(pre_tokenizer, 0, found);
  if (found.has_other) return {};
  if (found.regexes.empty()) return found.has_byte_level_regex ? "gpt-2" : "";
  if (found.regexes.size() > 1 || found.has_byte_level_regex) return {};
  const auto known = std::ranges::find(kKnownPatterns, found.regexes.front(), &KnownPattern::regex);
  return known == kKnownPatterns.end() ? std::string() : std::string(known->name);
}

}  // namespace parlance
