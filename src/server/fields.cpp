#include "server/fields.h"

#include <algorithm>

#include "base/ascii.h"
#include "server/http_text.h"
#include "text/nearest.h"
#include "text/unicode.h"

namespace parlance {

namespace {

constexpr size_t kMostIgnoredText = 512;

std::string_view name_of_type(FieldType type) {
  switch (type) {
    case FieldType::any:
      return "anything";
    case FieldType::boolean:
      return "true or false";
    case FieldType::integer:
      return "a whole number";
    case FieldType::number:
      return "a number";
    case FieldType::text:
    case FieldType::choice:
    case FieldType::base64:
      return "a string";
    case FieldType::array:
      return "an array";
    case FieldType::object:
      return "an object";
    case FieldType::text_or_array:
      return "a string or an array";
    case FieldType::text_or_object:
      return "a string or an object";
    case FieldType::file:
      return "a file";
  }
  return "";
}

std::string_view name_of_kind(JsonKind kind) {
  switch (kind) {
    case JsonKind::null:
      return "null";
    case JsonKind::boolean:
      return "true or false";
    case JsonKind::integer:
    case JsonKind::number:
      return "a number";
    case JsonKind::text:
      return "a string";
    case JsonKind::array:
      return "an array";
    case JsonKind::object:
      return "an object";
  }
  return "";
}

bool is_of_type(JsonKind kind, FieldType type) {
  switch (type) {
    case FieldType::any:
      return true;
    case FieldType::boolean:
      return kind == JsonKind::boolean;
    case FieldType::integer:
      return kind == JsonKind::integer;
    case FieldType::number:
      return kind == JsonKind::integer || kind == JsonKind::number;
    case FieldType::text:
    case FieldType::choice:
    case FieldType::base64:
      return kind == JsonKind::text;
    case FieldType::array:
      return kind == JsonKind::array;
    case FieldType::object:
      return kind == JsonKind::object;
    case FieldType::text_or_array:
      return kind == JsonKind::text || kind == JsonKind::array;
    case FieldType::text_or_object:
      return kind == JsonKind::text || kind == JsonKind::object;
    case FieldType::file:
      return false;
  }
  return false;
}

std::string range_of(const Field& field, double highest) {
  const auto end = [](double value) { return fmt::format("{}", value); };
  const std::string lowest = field.lowest == -kNoLimit ? "" : end(field.lowest);
  if (highest == kNoLimit) return fmt::format("{} or more", lowest);
  return fmt::format("{}{}, {}]", field.is_open ? "(" : "[", lowest, end(highest));
}

bool is_in_range(const Field& field, double value, double highest) {
  return (field.is_open ? value > field.lowest : value >= field.lowest) && value <= highest;
}

ApiResult<void> check_number(const Field& field, std::string_view name, const Json& value,
                             const FieldRules& rules) {
  const double highest = field.is_up_to_context ? static_cast<double>(rules.n_ctx) : field.highest;
  const double number = *value.number();
  const bool fits = field.type != FieldType::integer || value.integer().has_value();
  if (fits && is_in_range(field, number, highest)) return {};
  if (!fits)
    return refuse("invalid_value", std::string(name), "{} is beyond 64 bits; give a smaller number", name);
  return refuse("invalid_value", std::string(name), "{} must lie in {}, got {}", name,
                range_of(field, highest), value.line());
}

ApiResult<void> check_size(const Field& field, std::string_view name, const Json& value) {
  const JsonKind kind = value.kind();
  const size_t n = kind == JsonKind::text    ? count_code_points(*value.text())
                   : kind == JsonKind::array ? value.elements()->size()
                                             : value.members()->size();
  const std::string_view of = kind == JsonKind::text    ? "characters"
                              : kind == JsonKind::array ? "elements"
                                                        : "members";
  // A text in the place of an array of texts is one of its elements, and so is a list of tokens.
  const bool is_element =
      field.type == FieldType::text_or_array &&
      (kind == JsonKind::text || (n > 0 && value.elements()->front().kind() == JsonKind::integer));
  if (!is_element && static_cast<double>(n) > field.highest) {
    const char* code = kind == JsonKind::text    ? "string_above_max_length"
                       : kind == JsonKind::array ? "array_above_max_length"
                                                 : "invalid_value";
    return refuse(code, std::string(name), "{} may have {} {}, got {}", name, field.highest, of, n);
  }
  if (static_cast<double>(n) < field.lowest) {
    return refuse("invalid_value", std::string(name), "{} needs {} {} or more", name, field.lowest, of);
  }
  return {};
}

ApiResult<void> check_word(const Field& field, std::string_view name, const std::string& word) {
  std::string listed;
  for (std::string_view rest = field.words; !rest.empty();) {
    const std::string_view one = next_of(rest, '|');
    if (one == word) return {};
    listed += (listed.empty() ? "" : ", ") + std::string(one);
  }
  // What OpenAI's interface knows and there is no code for.
  const bool is_known = word == "aac" || word == "diarized_json";
  return refuse(is_known ? "unsupported_value" : "invalid_value", std::string(name),
                "{} must be one of {}, got {}", name, listed, Json(word).line());
}

}  // namespace

Body::Body(const Json& object) {
  auto members = object.members();
  if (!members) return;
  for (auto& member : *members) {
    if (!member.second.is_null()) members_.push_back(std::move(member));
  }
}

const Json* Body::find(std::string_view name) const& {
  const auto found = std::find_if(members_.begin(), members_.end(),
                                  [&](const auto& member) { return member.first == name; });
  return found == members_.end() ? nullptr : &found->second;
}

std::optional<std::string> Body::text(std::string_view name) const {
  const Json* value = find(name);
  return value ? value->text() : std::nullopt;
}
std::optional<double> Body::number(std::string_view name) const {
  const Json* value = find(name);
  return value ? value->number() : std::nullopt;
}
std::optional<int64_t> Body::integer(std::string_view name) const {
  const Json* value = find(name);
  return value ? value->integer() : std::nullopt;
}
bool Body::boolean(std::string_view name, bool otherwise) const {
  const Json* value = find(name);
  return value ? value->truth().value_or(otherwise) : otherwise;
}
Body Body::object(std::string_view name) const {
  const Json* value = find(name);
  return value ? Body(*value) : Body();
}

ApiResult<void> check_field_value(const Field& field, std::string_view name, const Json& value,
                                  const FieldRules& rules) {
  if (field.field_class == FieldClass::refused) {
    return refuse("unsupported_parameter", std::string(name), "{} is not offered: {}", name, field.about);
  }
  if (field.field_class == FieldClass::neutral) {
    if (value.line() == field.words) return {};
    return refuse("unsupported_value", std::string(name), "{} can only be {}: {}", name, field.words,
                  field.about);
  }
  if (!is_of_type(value.kind(), field.type)) {
    return refuse("invalid_type", std::string(name), "{} must be {}, got {}", name, name_of_type(field.type),
                  field.type == FieldType::integer && value.kind() == JsonKind::number
                      ? value.line()
                      : std::string(name_of_kind(value.kind())));
  }
  if (field.type == FieldType::choice) return check_word(field, name, *value.text());
  if (value.kind() == JsonKind::integer || value.kind() == JsonKind::number) {
    return check_number(field, name, value, rules);
  }
  if (value.kind() == JsonKind::boolean || value.kind() == JsonKind::null) return {};
  if (field.type == FieldType::any) return {};
  return check_size(field, name, value);
}

namespace {

// The members of one object against those fields of the table that begin with its name and a point.
ApiResult<void> check_members(std::span<const Field> fields, const std::string& prefix, const Json& object,
                              const FieldRules& rules, CheckedBody& checked) {
  for (const auto& [key, value] : Body(object).members()) {
    const std::string name = prefix + key;
    const auto field =
        std::find_if(fields.begin(), fields.end(), [&](const Field& f) { return f.name == name; });
    const std::string below = name + ".";
    const bool is_group =
        std::any_of(fields.begin(), fields.end(), [&](const Field& f) { return f.name.starts_with(below); });
    if (is_group) {
      if (value.kind() != JsonKind::object) {
        return refuse("invalid_type", name, "{} must be an object, got {}", name, name_of_kind(value.kind()));
      }
      PARLANCE_API_CHECK(check_members(fields, below, value, rules, checked));
    } else if (field != fields.end()) {
      PARLANCE_API_CHECK(check_field_value(*field, name, value, rules));
      if (field->field_class == FieldClass::ignored) checked.ignored.push_back(name);
    } else if (rules.is_strict) {
      std::vector<std::string> names;
      for (const Field& f : fields) names.emplace_back(f.name);
      const std::string guess = nearest(name, names);
      return refuse("unsupported_parameter", name, "there is no field {}{}", name,
                    guess.empty() ? "; leave it out" : "; did you mean " + guess + "?");
    } else {
      checked.ignored.push_back(name);
    }
  }
  return {};
}

}  // namespace

ApiResult<CheckedBody> check_fields(std::span<const Field> fields, const Json& body,
                                    const FieldRules& rules) {
  CheckedBody checked{.body = Body(body), .ignored = {}};
  PARLANCE_API_CHECK(check_members(fields, "", body, rules, checked));
  checked.body.keep([&](std::string_view name) {
    return std::any_of(fields.begin(), fields.end(), [&](const Field& field) {
      return field.name.substr(0, field.name.find('.')) == name;
    });
  });
  return checked;
}

ApiResult<Json> parse_body(std::string_view text) {
  if (text.empty()) return refuse("invalid_json", {}, "the body is empty; send a JSON object");
  auto json = Json::parse_request(text);
  if (!json) return refuse("invalid_json", {}, "{}", json.error().message);
  if (!json->is_object()) return refuse("invalid_type", {}, "the body must be a JSON object");
  return *std::move(json);
}

std::string ignored_text(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    // A name comes from the client and goes into a head.
    const bool is_plain = !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
      return ascii::is_letter(c) || ascii::is_digit(c) || c == '_' || c == '-' || c == '.';
    });
    if (!is_plain) continue;
    if (text.size() + name.size() + 1 > kMostIgnoredText) break;
    text += (text.empty() ? "" : ",") + name;
  }
  return text;
}

}  // namespace parlance
