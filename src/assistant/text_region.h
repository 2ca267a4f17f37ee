// The language model of an assistant: weights on their devices, and the memory of all its sequences.
#pragma once

#include <memory>
#include <string>

#include "assistant/choice.h"
#include "assistant/device_shelf.h"
#include "assistant/region_memory.h"
#include "assistant/remark.h"
#include "base/result.h"
#include "engine/session.h"
#include "engine/text_model.h"

namespace parlance {

// The model without memory for sequences.
struct TextWeights {
  MemoryReturn last;  // when all below has gone
  // `host` is the CPU, for layers that are not on the device; null when all are.
  std::shared_ptr<Device> device, host;
  std::unique_ptr<TextModel> model;
  SessionOptions options;  // as chosen, and as far as the model was trained for it
};

// Errors: no such file or device, a file that is no language model, memory.
Result<TextWeights> load_text_weights(const Choice& choice, DeviceShelf& devices, const OnRemark& on_remark);

class TextRegion {
 public:
  // Errors: also a context that does not fit. Where it does not fit with the drafter of the bundle, which
  // nobody named, it is made without, with a remark.
  static Result<std::shared_ptr<TextRegion>> load(const Choice& choice, DeviceShelf& devices,
                                                  const OnRemark& on_remark);

  const TextModel& model() const { return *weights_.model; }
  Device& device() const { return *weights_.device; }
  const std::shared_ptr<Context>& context() const { return context_; }
  RegionBytes bytes() const;  // with what drafts for the model

 private:
  TextRegion(TextWeights weights, size_t draft_weight_bytes, std::shared_ptr<Context> context)
      : weights_(std::move(weights)), draft_weight_bytes_(draft_weight_bytes), context_(std::move(context)) {}

  TextWeights weights_;
  size_t draft_weight_bytes_;  // of what drafts, beside them
  std::shared_ptr<Context> context_;
};

// A name for people: general.name of the file, else the file's own name.
std::string display_name(const TextModel& model);

}  // namespace parlance
