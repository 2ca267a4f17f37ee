#include "verify/fixture_fields.h"

#include <algorithm>
#include <cassert>
#include <optional>

namespace parlance::verify {

namespace {

const json kNull;

// Appends the numbers of a list of lists; false when there is something else, or more than `most`.
bool flatten(const json& list, size_t most, std::vector<float>& values) {
  constexpr int kMostDepth = 3;
  const auto walk = [&](const auto& self, const json& node, int depth) -> bool {
    if (node.is_number()) {
      const auto value = node.get<float>();
      values.push_back(value);
      return values.size() <= most && std::isfinite(value);
    }
    if (!node.is_array() || depth == kMostDepth) return false;
    return std::all_of(node.begin(), node.end(),
                       [&](const json& item) { return self(self, item, depth + 1); });
  };
  return list.is_array() && walk(walk, list, 0);
}

std::optional<unsigned> digit(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a' + 10);
  return std::nullopt;
}

std::optional<std::vector<std::byte>> bytes_of_digits(const std::string& digits) {
  std::vector<std::byte> bytes;
  for (size_t i = 0; i + 1 < digits.size(); i += 2) {
    const auto high = digit(digits[i]), low = digit(digits[i + 1]);
    if (!high || !low) return std::nullopt;
    bytes.push_back(static_cast<std::byte>(*high << 4 | *low));
  }
  if (digits.size() % 2 != 0) return std::nullopt;
  return bytes;
}

std::optional<std::vector<std::byte>> bytes_of_numbers(const json& list) {
  std::vector<std::byte> bytes;
  for (const json& item : list) {
    if (!item.is_number_integer() || item < 0 || item > 255) return std::nullopt;
    bytes.push_back(static_cast<std::byte>(item.get<int>()));
  }
  return bytes;
}

}  // namespace

void Problem::note(const std::string& path, const std::string& what) {
  constexpr size_t kMostWords = 200;
  if (found()) return;
  message_ = fmt::format("{}: {}: {}; fetch the fixtures again", file_, path, what);
  for (char& c : message_) {
    if (c < ' ' || c > '~') c = '?';
  }
  if (message_.size() > kMostWords) message_ = message_.substr(0, kMostWords) + "...";
}

Fields::Fields(const json& object, std::string path, Problem& problem)
    : object_(&object), path_(std::move(path)), problem_(&problem) {
  if (object.is_object()) return;
  problem.note(path_, "expected an object");
  static const json empty = json::object();
  object_ = &empty;
}

const json& Fields::value(const char* key) const {
  const auto found = object_->find(key);
  return found == object_->end() ? kNull : *found;
}

void Fields::note(const std::string& key, const std::string& what) const {
  problem_->note(path_.empty() ? key : path_ + "." + key, what);
}

int64_t Fields::integer(const char* key, int64_t min, int64_t max) const {
  const json& item = value(key);
  if (item.is_number_integer() && item >= min && item <= max) return item.get<int64_t>();
  note(key, fmt::format("expected a whole number from {} to {}", min, max));
  return min;
}

double Fields::number(const char* key) const {
  const json& item = value(key);
  if (item.is_number() && std::isfinite(item.get<double>())) return item.get<double>();
  note(key, "expected a number");
  return 0;
}

bool Fields::flag(const char* key) const {
  const json& item = value(key);
  if (item.is_boolean()) return item.get<bool>();
  if (item.is_number_integer() && (item == 0 || item == 1)) return item == 1;
  note(key, "expected true, false, 1 or 0");
  return false;
}

std::string Fields::text(const char* key) const {
  const json& item = value(key);
  if (item.is_string()) return item.get<std::string>();
  note(key, "expected a text");
  return {};
}

KvFormat Fields::format(const char* key) const {
  const std::string name = text(key);
  if (const auto format = kv_format_from_name(name)) return *format;
  note(key, fmt::format("'{}' is not one of {}", name.substr(0, 40), kv_format_names()));
  return KvFormat::f32;
}

std::vector<float> Fields::floats(const char* key, int64_t n) const {
  std::vector<float> values;
  const bool is_list = flatten(value(key), static_cast<size_t>(n), values);
  if (!is_list || static_cast<int64_t>(values.size()) != n) {
    note(key, fmt::format("expected {} finite numbers", n));
  }
  return values;
}

std::vector<std::byte> Fields::bytes(const char* key, int64_t n) const {
  const json& item = value(key);
  std::optional<std::vector<std::byte>> bytes;
  if (item.is_string()) bytes = bytes_of_digits(item.get_ref<const std::string&>());
  if (item.is_array()) bytes = bytes_of_numbers(item);
  if (bytes && static_cast<int64_t>(bytes->size()) == n) return *std::move(bytes);
  note(key, fmt::format("expected {} bytes, in hexadecimal digits or as a list", n));
  return {};
}

std::vector<Fields> Fields::objects(const char* key) const {
  const json& list = value(key);
  if (!list.is_array() || list.empty()) note(key, "expected a list of objects");
  std::vector<Fields> objects;
  if (!list.is_array()) return objects;
  for (size_t i = 0; i < list.size() && !is_bad(); ++i) {
    objects.emplace_back(list[i], fmt::format("{}{}{}[{}]", path_, path_.empty() ? "" : ".", key, i),
                         *problem_);
  }
  return objects;
}

}  // namespace parlance::verify
