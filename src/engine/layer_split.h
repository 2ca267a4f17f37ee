// How many of a model's layers a device has room for.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "gguf/reader.h"
#include "kernels/device.h"
#include "models/hyper_parameters.h"
#include "quant/kv_format.h"

namespace parlance {

struct SessionOptions;

// Bytes that a model takes on a device.
struct LayerMemory {
  size_t layer_bytes = 0;      // one layer at most: its weights, and its keys and values or states
  size_t fixed_bytes = 0;      // with the first layer: output weights, activations of a batch
  size_t embedding_bytes = 0;  // with the last one, unless it is the output too

  size_t total(int64_t n_layer, bool has_all) const {
    return fixed_bytes + static_cast<size_t>(n_layer) * layer_bytes + (has_all ? embedding_bytes : 0);
  }
};

LayerMemory layer_memory(const GgufFile& file, const HyperParameters& hp, const SessionOptions& options);

// The number of layers for the device: `wanted` (--gpu-layers; more than there are means all), or as many as
// its free memory holds. An out_of_memory error says how many would fit when `wanted` do not, or not one
// does.
Result<int64_t> choose_device_layers(const GgufFile& file, const HyperParameters& hp,
                                     const SessionOptions& options, const Device& device,
                                     std::optional<int64_t> wanted);

}  // namespace parlance
