#include "engine/layer_split.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/checked.h"
#include "base/parameter.h"
#include "base/units.h"
#include "engine/session.h"
#include "kv/cache.h"
#include "models/tensor_names.h"

namespace parlance {

namespace {

// Left alone of a device's free memory: for the driver, recordings of steps, and other programs.
constexpr size_t kReserveBytes = size_t{256} << 20;

// Activations of a batch: what lives at once in a layer, quantised copies included, and the logits.
size_t workspace_bytes(const HyperParameters& hp, const SessionOptions& options, int64_t n_vocab) {
  const int64_t widest =
      std::max({hp.n_embd, hp.n_head * std::max(hp.head_dim_k, hp.head_dim_v), hp.delta_net.n_channel()});
  const int64_t per_token = 8 * widest + 4 * hp.n_ff;
  return static_cast<size_t>(options.n_batch * per_token + n_vocab) * sizeof(float);
}

}  // namespace

LayerMemory layer_memory(const GgufFile& file, const HyperParameters& hp, const SessionOptions& options) {
  std::vector<size_t> layers(static_cast<size_t>(hp.n_layer), 0);
  LayerMemory memory;
  int64_t n_vocab = 0;
  const bool is_tied = file.find_tensor("output.weight") == nullptr;
  for (const GgufTensor& tensor : file.tensors()) {
    const int64_t layer = layer_of(tensor.name);
    if (layer >= hp.n_layer) continue;  // predicts further tokens, not loaded
    if (layer >= 0) {
      layers[static_cast<size_t>(layer)] += tensor.bytes.size();
    } else if (tensor.name == "token_embd.weight" && !is_tied) {
      memory.embedding_bytes += tensor.bytes.size();
    } else {
      memory.fixed_bytes += tensor.bytes.size();
    }
    if (tensor.name == "token_embd.weight") n_vocab = tensor.ne[1];
  }
  const KvLayout kv = kv_layout(hp, options);
  size_t kv_bytes = 0;  // of a token, in the layer that takes most
  for (int64_t layer = 0; layer < kv.n_layer; ++layer) {
    kv_bytes = std::max(kv_bytes, kv.layer_bytes_per_token(kv.coding(layer)));
  }
  const auto n_ctx = static_cast<size_t>(
      align_up<int64_t>(options.n_ctx > 0 ? options.n_ctx : hp.n_ctx_train, kv.page_tokens));
  const RecurrentLayout recurrent = recurrent_layout(hp, 1, most_drafted(options));
  const size_t recurrent_bytes =
      static_cast<size_t>(options.n_seq + 1) * (recurrent.bytes() + recurrent.kept_bytes());
  for (size_t layer = 0; layer < layers.size(); ++layer) {
    layers[layer] += hp.layer_kinds[layer] == LayerKind::attention ? n_ctx * kv_bytes : recurrent_bytes;
  }
  memory.layer_bytes = *std::max_element(layers.begin(), layers.end());
  memory.fixed_bytes += workspace_bytes(hp, options, n_vocab);
  return memory;
}

Result<int64_t> choose_device_layers(const GgufFile& file, const HyperParameters& hp,
                                     const SessionOptions& options, const Device& device,
                                     std::optional<int64_t> wanted) {
  const LayerMemory memory = layer_memory(file, hp, options);
  const size_t free = device.memory().free;
  const size_t usable = free > kReserveBytes ? free - kReserveBytes : 0;
  int64_t n_fitting = hp.n_layer;
  while (n_fitting > 0 && memory.total(n_fitting, n_fitting == hp.n_layer) > usable) --n_fitting;

  const int64_t n = std::min(wanted.value_or(n_fitting), hp.n_layer);
  if (n <= n_fitting && (n > 0 || wanted)) return n;
  if (n_fitting == 0) {
    return fail(
        ErrorCode::out_of_memory,
        "{}: one layer with its context needs {:.2f} GiB on {}, which has {:.2f} GiB free; use a smaller "
        "{}, {} or model, or {}",
        file.name(), gib(memory.total(1, hp.n_layer == 1)), device.name(), gib(free), Parameter::ctx_size,
        Parameter::batch_size, set_to(Parameter::device, "cpu"));
  }
  return fail(ErrorCode::out_of_memory,
              "{}: {} layers with their context need {:.2f} GiB on {}, which has {:.2f} GiB free; use {} or "
              "less, or a smaller {}",
              file.name(), n, gib(memory.total(n, n == hp.n_layer)), device.name(), gib(free),
              set_to(Parameter::gpu_layers, n_fitting), Parameter::ctx_size);
}

}  // namespace parlance
