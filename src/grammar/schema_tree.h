// A JSON schema as it was written: values by number, so that parts are named without copying them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "json/json.h"

namespace parlance {

class SchemaTree {
 public:
  using Id = uint32_t;
  enum class Kind : uint8_t { null, boolean, number, string, array, object };
  struct Value {
    Kind kind = Kind::null;
    bool truth = false;
    std::string text;  // of a string; a number as it is written
    std::vector<Id> elements;
    std::vector<std::pair<std::string, Id>> members;  // in their order
  };

  // Errors: as of Json::parse().
  static Result<SchemaTree> parse(std::string_view text);

  const Value& operator[](Id id) const { return values_[id]; }
  Id root() const { return root_; }
  std::optional<Id> member(Id object, std::string_view key) const;
  // By "#", "#/$defs/node", …; none where there is nothing.
  std::optional<Id> find(std::string_view pointer) const;

 private:
  Id add(const Json& json);

  std::vector<Value> values_;
  Id root_ = 0;
};

// The pointer with one more step, escaped.
std::string pointer_to(const std::string& pointer, std::string_view step);

}  // namespace parlance
