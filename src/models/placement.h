// Which layers of a model run on which device: consecutive parts. The first part embeds the tokens, the last
// one yields the logits; keys and values live where their layer does.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <vector>

#include "kernels/device.h"

namespace parlance {

struct ModelPart {
  Device* device = nullptr;
  int64_t first_layer = 0;
  int64_t end_layer = 0;  // one past the last

  int64_t n_layer() const { return end_layer - first_layer; }
};

// Layers of a part that are computed one after the other.
struct LayerRange {
  size_t part = 0;
  int64_t first_layer = 0;  // of the model's
  int64_t end_layer = 0;    // one past the last
};

class Placement {
 public:
  // Everything on one device.
  Placement(Device& device, int64_t n_layer) : parts_{{&device, 0, n_layer}} {}
  // The last `n_on_device` layers and the output on `device`, the others and the embedding on `host`.
  Placement(Device& device, Device& host, int64_t n_layer, int64_t n_on_device) {
    assert(0 <= n_on_device && n_on_device <= n_layer);
    const int64_t n_on_host = n_on_device > 0 ? n_layer - n_on_device : n_layer;
    if (n_on_host > 0) parts_.push_back({&host, 0, n_on_host});
    if (n_on_device > 0) parts_.push_back({&device, n_on_host, n_layer});
  }

  const std::vector<ModelPart>& parts() const { return parts_; }
  const ModelPart& first() const { return parts_.front(); }
  const ModelPart& last() const { return parts_.back(); }
  const ModelPart& part_of(int64_t layer) const {
    return *std::ranges::find_if(parts_, [&](const ModelPart& part) { return layer < part.end_layer; });
  }
  bool is_last(size_t part) const { return part + 1 == parts_.size(); }
  LayerRange layers_of(size_t part) const { return {part, parts_[part].first_layer, parts_[part].end_layer}; }
  // Whether the model's last layer is among them.
  bool is_end(const LayerRange& layers) const { return layers.end_layer == parts_.back().end_layer; }

 private:
  std::vector<ModelPart> parts_;
};

}  // namespace parlance
