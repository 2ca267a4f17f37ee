#include "assistant/batch_size.h"

#include "engine/layer_split.h"
#include "kernels/large_batches.h"

namespace parlance {

int64_t batch_size(const Choice& choice, const GgufFile& file, const HyperParameters& hp,
                   const SessionOptions& planned, const Device& device) {
  if (choice.n_batch) return *choice.n_batch;
  const int64_t usual = choice.context.n_batch;
  const auto* const large = dynamic_cast<const TakesLargeBatches*>(&device);
  // Each sequence has exact pages for a whole batch.
  if (!large || large->best_batch() <= usual || planned.cache.has_exact_pages()) return usual;
  if (choice.devices.n_gpu_layers.value_or(hp.n_layer) < hp.n_layer) return usual;
  SessionOptions with_room = planned;
  with_room.n_batch = 2 * large->best_batch();
  const auto n = choose_device_layers(file, hp, with_room, device, {});
  return n && *n == hp.n_layer ? large->best_batch() : usual;
}

}  // namespace parlance
