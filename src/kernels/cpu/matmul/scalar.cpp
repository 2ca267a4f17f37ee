#include "kernels/cpu/matmul/scalar.h"

#include "kernels/cpu/cpu_stream.h"
#include "kernels/cpu/matmul/activations.h"
#include "quant/block_format.h"

namespace parlance::matmul {

namespace {

// x as the product sees it [n_in, n_tokens].
void round_rows(const MatmulArgs& args, float* rounded) {
  const float* x = args.x.as<float>();
  for (int64_t i = 0; i < args.x.n_elements(); i += kRun) {
    int8_t codes[kRun];
    const float step = quantise_run(x + i, codes);
    for (int64_t j = 0; j < kRun; ++j) rounded[i + j] = step * codes[j];
  }
}

double dot(const float* a, const float* b, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += static_cast<double>(a[i]) * b[i];
  return sum;
}

// Row r of one weight times every token; w is room for n_in values.
void multiply_row(const Linear& linear, const float* x, const Tensor& out, int64_t r, float* w) {
  const int64_t n_in = linear.weight.ne[0];
  const int64_t n_out = linear.weight.n_rows();
  block_format(linear.weight.dtype).decode_row(linear.weight.row(r), w, n_in);
  const double bias = linear.bias ? linear.bias.as<float>()[r] : 0;
  for (int64_t t = 0; t < out.n_rows(); ++t) {
    out.as<float>()[t * n_out + r] = static_cast<float>(dot(w, x + t * n_in, n_in) + bias);
  }
}

// `rows`: n_threads times room for a decoded row.
void multiply(Stream& stream, const MatmulArgs& args, const float* x, float* rows) {
  const int64_t n_in = args.x.ne[0];
  for (int i = 0; i < args.n_outputs; ++i) {
    const auto task = [&](int64_t r, int thread) {
      multiply_row(args.w[i], x, args.out[i], r, rows + thread * n_in);
    };
    pool_of(stream).run(args.w[i].weight.n_rows(), task);
  }
}

void run_quantised(Stream& stream, const MatmulArgs& args) {
  auto* rounded = reinterpret_cast<float*>(stream.scratch().data());
  round_rows(args, rounded);
  multiply(stream, args, rounded, rounded + args.x.n_elements());
}

void run_float(Stream& stream, const MatmulArgs& args) {
  multiply(stream, args, args.x.as<float>(), reinterpret_cast<float*>(stream.scratch().data()));
}

size_t quantised_scratch(const MatmulArgs& args, int n_threads) {
  return static_cast<size_t>(args.x.n_elements() + n_threads * args.x.ne[0]) * sizeof(float);
}

size_t float_scratch(const MatmulArgs& args, int n_threads) {
  return static_cast<size_t>(n_threads * args.x.ne[0]) * sizeof(float);
}

}  // namespace

Cell<MatmulArgs> scalar_quantised() {
  return {run_quantised, quantised_scratch};
}
Cell<MatmulArgs> scalar_float() {
  return {run_float, float_scratch};
}

}  // namespace parlance::matmul
