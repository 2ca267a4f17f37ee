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

void visit_between(Stream& s, const Batch& batch, const Wants& wants, int64_t layer, const Tensor& h,
                   const Tensor& x, const Tensor& next_norm, float norm_eps) {
  visit(s, batch, wants, layer, h);
  for (const auto& [at_layer, at] : batch.added) {
    if (at_layer != layer) continue;
    const Frame frame(s);
    const int64_t n = at.rows.ne[1];
    copy(s, x.rows(at.first, n), rms_norm(s, h.rows(at.first, n), next_norm, norm_eps));
  }
}

Outputs leave_layers(Stream& s, const Batch& batch, const Wants& wants, int64_t last_layer,
                     const MlpWeights& w, const Tensor& h, const Tensor& x) {
  add(s, h, mlp(s, w, x));
  visit(s, batch, wants, last_layer, h);
  return {.h = h, .hidden = {}, .normed = {}, .logits = {}};
}

Outputs leave_model(Stream& s, const Batch& batch, const Wants& wants, int64_t last_layer,
                    const MlpWeights& w, const OutputWeights& output, const Tensor& h, const Tensor& x) {
  const bool is_visited = wants.taps_layer(last_layer) || batch.adds_behind(last_layer);
  if (is_visited) leave_layers(s, batch, wants, last_layer, w, h, x);
  if (!wants.rows) return {};

  Outputs out;
  out.hidden = get_rows(s, h, wants.rows);
  if (is_visited) {
    out.normed = rms_norm(s, out.hidden, output.norm, output.norm_eps);
  } else {
    out.normed = get_rows(s, x, wants.rows);
    add_rms_norm(s, out.hidden, mlp(s, w, out.normed), output.norm, output.norm_eps, out.normed);
  }
  if (wants.logits) out.logits = matmul(s, output.weight, out.normed);
  return out;
}

}  // namespace parlance
