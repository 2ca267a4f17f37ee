#include "cli/terminal/cache_options.h"

#include <array>
#include <limits>
#include <utility>

#include "base/parse_number.h"

namespace parlance {

namespace {

constexpr int64_t kMaxPositions = int64_t{1} << 31;

// An option whose value one function understands; `assign` takes the result in.
template <class T, class Parse, class Assign>
Option parsed_option(std::string names, std::string value, std::string help, std::string fallback,
                     Parse parse, Assign assign) {
  Option option{.names = std::move(names),
                .value = std::move(value),
                .help = std::move(help),
                .fallback = std::move(fallback),
                .set = {}};
  option.set = [name = main_name(option), parse, assign](const std::string& text) -> Result<void> {
    Result<T> parsed = parse(text);
    if (!parsed) return fail(parsed.error().code, "{}: {}", name, parsed.error().message);
    assign(*std::move(parsed));
    return {};
  };
  return option;
}

// One of two words.
template <class T>
auto word(std::string_view first, T first_value, std::string_view second, T second_value) {
  return [=](const std::string& text) -> Result<T> {
    if (text == first) return first_value;
    if (text == second) return second_value;
    return fail(ErrorCode::invalid_argument, "'{}' is not one of {}, {}", text, first, second);
  };
}

// What other programs call formats, where that says which one is meant.
constexpr std::array<std::pair<std::string_view, KvFormat>, 3> kOtherNames = {
    {{"turbo3_tcq", KvFormat::tbq3_tcq}, {"qjl", KvFormat::qjl1_256}, {"polar", KvFormat::q4_polar}}};

Result<KvFormat> parse_format(const std::string& name) {
  if (const auto format = kv_format_from_name(name)) return *format;
  for (const auto& [other, format] : kOtherNames) {
    if (name == other) return format;
  }
  if (name == "turbo3" || name == "turbo4") {
    return fail(ErrorCode::invalid_argument, "two formats are called {}; use {}, which programs write", name,
                name == "turbo3" ? "tbq3_0" : "tbq4_0");
  }
  return fail(ErrorCode::invalid_argument, "'{}' is not one of {}", name, kv_format_names());
}

Result<KvPolicy> parse_preset(const std::string& name) {
  if (const auto policy = cache_preset(name)) return *policy;
  return fail(ErrorCode::invalid_argument, "'{}' is not one of {}", name, kCachePresetNames);
}

Result<int64_t> parse_positions(const std::string& text) {
  const auto n = parse_number<int64_t>(text);
  if (n && *n >= 0 && *n <= kMaxPositions) return *n;
  return fail(ErrorCode::invalid_argument, "expected a whole number from 0 to {}, got '{}'", kMaxPositions,
              text);
}

}  // namespace

KvPolicy CacheChoice::policy() const {
  KvPolicy policy = preset.value_or(KvPolicy());
  policy.k.format = k.value_or(policy.k.format);
  policy.v.format = v.value_or(policy.v.format);
  policy.n_sink = n_sink.value_or(policy.n_sink);
  policy.n_recent = n_recent.value_or(policy.n_recent);
  if (layers) policy.layers = *layers;
  if (k || v || layers) policy.goal.reset();  // what is named is not chosen
  // Whose bytes are to be another program's gets that program's keys.
  policy.equalises = equalises.value_or(encoder != KvEncoder::compatible);
  for (KvCoding* side : {&policy.k, &policy.v}) {
    side->encoder = encoder.value_or(side->encoder);
    side->rotated = rotated.value_or(side->rotated);
    side->least_squares = least_squares.value_or(side->least_squares);
  }
  return policy;
}

std::vector<Option> cache_options(CacheChoice& choice, KvPolicy& policy) {
  // Stores a value and makes the policy anew.
  const auto store = [&choice, &policy](auto& field) {
    return [&choice, &policy, &field](auto value) {
      field = std::move(value);
      policy = choice.policy();
    };
  };
  const KvPolicy plain = choice.policy();
  return {
      parsed_option<KvPolicy>(
          "--cache", "PRESET",
          "How keys and values are kept: exact (f16), balanced (at most 5 bits a value, hardly "
          "a difference), small (at most 4 bits) or auto (as few bits as do no harm). Formats are chosen "
          "for each layer by a probe of the model, which 'parlance cache' shows. The options below change "
          "parts "
          "of it.",
          "exact", parse_preset, store(choice.preset)),
      parsed_option<KvFormat>("-ctk, --cache-type-k", "TYPE", "How keys are kept: " + kv_format_names() + ".",
                              std::string(name_of(plain.k.format)), parse_format, store(choice.k)),
      parsed_option<KvFormat>("-ctv, --cache-type-v", "TYPE", "How values are kept.",
                              std::string(name_of(plain.v.format)), parse_format, store(choice.v)),
      parsed_option<int64_t>(
          "--cache-recent", "N",
          "The last N positions stay in f16, in whole pages of 64; older ones are compressed.",
          fmt::format("{}", plain.n_recent), parse_positions, store(choice.n_recent)),
      parsed_option<int64_t>("--cache-sink", "N", "The first N positions stay in f16.",
                             fmt::format("{}", plain.n_sink), parse_positions, store(choice.n_sink)),
      parsed_option<std::vector<KvPolicy::Override>>(
          "--cache-layers", "LAYERS:TYPE",
          "Other formats for some layers, counted from 0 or, negative, from the last: \"0,1,-1:q8_0\"; keys "
          "and "
          "values apart and several groups: \"0:f16;-1:q8_0/tbq4_0\".",
          "", [](const std::string& text) { return parse_layer_overrides(text); }, store(choice.layers)),
      parsed_option<KvEncoder>("--cache-encoder", "NAME",
                               "search: choose the steps of codes with the least error; compatible: the "
                               "bytes that elizaOS's llama.cpp "
                               "writes.",
                               "search",
                               word("search", KvEncoder::search, "compatible", KvEncoder::compatible),
                               store(choice.encoder)),
      parsed_option<bool>(
          "--cache-rotation", "on|off",
          "Rotate heads before they are stored in f16, bf16, q8_0 or q4_0, which spreads outliers; "
          "the other formats rotate by themselves.",
          plain.k.rotated ? "on" : "off", word("on", true, "off", false), store(choice.rotated)),
      parsed_option<bool>(
          "--cache-equalise", "on|off",
          "Store compressed keys without the outliers that the model's weights put into all of them, for the "
          "same attention.",
          plain.equalises ? "on" : "off", word("on", true, "off", false), store(choice.equalises)),
      parsed_option<bool>(
          "--cache-sketch", "NAME", "How qjl1_256 is read: least-squares, or unbiased as its paper does.",
          "least-squares", word("least-squares", true, "unbiased", false), store(choice.least_squares)),
  };
}

}  // namespace parlance
