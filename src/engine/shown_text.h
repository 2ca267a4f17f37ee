// From pieces of tokens to text that may be shown.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sampling/stop_matcher.h"
#include "tokenizer/tokenizer.h"

namespace parlance {

// Text comes as whole code points that begin no stop text.
class ShownText {
 public:
  explicit ShownText(const std::vector<std::string>& stop) : stop_(stop) {}

  std::string push(std::string_view piece) { return stop_.push(decoder_.push(piece)); }
  bool has_stopped() const { return stop_.matched(); }
  std::string finish() {
    std::string rest;
    if (!stop_.matched()) rest = stop_.push(decoder_.finish());
    return rest + stop_.finish();
  }

 private:
  StreamingDecoder decoder_;
  StopMatcher stop_;
};

}  // namespace parlance
