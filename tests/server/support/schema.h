// As much of JSON Schema as the recorded shapes of answers use.
#pragma once

#include <nlohmann/json.hpp>
#include <regex>
#include <string>

namespace parlance::test {

// Why a value does not keep a schema; empty: it does. `root` is the document for references.
inline std::string breach_of(const nlohmann::json& schema, const nlohmann::json& value,
                             const nlohmann::json& root, const std::string& at = "") {
  using nlohmann::json;
  const auto is_type = [&](const std::string& type) {
    return (type == "object" && value.is_object()) || (type == "array" && value.is_array()) ||
           (type == "string" && value.is_string()) || (type == "number" && value.is_number()) ||
           (type == "integer" && value.is_number_integer()) || (type == "boolean" && value.is_boolean()) ||
           (type == "null" && value.is_null());
  };
  if (schema.contains("$ref")) {
    const std::string ref = schema["$ref"];
    return breach_of(root.at(json::json_pointer(ref.substr(1))), value, root, at);
  }
  if (schema.contains("anyOf")) {
    std::string all;
    for (const json& one : schema["anyOf"]) {
      const std::string why = breach_of(one, value, root, at);
      if (why.empty()) return {};
      all += why + "; ";
    }
    return all;
  }
  if (schema.contains("type") && !is_type(schema["type"]))
    return at + ": not of type " + schema["type"].dump();
  if (schema.contains("const") && value != schema["const"]) return at + ": not " + schema["const"].dump();
  if (schema.contains("enum")) {
    bool is_in = false;
    for (const json& one : schema["enum"]) is_in = is_in || one == value;
    if (!is_in) return at + ": not one of " + schema["enum"].dump();
  }
  if (value.is_string() && schema.contains("pattern")) {
    // The way of matching that needs no more stack for longer texts: sound can be megabytes of base64.
    const std::regex pattern(schema["pattern"].get<std::string>(),
                             std::regex::ECMAScript | std::regex_constants::__polynomial);
    if (!std::regex_search(value.get<std::string>(), pattern))
      return at + ": " + value.dump() + " does not match";
  }
  if (value.is_number()) {
    if (schema.contains("minimum") && value < schema["minimum"]) return at + ": too small";
    if (schema.contains("maximum") && value > schema["maximum"]) return at + ": too large";
  }
  if (value.is_array()) {
    if (schema.contains("minItems") && value.size() < schema["minItems"]) return at + ": too few";
    if (schema.contains("maxItems") && value.size() > schema["maxItems"]) return at + ": too many";
    for (size_t i = 0; schema.contains("items") && i < value.size(); ++i) {
      const std::string why = breach_of(schema["items"], value[i], root, at + "/" + std::to_string(i));
      if (!why.empty()) return why;
    }
  }
  if (!value.is_object()) return {};
  for (const json& name : schema.value("required", json::array())) {
    if (!value.contains(name.get<std::string>())) return at + ": no " + name.get<std::string>();
  }
  const json properties = schema.value("properties", json::object());
  for (const auto& [name, member] : value.items()) {
    if (properties.contains(name)) {
      const std::string why = breach_of(properties[name], member, root, at + "/" + name);
      if (!why.empty()) return why;
    } else if (schema.contains("additionalProperties") && schema["additionalProperties"] == false) {
      return at + ": " + name + " has no place there";
    }
  }
  return {};
}

}  // namespace parlance::test
