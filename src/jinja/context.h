// What builtins may use of the rendering that calls them.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "jinja/budget.h"
#include "jinja/frame.h"
#include "jinja/value.h"

namespace parlance::jinja {

class Context {
 public:
  Context(const TemplateLimits& limits, int64_t now_unix_seconds)
      : budget(limits), now_unix_s(now_unix_seconds) {}
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  // Namespaces, the frames of macros and loops that remember values can hold each other in circles and long
  // chains. They live until the end of the rendering, and are then emptied one by one.
  ~Context() {
    for (const auto& names : namespaces_) names->attributes.clear();
    for (const auto& loop : loops_) loop->last_changed.clear();
    for (const auto& frame : frames_) frame->clear();
  }

  Value make_namespace() {
    namespaces_.push_back(std::make_shared<Namespace>());
    budget.reserve(sizeof(Namespace) + kPerObject);
    return Value(Value::Data(namespaces_.back()));
  }
  void keep(const std::shared_ptr<Loop>& loop) {
    budget.reserve(sizeof(Loop) + kPerObject);
    loops_.push_back(loop);
  }
  void keep(const std::shared_ptr<Frame>& frame) {
    if (std::exchange(frame->is_kept, true)) return;
    budget.reserve(sizeof(Frame) + kPerObject);
    frames_.push_back(frame);
  }

  Budget budget;
  const int64_t now_unix_s;

 private:
  static constexpr size_t kPerObject = 128;
  std::vector<std::shared_ptr<Namespace>> namespaces_;
  std::vector<std::shared_ptr<Loop>> loops_;
  std::vector<std::shared_ptr<Frame>> frames_;
};

}  // namespace parlance::jinja
