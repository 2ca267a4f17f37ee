// Variables of one scope: of the template, of an iteration of a loop, of a call of a macro.
#pragma once

#include <map>
#include <memory>
#include <string_view>
#include <utility>

#include "jinja/value.h"

namespace parlance::jinja {

class Frame {
 public:
  explicit Frame(std::shared_ptr<Frame> parent) : parent_(std::move(parent)) {}

  // The value of a name here or in an enclosing scope; null when there is none.
  const Value* find(std::string_view name) const {
    for (const Frame* frame = this; frame; frame = frame->parent_.get()) {
      if (const auto found = frame->variables_.find(name); found != frame->variables_.end())
        return &found->second;
    }
    return nullptr;
  }
  // `name` belongs to the template, which outlives every frame.
  void set(std::string_view name, Value value) { variables_.insert_or_assign(name, std::move(value)); }
  void clear() { variables_.clear(); }

  bool is_kept = false;  // by the Context, until the end of the rendering

 private:
  std::map<std::string_view, Value> variables_;
  std::shared_ptr<Frame> parent_;
};

}  // namespace parlance::jinja
