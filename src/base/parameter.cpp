#include "base/parameter.h"

#include <algorithm>
#include <array>
#include <tuple>

namespace parlance {

namespace {

// In the order of the enumeration.
constexpr std::array<std::string_view, kParameterCount> kIds = {"model",
                                                                "asr",
                                                                "mmproj",
                                                                "tts_base",
                                                                "tts_codec",
                                                                "vad",
                                                                "speaker",
                                                                "eval_set",
                                                                "manifest_source",
                                                                "device",
                                                                "gpu_layers",
                                                                "ctx_size",
                                                                "batch_size",
                                                                "cache",
                                                                "cache_type_k",
                                                                "cache_type_v",
                                                                "cache_layers",
                                                                "cache_recent",
                                                                "cache_sink",
                                                                "max_tokens",
                                                                "temperature",
                                                                "top_k",
                                                                "top_p",
                                                                "min_p",
                                                                "repeat_penalty",
                                                                "repeat_last_n",
                                                                "presence_penalty",
                                                                "frequency_penalty",
                                                                "logit_bias",
                                                                "json_schema",
                                                                "grammar",
                                                                "regex",
                                                                "draft",
                                                                "draft_max",
                                                                "draft_min",
                                                                "draft_p_min",
                                                                "draft_tree",
                                                                "words",
                                                                "format"};

// A mark is kEdge, the id, perhaps kIs and a value, kEdge: control characters, which no file's name or text
// that a message quotes is likely to have, and which no terminal minds.
constexpr char kEdge = '\x1e', kIs = '\x1f';

struct Mark {
  Parameter parameter;
  std::string_view value;
  size_t begin, end;  // in the message
};

// The first mark at or behind a position.
std::optional<Mark> find_mark(std::string_view message, size_t from) {
  for (size_t begin = message.find(kEdge, from); begin != std::string_view::npos;
       begin = message.find(kEdge, begin + 1)) {
    const size_t end = message.find(kEdge, begin + 1);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view inside = message.substr(begin + 1, end - begin - 1);
    const size_t is = std::min(inside.find(kIs), inside.size());
    const auto id = std::ranges::find(kIds, inside.substr(0, is));
    if (id == kIds.end()) continue;
    return Mark{static_cast<Parameter>(id - kIds.begin()), inside.substr(std::min(is + 1, inside.size())),
                begin, end + 1};
  }
  return std::nullopt;
}

}  // namespace

std::string_view id_of(Parameter parameter) {
  return kIds[static_cast<size_t>(parameter)];
}

std::string mark_of(Parameter parameter, std::string_view value) {
  std::string mark(1, kEdge);
  mark += id_of(parameter);
  if (!value.empty()) (mark += kIs) += value;
  return mark += kEdge;
}

std::string replace_marks(std::string_view message,
                          FunctionRef<std::string(Parameter parameter, std::string_view value)> word) {
  std::string text;
  size_t at = 0;
  while (const auto mark = find_mark(message, at)) {
    text += message.substr(at, mark->begin - at);
    text += word(mark->parameter, mark->value);
    at = mark->end;
  }
  return text += message.substr(at);
}

std::string without_marks(std::string_view message) {
  return replace_marks(message, [](Parameter parameter, std::string_view value) {
    return value.empty() ? std::string(id_of(parameter)) : fmt::format("{}={}", id_of(parameter), value);
  });
}

std::optional<Parameter> first_parameter(std::string_view message) {
  const auto mark = find_mark(message, 0);
  return mark ? std::optional(mark->parameter) : std::nullopt;
}

}  // namespace parlance
