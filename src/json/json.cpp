#include "json/json.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <vector>

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

// Puts a value together from what the library reads. Its own ways look at all members of an object for each
// new one, or at all elements of an array for each object in it: a body of some megabytes would take minutes.
class JsonBuilder {
 public:
  using Value = nlohmann::ordered_json;

  Value root;
  std::string twice;       // the first key that came twice in an object of the first two levels
  size_t error_byte = 0;   // where it ends to be JSON
  bool is_beyond = false;  // a number is

  bool null() { return put(nullptr); }
  bool boolean(bool value) { return put(value); }
  bool number_integer(int64_t value) { return put(value); }
  bool number_unsigned(uint64_t value) { return put(value); }
  bool number_float(double value, const std::string&) { return put(value); }
  bool string(std::string& value) { return put(std::move(value)); }
  bool binary(Value::binary_t& value) { return put(std::move(value)); }
  bool start_object(size_t) { return open(Value::object()); }
  bool end_object() { return close(); }
  bool start_array(size_t) { return open(Value::array()); }
  bool end_array() { return close(); }
  bool key(std::string& name) {
    Open& object = open_.back();
    Members& members = members_of(*object.value);
    object.slot = index_of(object, members, name);
    if (object.slot < members.size()) {
      if (open_.size() <= kCheckedLevels && twice.empty()) twice = name;
      return true;
    }
    if (!object.places.empty()) object.places.emplace(name, object.slot);
    members.emplace_back(std::move(name), nullptr);
    return true;
  }
  bool parse_error(size_t byte, const std::string&, const nlohmann::detail::exception& error) {
    error_byte = byte;
    is_beyond = dynamic_cast<const Value::parse_error*>(&error) == nullptr;
    return false;
  }

 private:
  using Members = std::vector<Value::object_t::value_type>;  // what the library's object is
  static Members& members_of(Value& object) { return object.get_ref<Value::object_t&>(); }

  static constexpr size_t kCheckedLevels = 2;
  static constexpr size_t kFewMembers = 16;  // that are looked through

  struct Open {
    Value* value;
    size_t slot = 0;                                   // of an object: where its next value goes
    std::unordered_map<std::string, size_t> places{};  // of an object with many members: where each is
  };

  // Where the member is, or would be.
  static size_t index_of(Open& object, const Members& members, const std::string& name) {
    if (members.size() <= kFewMembers) {
      size_t i = 0;
      while (i < members.size() && members[i].first != name) ++i;
      return i;
    }
    if (object.places.empty()) {
      for (size_t i = 0; i < members.size(); ++i) object.places.emplace(members[i].first, i);
    }
    const auto found = object.places.find(name);
    return found == object.places.end() ? members.size() : found->second;
  }

  Value& place(Value value) {
    if (open_.empty()) return root = std::move(value);
    const Open& around = open_.back();
    if (around.value->is_array()) {
      auto& elements = around.value->get_ref<Value::array_t&>();
      elements.push_back(std::move(value));
      return elements.back();
    }
    return members_of(*around.value)[around.slot].second = std::move(value);
  }
  template <class T>
  bool put(T&& value) {
    place(Value(std::forward<T>(value)));
    return true;
  }
  bool open(Value value) {
    open_.push_back({&place(std::move(value))});
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  std::vector<Open> open_;
};

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
  JsonBuilder builder;
  if (!JsonBuilder::Value::sax_parse(text, &builder))
    return fail(ErrorCode::invalid_argument, "not valid JSON");
  return Json(std::unique_ptr<Impl>(new Impl{std::move(builder.root)}));
}

Result<Json> Json::parse_request(std::string_view text) {
  if (is_too_deep(text)) {
    return fail(ErrorCode::invalid_argument, "JSON nested deeper than {} levels", kMaxDepth);
  }
  JsonBuilder builder;
  if (!JsonBuilder::Value::sax_parse(text, &builder)) {
    if (builder.is_beyond)
      return fail(ErrorCode::invalid_argument, "not valid JSON: a number is beyond what 64 bits hold");
    return fail(ErrorCode::invalid_argument, "not valid JSON at byte {}", builder.error_byte);
  }
  if (!builder.twice.empty()) {
    return fail(ErrorCode::invalid_argument, "the key {} comes twice in one object; give it once",
                Json(builder.twice).line());
  }
  return Json(std::unique_ptr<Impl>(new Impl{std::move(builder.root)}));
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
