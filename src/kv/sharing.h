// With whom a text shares what is computed of it.
#pragma once

#include <cstdint>

#include "kv/prefix_key.h"

namespace parlance {

// What is forgotten first when memory is short. Above them all is what a Pin protects.
enum class PrefixClass : uint8_t { background, short_lived, conversation };

struct Sharing {
  // Texts of different spaces share nothing, as if their tokens differed: what one has computed cannot be
  // told from how fast the other is.
  ContentHash space = {};
  PrefixClass prefix_class = PrefixClass::conversation;
  bool is_off = false;  // what is known is not used, and nothing is remembered

  bool operator==(const Sharing&) const = default;
};

}  // namespace parlance
