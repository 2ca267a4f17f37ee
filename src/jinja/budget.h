// What one rendering may spend: steps, bytes and nesting. Running out is remembered, so that deep helpers
// need no error path of their own: they end with some value, and the interpreter, which looks after every
// node, stops.
#pragma once

#include <cstddef>

#include "base/result.h"
#include "jinja/template.h"

namespace parlance::jinja {

class Budget {
 public:
  explicit Budget(const TemplateLimits& limits)
      : limits_(limits), steps_left_(limits.max_steps), bytes_left_(limits.max_output_bytes) {}
  Budget(const Budget&) = delete;
  Budget& operator=(const Budget&) = delete;

  // One step is one evaluated node, one element of a list, one KiB of text copied or searched, or 64 bytes of
  // text looked at character by character: some tens of nanoseconds each.
  void spend(size_t steps) {
    if (steps <= steps_left_) {
      steps_left_ -= steps;
    } else {
      exhaust(Cause::steps);
    }
  }
  void spend_on_bytes(size_t bytes) { spend(bytes / 1024); }
  void spend_on_characters(size_t bytes) { spend(bytes / 64); }

  // Takes room for values that are alive; false when there is none, and nothing is taken.
  bool reserve(size_t bytes) {
    spend_on_bytes(bytes);
    if (bytes <= bytes_left_) {
      bytes_left_ -= bytes;
      return true;
    }
    exhaust(Cause::bytes);
    return false;
  }
  void release(size_t bytes) { bytes_left_ += bytes; }

  // To be asked before a result that may be far larger than its operands is made.
  bool has_room(size_t bytes) {
    if (bytes > bytes_left_) exhaust(Cause::bytes);
    return !exhausted();
  }

  size_t max_output_bytes() const { return limits_.max_output_bytes; }
  size_t max_depth() const { return limits_.max_depth; }
  void exhaust_output() { exhaust(Cause::output); }
  void exhaust_depth() { exhaust(Cause::depth); }

  bool exhausted() const { return cause_ != Cause::none; }
  tl::unexpected<Error> error() const;

 private:
  enum class Cause { none, steps, bytes, output, depth };
  void exhaust(Cause cause) {
    if (cause_ == Cause::none) cause_ = cause;
  }

  const TemplateLimits limits_;
  size_t steps_left_;
  size_t bytes_left_;
  Cause cause_ = Cause::none;
};

// Bytes taken from a budget for as long as this lives. Constants of a template and the caller's variables are
// not charged: their budget is null.
class Charge {
 public:
  Charge() = default;
  Charge(Budget* budget, size_t bytes)
      : budget_(budget && budget->reserve(bytes) ? budget : nullptr), bytes_(bytes) {}
  Charge(const Charge&) = delete;
  Charge& operator=(const Charge&) = delete;
  ~Charge() {
    if (budget_) budget_->release(bytes_);
  }

 private:
  Budget* budget_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace parlance::jinja
