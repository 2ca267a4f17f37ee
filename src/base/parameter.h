// What a caller can set, named in messages of rooms that do not know how it is set: by a flag, by a field of
// a request or by an argument of a function. A message holds a mark; the door that shows it puts its own word
// in the mark's place (assistant/wording.h).
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "base/function_ref.h"

namespace parlance {

enum class Parameter {
  // files
  model,
  asr,
  mmproj,
  tts_base,
  tts_codec,
  vad,
  speaker,
  eval_set,
  manifest_source,
  // where and how models run
  device,
  gpu_layers,
  ctx_size,
  batch_size,
  cache,
  cache_type_k,
  cache_type_v,
  cache_layers,
  cache_recent,
  cache_sink,
  // how answers are made
  max_tokens,
  temperature,
  top_k,
  top_p,
  min_p,
  repeat_penalty,
  repeat_last_n,
  presence_penalty,
  frequency_penalty,
  logit_bias,
  json_schema,
  grammar,
  regex,
  draft,
  draft_max,
  draft_min,
  draft_p_min,
  draft_tree,
  // how transcripts are made
  words,
  format,
};
inline constexpr size_t kParameterCount = static_cast<size_t>(Parameter::format) + 1;

// "ctx_size"
std::string_view id_of(Parameter parameter);

// The mark of a parameter, and of one with a value: fail(…, "shorten it or raise {}", Parameter::ctx_size),
// fail(…, "use {}", set_to(Parameter::device, "cpu")). A value in capitals stands for what people choose.
std::string mark_of(Parameter parameter, std::string_view value = {});
template <class T>
std::string set_to(Parameter parameter, const T& value) {
  return mark_of(parameter, fmt::format("{}", value));
}

// The message with word(parameter, value) in place of each mark; `value` is empty where there is none.
std::string replace_marks(std::string_view message,
                          FunctionRef<std::string(Parameter parameter, std::string_view value)> word);

// The message with ids in place of marks: "ctx_size", "device=cpu". For whom no door has words.
std::string without_marks(std::string_view message);

// The first parameter that a message names.
std::optional<Parameter> first_parameter(std::string_view message);

}  // namespace parlance

template <>
struct fmt::formatter<parlance::Parameter> {
  constexpr auto parse(fmt::format_parse_context& context) { return context.begin(); }
  auto format(parlance::Parameter parameter, fmt::format_context& context) const {
    const std::string mark = parlance::mark_of(parameter);
    return std::copy(mark.begin(), mark.end(), context.out());
  }
};
