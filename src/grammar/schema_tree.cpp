#include "grammar/schema_tree.h"

#include "base/ascii.h"

namespace parlance {

namespace {

// One step of a pointer in a reference: %2F, ~1 and ~0 undone.
std::string unescaped(std::string_view step) {
  std::string bytes;
  for (size_t i = 0; i < step.size(); ++i) {
    const bool is_coded = step[i] == '%' && i + 2 < step.size() && ascii::hex_value(step[i + 1]) >= 0 &&
                          ascii::hex_value(step[i + 2]) >= 0;
    if (is_coded) {
      bytes += static_cast<char>(ascii::hex_value(step[i + 1]) * 16 + ascii::hex_value(step[i + 2]));
      i += 2;
    } else {
      bytes += step[i];
    }
  }
  std::string name;
  for (size_t i = 0; i < bytes.size(); ++i) {
    const bool is_escaped = bytes[i] == '~' && i + 1 < bytes.size();
    name += !is_escaped ? bytes[i] : bytes[++i] == '1' ? '/' : '~';
  }
  return name;
}

}  // namespace

Result<SchemaTree> SchemaTree::parse(std::string_view text) {
  PARLANCE_TRY(const Json json, Json::parse(text));
  SchemaTree tree;
  tree.root_ = tree.add(json);
  return tree;
}

// Calls itself as deeply as JSON may be nested, which its reader bounds.
SchemaTree::Id SchemaTree::add(const Json& json) {
  Value value;
  if (auto members = json.members()) {
    value.kind = Kind::object;
    for (const auto& [key, member] : *members) value.members.emplace_back(key, add(member));
  } else if (auto elements = json.elements()) {
    value.kind = Kind::array;
    for (const Json& element : *elements) value.elements.push_back(add(element));
  } else if (auto string = json.text()) {
    value.kind = Kind::string;
    value.text = *std::move(string);
  } else if (const auto truth = json.truth()) {
    value.kind = Kind::boolean;
    value.truth = *truth;
  } else if (!json.is_null()) {
    value.kind = Kind::number;
    value.text = json.line();
  }
  values_.push_back(std::move(value));
  return static_cast<Id>(values_.size() - 1);
}

std::optional<SchemaTree::Id> SchemaTree::member(Id object, std::string_view key) const {
  for (const auto& [name, value] : values_[object].members) {
    if (name == key) return value;
  }
  return std::nullopt;
}

std::optional<SchemaTree::Id> SchemaTree::find(std::string_view pointer) const {
  if (!pointer.starts_with('#')) return std::nullopt;
  pointer.remove_prefix(1);
  std::optional<Id> at = root_;
  while (at && !pointer.empty()) {
    if (pointer[0] != '/') return std::nullopt;
    const size_t end = std::min(pointer.find('/', 1), pointer.size());
    at = member(*at, unescaped(pointer.substr(1, end - 1)));
    pointer.remove_prefix(end);
  }
  return at;
}

std::string pointer_to(const std::string& pointer, std::string_view step) {
  std::string longer = pointer + '/';
  for (const char c : step) {
    if (c == '~') {
      longer += "~0";
    } else if (c == '/') {
      longer += "~1";
    } else {
      longer += c;
    }
  }
  return longer;
}

}  // namespace parlance
