#include "models/layers/output.h"

namespace parlance {

namespace {

// What others do to the residual stream behind a layer: rows are added, then taps look.
void visit(Stream& s, const Batch& batch, const Wants& wants, int64_t layer, const Tensor& h) {
  for (const auto& [at_layer, at] : batch.added) {
    if (at_layer == layer) add(s, h.rows(at.first, at.rows.ne[1]), at.rows);
  }
  for (const Tap& tap : wants.taps) {
    if (tap.layer != layer) continue;
    const Frame frame(s);
    tap.visit(s, h);
  }
}

}  // namespace

void visit_between(Stream& s, const Batch& batch, const Wants& wants, int64_t layer,
                   const ResidualStream& stream) {
  visit(s, batch, wants, layer, stream.h());
  for (const auto& [at_layer, at] : batch.added) {
    if (at_layer == layer) stream.renew(s, at.first, at.rows.ne[1]);
  }
}

Outputs leave_layers(Stream& s, const Batch& batch, const Wants& wants, int64_t last_layer,
                     const MlpWeights& w, const ResidualStream& stream) {
  stream.add(s, w.down, stream.gated(s, w));
  visit(s, batch, wants, last_layer, stream.h());
  return {.h = stream.h(), .hidden = {}, .logits = {}, .normed = {}};
}

Outputs leave_model(Stream& s, const Batch& batch, const Wants& wants, int64_t last_layer,
                    const MlpWeights& w, const OutputWeights& output, const ResidualStream& stream) {
  const bool is_visited = wants.taps_layer(last_layer) || batch.adds_behind(last_layer);
  if (is_visited) leave_layers(s, batch, wants, last_layer, w, stream);
  if (!wants.rows) return {};

  ResidualStream last =
      is_visited ? stream.of_rows(s, wants.rows, output.norm) : stream.of_rows(s, wants.rows);
  if (!is_visited) last.add(s, w.down, last.gated(s, w), output.norm);
  Outputs out;
  out.hidden = last.h();
  if (wants.logits) {
    out.logits = last.product(s, output.weight);
  } else {
    out.normed = last.normed(s);
  }
  return out;
}

}  // namespace parlance
