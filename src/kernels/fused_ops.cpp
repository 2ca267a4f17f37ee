#include "kernels/fused_ops.h"

#include <algorithm>
#include <cassert>

#include "kernels/fused_mlp.h"
#include "kernels/submit.h"

namespace parlance {

namespace {

const FusesRows* fuser_of(const Stream& s) {
  return dynamic_cast<const FusesRows*>(&s.device());
}

const Cell<FusedMatmulArgs>& cell_of(const Stream& s, const Linear& w) {
  return fuser_of(s)->fused_matmul(w.weight.dtype);
}

void take_weight(Stream& s, const Linear& w, FusedMatmulArgs& args) {
  if (Plan* plan = s.plan())
    plan->most_alike_rows = std::min(plan->most_alike_rows, s.device().most_alike_rows(w.weight.dtype));
  assert(w.weight.ne[0] == args.products.x.ne[0] && (!w.bias || w.bias.n_elements() == w.weight.n_rows()));
  args.products.w[static_cast<size_t>(args.products.n_outputs++)] = w;
}

void run(Stream& s, const FusedMatmulArgs& args) {
  const Tensor& weight = args.products.w[0].weight;
  submit(s, cell_of(s, args.products.w[0]), args,
         s.plan() ? fmt::format("matmul {}", name_of(weight.dtype)) : "", weight.name);
}

FusedMatmulArgs args_of(const Normed& x) {
  assert(x.x.dtype == DType::f32 && x.weight.n_elements() == x.x.ne[0]);
  FusedMatmulArgs args;
  args.products.x = x.x;
  args.norm = x.weight;
  args.norm_eps = x.eps;
  return args;
}

}  // namespace

bool fuses_rows(const Stream& s, int64_t n_rows, std::optional<DType> weights) {
  const FusesRows* const fuser = fuser_of(s);
  return fuser && fuser->fuses_rows(n_rows, weights);
}

Products matmul(Stream& s, std::initializer_list<const Linear*> weights, const Normed& x) {
  assert(fuses_rows(s, x.x.n_rows()) && weights.size() <= MatmulArgs::kMaxOutputs);
  Products products;
  size_t n_outputs = 0;
  for (const Linear* w : weights)
    products.out[n_outputs++] = s.workspace().allocate(DType::f32, w->weight.n_rows(), x.x.n_rows());
  // Neighbours whose types share a kernel go to it together.
  const auto* list = weights.begin();
  for (size_t i = 0; i < n_outputs;) {
    FusedMatmulArgs args = args_of(x);
    const auto* const first = list[i];
    do {
      args.products.out[static_cast<size_t>(args.products.n_outputs)] = products.out[i];
      take_weight(s, *list[i++], args);
    } while (i < n_outputs && cell_of(s, *list[i]).run == cell_of(s, *first).run);
    run(s, args);
  }
  return products;
}

void matmul_add(Stream& s, const Tensor& h, const Linear& w, const Tensor& x) {
  assert(fuses_rows(s, x.n_rows()) && h.ne[0] == w.weight.n_rows() && h.n_rows() == x.n_rows());
  FusedMatmulArgs args;
  args.products.x = x;
  args.products.out[0] = h;
  args.end = MatmulEnd::add;
  take_weight(s, w, args);
  run(s, args);
}

Tensor matmul_swiglu(Stream& s, const Linear& gate, const Linear& up, const Normed& x) {
  assert(fuses_rows(s, x.x.n_rows()) && gate.weight.n_rows() == up.weight.n_rows());
  if (cell_of(s, gate).run != cell_of(s, up).run) {
    const Products both = matmul(s, {&gate, &up}, x);
    return swiglu(s, both.out[0], both.out[1]);
  }
  FusedMatmulArgs args = args_of(x);
  args.end = MatmulEnd::gate;
  const Tensor out = s.workspace().allocate(DType::f32, gate.weight.n_rows(), x.x.n_rows());
  args.products.out[0] = out;
  take_weight(s, gate, args);
  take_weight(s, up, args);
  run(s, args);
  return out;
}

void mlp_add(Stream& s, const Tensor& h, const Linear& gate, const Linear& up, const Linear& down,
             const Tensor& norm, float eps) {
  const FusedMlpArgs args{h, gate, up, down, norm, eps};
  const auto* const fuser = dynamic_cast<const FusesMlps*>(&s.device());
  const Cell<FusedMlpArgs>* const cell = fuser ? fuser->fused_mlp(args) : nullptr;
  if (!cell) return matmul_add(s, h, down, matmul_swiglu(s, gate, up, Normed{h, norm, eps}));
  if (Plan* plan = s.plan()) {
    for (const Linear* w : {&gate, &down})
      plan->most_alike_rows = std::min(plan->most_alike_rows, s.device().most_alike_rows(w->weight.dtype));
  }
  submit(s, *cell, args, "", gate.weight.name);
}

Tensor attention(Stream& s, const Tensor& q, const Tensor& k, const Tensor& v, const HeadNorms& norms,
                 const Tensor& angles, RopeStyle style, const KvView& kv, const BatchView& batch,
                 float scale) {
  assert(fuses_rows(s, q.ne[2]) && !batch.copies && q.ne[0] == kv.head_dim_k && q.ne[1] % kv.n_head_kv == 0);
  const Tensor out = s.workspace().allocate(DType::f32, kv.head_dim_v, q.ne[1], q.ne[2]);
  const FusedAttentionArgs args{{q, norms.q, norms.k, norms.eps, angles, style, {kv, k, v, batch}},
                                {q, kv, batch, scale, out}};
  submit(s, fuser_of(s)->fused_attention(), args,
         s.plan() ? fmt::format("attention {} {}", name_of(kv.k.format), name_of(kv.v.format)) : "", "");
  return out.reshaped(kv.head_dim_v * q.ne[1], q.ne[2]);
}

}  // namespace parlance
