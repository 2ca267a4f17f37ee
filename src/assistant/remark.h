// What is said about a choice that works.
#pragma once

#include <functional>
#include <string>

namespace parlance {

// Is told in one sentence what a person should know of a choice that works, but perhaps not as expected.
using OnRemark = std::function<void(const std::string&)>;

inline void remark(const OnRemark& on_remark, const std::string& text) {
  if (on_remark) on_remark(text);
}

}  // namespace parlance
