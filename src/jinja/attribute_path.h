// What filters take as `attribute=`: a name, an index, or several with dots between them.
#pragma once

#include <vector>

#include "jinja/context.h"
#include "jinja/value.h"

namespace parlance::jinja {

class AttributePath {
 public:
  AttributePath() = default;  // the item itself
  // `attribute`: a string or an integer; null or none: the item itself.
  static Result<AttributePath> parse(Context& context, const Value* attribute);
  // A missing part is `fallback`, or undefined where that is null.
  Result<Value> get(Context& context, const Value& item, const Value* fallback = nullptr) const;

 private:
  std::vector<Value> parts_;
};

// Strings in lower case, other values as they are: what filters compare by unless told to mind the case.
Value without_case(Context& context, const Value& value, bool case_sensitive);

}  // namespace parlance::jinja
