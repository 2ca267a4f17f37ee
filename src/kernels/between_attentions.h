// What lies between the attention of a layer and that of the next one, and that attention, too, where it is
// of segments, for devices that take many rows through it in one go: sums, norms, turns and roundings then
// share kernels.
#pragma once

#include <initializer_list>
#include <optional>

#include "kernels/op_table.h"

namespace parlance {

class Stream;
struct Products;

// h += o y; h += down swiglu(gate x, up x), where x is rms_norm(h, mlp_norm); then the products of
// rms_norm(h, next_norm), and what these see.
struct BetweenAttentionsArgs {
  Tensor h;  // f32 [n_embd, n_rows]
  Tensor y;
  Linear o;
  Tensor mlp_norm;
  Linear gate, up, down;
  Tensor next_norm;
  float norm_eps;
  Tensor gates;     // f32 [n_ff, n_rows]: room
  MatmulArgs next;  // of h
  // Whose q, k and v are the products in turn, of which nobody needs the values. Its result may be y.
  std::optional<SegmentAttentionArgs> attention = {};
};

// What such a device is beside a Device.
class JoinsLayers {
 public:
  virtual ~JoinsLayers() = default;
  // Null where that is for others than these.
  virtual const Cell<BetweenAttentionsArgs>* between_attentions(const BetweenAttentionsArgs& args) const = 0;
};

// Whether the device has that for these rows, weights and norms, and `next`.
bool joins_layers(const Stream& s, const BetweenAttentionsArgs& args,
                  std::initializer_list<const Linear*> next);

// With the bits of the operations that it stands for, into products whose values nobody needs any more.
void between_attentions(Stream& s, BetweenAttentionsArgs args, std::initializer_list<const Linear*> next,
                        const Products& products);

}  // namespace parlance
