#include "json/json.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

namespace parlance {

struct Json::Impl {
  nlohmann::ordered_json value;
};

namespace {

constexpr auto kReplace = nlohmann::ordered_json::error_handler_t::replace;
constexpr size_t kMaxDepth = 64;  // of nested values in text from outside

// The reader goes one call deeper for each bracket; text that is nothing but brackets must not end the
// program.
bool is_too_deep(std::string_view text) {
  size_t depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kMaxDepth) return true;
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return false;
}

}  // namespace

Json::Json() : impl_(std::make_unique<Impl>()) {}
Json::Json(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Json::Json(bool value) : impl_(new Impl{value}) {}
Json::Json(std::string_view text) : impl_(new Impl{std::string(text)}) {}
Json::Json(double value) : impl_(std::isfinite(value) ? new Impl{value} : new Impl{}) {}
Json::Json(const Json& other) : impl_(std::make_unique<Impl>(*other.impl_)) {}
Json::Json(Json&&) noexcept = default;
Json::~Json() = default;

Json& Json::operator=(Json other) noexcept {
  std::swap(impl_, other.impl_);
  return *this;
}

Json Json::from_signed(int64_t value) {
  return Json(std::unique_ptr<Impl>(new Impl{value}));
}
Json Json::from_unsigned(uint64_t value) {
  return Json(std::unique_ptr<Impl>(new Impl{value}));
}

Json Json::object(std::initializer_list<std::pair<std::string_view, Json>> members) {
  Json json(std::unique_ptr<Impl>(new Impl{nlohmann::ordered_json::object()}));
  for (const auto& [key, value] : members) json.set(key, value);
  return json;
}

Json Json::array() {
  return Json(std::unique_ptr<Impl>(new Impl{nlohmann::ordered_json::array()}));
}

Result<Json> Json::parse(std::string_view text) {
  if (is_too_deep(text)) {
    return fail(ErrorCode::too_complex, "JSON nested deeper than {} levels", kMaxDepth);
  }
  auto value = nlohmann::ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (value.is_discarded()) return fail(ErrorCode::invalid_argument, "not valid JSON");
  return Json(std::unique_ptr<Impl>(new Impl{std::move(value)}));
}

Result<Json> Json::parse_request(std::string_view text) {
  if (is_too_deep(text)) {
    return fail(ErrorCode::invalid_argument, "JSON nested deeper than {} levels", kMaxDepth);
  }
  using Value = nlohmann::ordered_json;
  std::array<std::set<std::string>, 2> keys;  // of the objects that are open
  std::string twice;
  const auto look = [&](int depth, Value::parse_event_t event, Value& value) {
    const size_t level = static_cast<size_t>(depth) - (event == Value::parse_event_t::key ? 1 : 0);
    if (level >= keys.size()) return true;
    if (event == Value::parse_event_t::object_start) keys[level].clear();
    if (event == Value::parse_event_t::key && twice.empty() &&
        !keys[level].insert(value.get_ref<const std::string&>()).second) {
      twice = value.get_ref<const std::string&>();
    }
    return true;
  };
  try {  // the library says where text ends to be JSON by throwing only
    Value value = Value::parse(text, look);
    if (!twice.empty()) {
      return fail(ErrorCode::invalid_argument, "the key {} comes twice in one object; give it once",
                  Value(twice).dump(-1, ' ', false, kReplace));
    }
    return Json(std::unique_ptr<Impl>(new Impl{std::move(value)}));
  } catch (const Value::parse_error& error) {
    return fail(ErrorCode::invalid_argument, "not valid JSON at byte {}", error.byte);
  } catch (const Value::exception&) {
    return fail(ErrorCode::invalid_argument, "not valid JSON: a number is beyond what 64 bits hold");
  }
}

Json& Json::set(std::string_view key, const Json& value) {
  impl_->value[std::string(key)] = value.impl_->value;
  return *this;
}

Json& Json::add(std::string_view key, const Json& value) {
  auto& members = impl_->value.get_ref<nlohmann::ordered_json::object_t&>();
  members.std::vector<nlohmann::ordered_json::object_t::value_type>::emplace_back(std::string(key),
                                                                                  value.impl_->value);
  return *this;
}

Json& Json::push(const Json& element) {
  impl_->value.push_back(element.impl_->value);
  return *this;
}

std::string Json::line() const {
  return impl_->value.dump(-1, ' ', false, kReplace);
}
std::string Json::pretty() const {
  return impl_->value.dump(2, ' ', false, kReplace);
}

JsonKind Json::kind() const {
  const auto& value = impl_->value;
  if (value.is_null()) return JsonKind::null;
  if (value.is_boolean()) return JsonKind::boolean;
  if (value.is_string()) return JsonKind::text;
  if (value.is_array()) return JsonKind::array;
  if (value.is_object()) return JsonKind::object;
  if (value.is_number_integer()) return JsonKind::integer;
  const double number = value.get<double>();
  return number == std::trunc(number) ? JsonKind::integer : JsonKind::number;
}

std::optional<int64_t> Json::integer() const {
  if (kind() != JsonKind::integer) return std::nullopt;
  const auto& value = impl_->value;
  if (value.is_number_unsigned()) {
    const auto number = value.get<uint64_t>();
    return number <= INT64_MAX ? std::optional(static_cast<int64_t>(number)) : std::nullopt;
  }
  if (value.is_number_integer()) return value.get<int64_t>();
  const double number = value.get<double>();
  return std::fabs(number) < 0x1p63 ? std::optional(static_cast<int64_t>(number)) : std::nullopt;
}

bool Json::is_object() const {
  return impl_->value.is_object();
}
bool Json::is_null() const {
  return impl_->value.is_null();
}

std::optional<bool> Json::truth() const {
  if (!impl_->value.is_boolean()) return std::nullopt;
  return impl_->value.get<bool>();
}

std::optional<std::vector<std::pair<std::string, Json>>> Json::members() const {
  if (!impl_->value.is_object()) return std::nullopt;
  std::vector<std::pair<std::string, Json>> members;
  for (const auto& [key, value] : impl_->value.items())
    members.emplace_back(key, Json(std::unique_ptr<Impl>(new Impl{value})));
  return members;
}

std::optional<Json> Json::member(std::string_view key) const {
  if (!impl_->value.is_object()) return std::nullopt;
  const auto found = impl_->value.find(std::string(key));
  if (found == impl_->value.end()) return std::nullopt;
  return Json(std::unique_ptr<Impl>(new Impl{*found}));
}

std::optional<std::string> Json::text() const {
  if (!impl_->value.is_string()) return std::nullopt;
  return impl_->value.get<std::string>();
}

std::optional<double> Json::number() const {
  if (!impl_->value.is_number()) return std::nullopt;
  return impl_->value.get<double>();
}

std::optional<std::vector<Json>> Json::elements() const {
  if (!impl_->value.is_array()) return std::nullopt;
  std::vector<Json> elements;
  for (const auto& element : impl_->value) elements.push_back(Json(std::unique_ptr<Impl>(new Impl{element})));
  return elements;
}

}  // namespace parlance
