#include "kernels/between_attentions.h"

#include <cassert>

#include "kernels/ops.h"
#include "kernels/submit.h"

namespace parlance {

namespace {

const Cell<BetweenAttentionsArgs>* cell_of(const Stream& s, const BetweenAttentionsArgs& args) {
  const auto* const joiner = dynamic_cast<const JoinsLayers*>(&s.device());
  return joiner ? joiner->between_attentions(args) : nullptr;
}

void take_next(BetweenAttentionsArgs& args, std::initializer_list<const Linear*> next) {
  args.next.x = args.h;
  for (const Linear* w : next) args.next.w[static_cast<size_t>(args.next.n_outputs++)] = *w;
}

}  // namespace

bool joins_layers(const Stream& s, const BetweenAttentionsArgs& args,
                  std::initializer_list<const Linear*> next) {
  BetweenAttentionsArgs all = args;
  take_next(all, next);
  return cell_of(s, all) != nullptr;
}

void between_attentions(Stream& s, BetweenAttentionsArgs args, std::initializer_list<const Linear*> next,
                        const Products& products) {
  take_next(args, next);
  args.next.out = products.out;
  const Frame frame(s);
  args.gates = s.workspace().allocate(DType::f32, args.gate.weight.n_rows(), args.h.n_rows());
  const Cell<BetweenAttentionsArgs>* const cell = cell_of(s, args);
  assert(cell);
  submit(s, *cell, args, "", args.gate.weight.name);
}

}  // namespace parlance
