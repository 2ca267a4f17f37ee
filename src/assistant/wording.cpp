#include "assistant/wording.h"

#include <fmt/core.h>

namespace parlance {

namespace {

// A word that is null: the door has none.
struct Words {
  const char* flag;
  const char* field;     // of a request in JSON, as OpenAI's interface and llama.cpp's server name them
  const char* argument;  // of the C library, in a struct or a call
};

constexpr Words words_of(Parameter parameter) {
  switch (parameter) {
    case Parameter::model:
      return {"--model", "model", "bundle_dir"};
    case Parameter::asr:
      return {"--asr", nullptr, nullptr};
    case Parameter::mmproj:
      return {"--mmproj", nullptr, "mmproj_path"};
    case Parameter::tts_base:
      return {"--base", nullptr, "model_path"};
    case Parameter::tts_codec:
      return {"--codec", nullptr, "codec_path"};
    case Parameter::vad:
      return {"--vad", nullptr, nullptr};
    case Parameter::speaker:
      return {"--speaker", nullptr, nullptr};
    case Parameter::eval_set:
      return {"--set", nullptr, nullptr};
    case Parameter::manifest_source:
      return {"--from", nullptr, nullptr};
    case Parameter::device:
      return {"--device", nullptr, nullptr};
    case Parameter::gpu_layers:
      return {"--gpu-layers", nullptr, "n_gpu_layers"};
    case Parameter::ctx_size:
      return {"--ctx-size", nullptr, "n_ctx"};
    case Parameter::batch_size:
      return {"--batch-size", nullptr, "n_batch"};
    case Parameter::cache:
      return {"--cache", nullptr, nullptr};
    case Parameter::cache_type_k:
      return {"--cache-type-k", nullptr, "cache_type_k"};
    case Parameter::cache_type_v:
      return {"--cache-type-v", nullptr, "cache_type_v"};
    case Parameter::cache_layers:
      return {"--cache-layers", nullptr, nullptr};
    case Parameter::cache_recent:
      return {"--cache-recent", nullptr, nullptr};
    case Parameter::cache_sink:
      return {"--cache-sink", nullptr, nullptr};
    case Parameter::max_tokens:
      return {"--max-tokens", "max_tokens", "max_tokens"};
    case Parameter::temperature:
      return {"--temp", "temperature", "temperature"};
    case Parameter::top_k:
      return {"--top-k", "top_k", "top_k"};
    case Parameter::top_p:
      return {"--top-p", "top_p", "top_p"};
    case Parameter::min_p:
      return {"--min-p", "min_p", "min_p"};
    case Parameter::repeat_penalty:
      return {"--repeat-penalty", "repeat_penalty", "repeat_penalty"};
    case Parameter::repeat_last_n:
      return {"--repeat-last-n", "repeat_last_n", "repeat_last_n"};
    case Parameter::presence_penalty:
      return {"--presence-penalty", "presence_penalty", "presence_penalty"};
    case Parameter::frequency_penalty:
      return {"--frequency-penalty", "frequency_penalty", "frequency_penalty"};
    case Parameter::logit_bias:
      return {"--logit-bias", "logit_bias", "logit_bias"};
    case Parameter::json_schema:
      return {"--json-schema", "json_schema", "json_schema"};
    case Parameter::grammar:
      return {"--grammar", "grammar", "grammar"};
    case Parameter::regex:
      return {"--regex", "structured_outputs.regex", "regex"};
    case Parameter::draft:
      return {"--draft", "draft", "draft"};
    case Parameter::draft_max:
      return {"--draft-max", "speculative.n_max", "draft_max"};
    case Parameter::draft_min:
      return {"--draft-min", "speculative.n_min", "draft_min"};
    case Parameter::draft_p_min:
      return {"--draft-p-min", "speculative.p_min", "draft_p_min"};
    case Parameter::draft_tree:
      return {"--draft-tree", nullptr, nullptr};
    case Parameter::words:
      return {"--words", "timestamp_granularities", nullptr};
    case Parameter::format:
      return {"--format", "response_format", nullptr};
  }
  return {};
}

// A number, or a name in capitals that stands for what people choose: neither stands in quotation marks in
// JSON.
bool stands_bare(std::string_view value) {
  return value.find_first_not_of("0123456789.-") == std::string_view::npos ||
         value.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ-") == std::string_view::npos;
}

std::string word(Parameter parameter, std::string_view value, Door door) {
  const Words words = words_of(parameter);
  const auto given = [&](std::string_view name, std::string_view between) {
    return value.empty() ? std::string(name) : fmt::format("{}{}{}", name, between, value);
  };
  switch (door) {
    case Door::command_line:
      break;
    case Door::request:
      if (!words.field) break;
      if (value.empty()) return fmt::format("\"{}\"", words.field);
      return stands_bare(value) ? fmt::format("\"{}\": {}", words.field, value)
                                : fmt::format("\"{}\": \"{}\"", words.field, value);
    case Door::c_library:
      return given(words.argument ? words.argument : id_of(parameter), " = ");
  }
  return given(words.flag, " ");
}

}  // namespace

std::string worded(std::string_view message, Door door) {
  return replace_marks(
      message, [&](Parameter parameter, std::string_view value) { return word(parameter, value, door); });
}

std::optional<std::string> named_parameter(const Error& error, Door door) {
  const std::optional<Parameter> parameter = first_parameter(error.message);
  if (!parameter) return std::nullopt;
  const Words words = words_of(*parameter);
  const char* name = door == Door::command_line ? words.flag
                     : door == Door::request    ? words.field
                     : words.argument           ? words.argument
                                                : id_of(*parameter).data();
  return name ? std::optional<std::string>(name) : std::nullopt;
}

}  // namespace parlance
