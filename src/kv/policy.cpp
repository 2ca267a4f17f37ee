#include "kv/policy.h"

#include <algorithm>
#include <charconv>

namespace parlance {

LayerCoding KvPolicy::layer(int64_t i, int64_t n) const {
  LayerCoding coding{k, v};
  for (const Override& o : layers) {
    if (o.layer != i && o.layer != i - n) continue;
    coding.k.format = o.k;
    coding.v.format = o.v;
  }
  return coding;
}

bool KvPolicy::compresses() const {
  const auto is_compressed = [](KvFormat format) { return format >= KvFormat::q8_0; };
  return is_compressed(k.format) || is_compressed(v.format) ||
         std::ranges::any_of(layers,
                             [&](const Override& o) { return is_compressed(o.k) || is_compressed(o.v); });
}

namespace {

// What presets are chosen by. Below these divergences more bits would hardly be noticed.
constexpr CacheGoal kBalanced{.most_bits = 5, .most_divergence = 0.0005};
constexpr CacheGoal kSmall{.most_bits = 4, .most_divergence = 0.002};
constexpr CacheGoal kAutomatic{.most_bits = 16, .most_divergence = 0.003};

// The part of `text` before the separator, which is taken off with it; all of it when there is none.
std::string_view take_part(std::string_view& text, char separator) {
  const size_t end = text.find(separator);
  const std::string_view part = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  return part;
}

Result<KvFormat> parse_format(std::string_view name) {
  if (const auto format = kv_format_from_name(name)) return *format;
  return fail(ErrorCode::invalid_argument, "\"{}\" is no cache format; there are {}", name,
              kv_format_names());
}

Result<void> parse_group(std::string_view group, std::vector<KvPolicy::Override>& overrides) {
  std::string_view formats = group;
  std::string_view numbers = take_part(formats, ':');
  if (formats.empty()) {
    return fail(ErrorCode::invalid_argument, "\"{}\" has no format; write LAYERS:FORMAT, such as 0,1,-1:q8_0",
                group);
  }
  std::string_view values = formats;
  const std::string_view keys = take_part(values, '/');
  PARLANCE_TRY(const KvFormat k, parse_format(keys));
  PARLANCE_TRY(const KvFormat v, parse_format(values.empty() ? keys : values));
  while (!numbers.empty()) {
    const std::string_view number = take_part(numbers, ',');
    int64_t layer = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), layer);
    if (error != std::errc() || end != number.data() + number.size()) {
      return fail(ErrorCode::invalid_argument, "\"{}\" is no layer number in \"{}\"", number, group);
    }
    overrides.push_back({layer, k, v});
  }
  return {};
}

}  // namespace

Result<std::vector<KvPolicy::Override>> parse_layer_overrides(std::string_view text) {
  std::vector<KvPolicy::Override> overrides;
  while (!text.empty()) PARLANCE_CHECK(parse_group(take_part(text, ';'), overrides));
  return overrides;
}

std::optional<KvPolicy> cache_preset(std::string_view name) {
  KvPolicy policy;
  if (name == "exact") return policy;
  policy.n_sink = policy.n_recent = 64;
  if (name == "balanced" || name == "auto") {
    policy.k.format = policy.v.format = KvFormat::tbq4_0;
    policy.goal = name == "auto" ? kAutomatic : kBalanced;
    return policy;
  }
  if (name == "small") {
    policy.k.format = policy.v.format = KvFormat::tbq3_0;
    policy.goal = kSmall;
    return policy;
  }
  return std::nullopt;
}

}  // namespace parlance
