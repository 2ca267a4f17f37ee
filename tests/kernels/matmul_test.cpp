// matmul of every type on every device and instruction set, against its definition in plain loops, and
// the definition against exact products of the decoded weights.
#include <cmath>
#include <random>

#include "base/half.h"
#include "kernels/support/devices.h"
#include "kernels/support/rounding_bounds.h"
#include "kernels/support/same_for_all_devices.h"
#include "kernels/support/weights.h"
#include "quant/block_format.h"

namespace parlance {
namespace {

using test::fill_normal, test::fill_weight, test::float_types, test::is_float, test::OwnedTensor;
using test::quantised_types, test::Random, test::WeightType;

// A device, and products on it.
class Machine {
 public:
  // What f16 weights meet when there are many tokens.
  enum class Tokens { as_they_are, integers, halves };

  explicit Machine(std::shared_ptr<Device> device, Tokens tokens = Tokens::as_they_are)
      : device_(std::move(device)), stream_(device_->make_stream()), tokens_(tokens) {}

  const Device& device() const { return *device_; }

  // Whether f16 weights and their activations become 16-bit integers, or the latter f16.
  Tokens tokens() const { return tokens_; }

  // Whether quantised weights and their activations become bf16.
  bool widens(DType dtype, int64_t n_tokens) const {
    return tokens_ == Tokens::integers && !is_float(dtype) && n_tokens > device_->most_alike_rows(dtype);
  }

  // The products [n_out, n_tokens] of several weights with the same x, all in host memory.
  std::vector<std::vector<float>> multiply(const std::vector<Linear>& linears, const Tensor& x) {
    MatmulArgs args;
    args.x = on_device(x);
    args.n_outputs = static_cast<int>(linears.size());
    std::vector<std::vector<float>> out(linears.size());
    for (size_t i = 0; i < linears.size(); ++i) {
      args.w[i].weight = on_device(linears[i].weight);
      if (linears[i].bias) args.w[i].bias = on_device(linears[i].bias);
      out[i].assign(static_cast<size_t>(linears[i].weight.n_rows() * x.n_rows()), std::nanf(""));
      Tensor poisoned;
      poisoned.ne = {linears[i].weight.n_rows(), x.n_rows(), 1, 1};
      poisoned.data = reinterpret_cast<std::byte*>(out[i].data());
      args.out[i] = on_device(poisoned);
    }
    const Cell<MatmulArgs>& cell = device_->ops().matmul[static_cast<size_t>(linears[0].weight.dtype)];
    Plan plan;
    if (cell.scratch) plan.scratch_bytes = cell.scratch(args, device_->n_threads());
    // On the CPU, scratch memory exactly as large as asked for; elsewhere a new stream each time would take
    // long.
    if (device_->name() == "cpu") stream_ = device_->make_stream();
    if (!stream_->reserve(plan)) throw std::runtime_error("no memory");
    cell.run(*stream_, args);
    for (size_t i = 0; i < linears.size(); ++i) {
      const auto done = stream_->download(std::as_writable_bytes(std::span(out[i])), args.out[i]);
      if (!done) throw std::runtime_error(done.error().message);
    }
    buffers_.clear();
    return out;
  }

 private:
  // A copy that ends where its memory ends and begins at the same odd place as in host memory, behind zeros.
  Tensor on_device(const Tensor& host) {
    const size_t offset = is_float(host.dtype) ? 0 : 2;
    auto buffer = device_->allocate(host.size() + offset);
    if (!buffer) throw std::runtime_error(buffer.error().message);
    std::vector<std::byte> bytes(offset + host.size());
    std::copy_n(host.data, host.size(), bytes.begin() + static_cast<std::ptrdiff_t>(offset));
    Tensor whole;
    whole.dtype = DType::i8;
    whole.ne[0] = static_cast<int64_t>(bytes.size());
    whole.buffer = buffer->get();
    whole.data = (*buffer)->base();
    stream_->upload(whole, bytes);
    Tensor tensor = host;
    tensor.buffer = whole.buffer;
    tensor.data = whole.data + offset;
    buffers_.push_back(*std::move(buffer));
    return tensor;
  }

  std::shared_ptr<Device> device_;
  std::vector<std::unique_ptr<Buffer>> buffers_;
  std::unique_ptr<Stream> stream_;
  Tokens tokens_;
};

Machine definition_machine() {
  return Machine(test::reference_device());
}

// Largest difference that sums in another order may have, relative to the size of their terms.
double tolerance(DType dtype) {
  return dtype == DType::bf16 ? 4e-3 : 3e-6;
}

// The size of what 16-bit integers are rounded from: of the products of the lengths of blocks of 64 values.
double length_of_blocks(const std::vector<float>& w, const float* x) {
  constexpr size_t kBlock = 64;
  double sum = 0;
  for (size_t first = 0; first < w.size(); first += kBlock) {
    double ww = 0, xx = 0;
    for (size_t i = first; i < std::min(first + kBlock, w.size()); ++i) {
      ww += static_cast<double>(w[i]) * w[i];
      xx += static_cast<double>(x[i]) * x[i];
    }
    sum += std::sqrt(ww * xx);
  }
  return sum;
}

// The integers of a block are no shorter than 32767, as a vector, and each of the 64 is off by half at most,
// all in one direction if the values are equal: a difference of sqrt(64) / 32767 of the lengths' product, for
// weights and activations together.
constexpr double kInt16Tolerance = 2.5e-4;

// Of each product, where CUDA takes a piece of a prompt. Quantised weights become f16, too: a step, a minimum
// and what they make of a code.
constexpr double kF16Tolerance = 0x1p-11, kF16BlockTolerance = 3 * kF16Tolerance;
constexpr int64_t kMostExactTokens = 64;

// The size of the terms of each product [n_out, n_tokens]: what rounding them in another order is relative
// to.
std::vector<double> sizes_of_terms(const Linear& linear, const Tensor& x) {
  const int64_t n_in = x.ne[0], n_out = linear.weight.n_rows();
  const bool is_of_floats = is_float(linear.weight.dtype);
  std::vector<double> sizes(static_cast<size_t>(n_out * x.n_rows()));
  std::vector<float> w(static_cast<size_t>(n_in));
  for (int64_t r = 0; r < n_out; ++r) {
    block_format(linear.weight.dtype).decode_row(linear.weight.row(r), w.data(), n_in);
    float largest = 0;
    for (const float value : w) largest = std::max(largest, std::fabs(value));
    for (int64_t t = 0; t < x.n_rows(); ++t) {
      double terms = 1e-6 + std::fabs(linear.bias ? linear.bias.as<float>()[r] : 0.0f);
      const float* const xs = x.as<float>() + t * n_in;
      for (int64_t i = 0; i < n_in; ++i)
        terms += std::fabs(xs[i]) * (is_of_floats ? std::fabs(w[static_cast<size_t>(i)]) : largest);
      sizes[static_cast<size_t>(t * n_out + r)] = terms;
    }
  }
  return sizes;
}

void expect_close(const Machine& machine, const Linear& linear, const Tensor& x,
                  const std::vector<float>& expected, const std::vector<double>& sizes,
                  const std::vector<float>& got, const std::string& what) {
  const int64_t n_in = x.ne[0], n_out = linear.weight.n_rows();
  const DType dtype = linear.weight.dtype;
  const bool is_in_integers = dtype == DType::f16 && machine.tokens() == Machine::Tokens::integers;
  const bool is_widened = machine.widens(dtype, x.n_rows());
  std::vector<float> w(static_cast<size_t>(n_in));
  for (int64_t r = 0; r < n_out; ++r) {
    if (is_in_integers || is_widened) block_format(dtype).decode_row(linear.weight.row(r), w.data(), n_in);
    for (int64_t t = 0; t < x.n_rows(); ++t) {
      const size_t at = static_cast<size_t>(t * n_out + r);
      double margin = tolerance(dtype) * sizes[at];
      if (is_in_integers) {
        margin += kInt16Tolerance * length_of_blocks(w, x.as<float>() + t * n_in);
      } else if (is_widened) {
        margin += test::bf16_beside_bytes(w.data(), x.as<float>() + t * n_in, n_in).most;
      } else if (machine.tokens() == Machine::Tokens::halves && x.n_rows() > kMostExactTokens) {
        margin += (dtype == DType::f16 ? kF16Tolerance
                   : is_float(dtype)   ? 0
                                       : kF16BlockTolerance) *
                  sizes[at];
      }
      ASSERT_NEAR(got[at], expected[at], margin) << what << " row " << r << " token " << t;
    }
  }
}

void expect_close(const Machine& machine, const Linear& linear, const Tensor& x,
                  const std::vector<float>& expected, const std::vector<float>& got,
                  const std::string& what) {
  expect_close(machine, linear, x, expected, sizes_of_terms(linear, x), got, what);
}

// One test for each device and instruction set of this machine.
class Matmul : public testing::TestWithParam<size_t> {
 protected:
  static Machine tested() {
    const test::DeviceCase& device = test::device_cases()[GetParam()];
    return Machine(test::device_of(device), device.name.starts_with("cpu_avx512") ? Machine::Tokens::integers
                                            : device.name.starts_with("cuda")     ? Machine::Tokens::halves
                                                                              : Machine::Tokens::as_they_are);
  }

  // The device as it is, and, where that may take many tokens otherwise than few, so that it does not.
  static std::vector<Machine> tested_in_all_modes() {
    std::vector<Machine> machines;
    machines.push_back(tested());
    if (machines.front().tokens() == Machine::Tokens::integers) {
      const std::string isa = test::device_cases()[GetParam()].name.substr(std::strlen("cpu_"));
      machines.emplace_back(*make_cpu_device({.n_threads = 3, .isa = isa, .deterministic = true}));
    }
    return machines;
  }
};

std::string case_name(DType dtype, int64_t n_in, int64_t n_out, int64_t n_tokens) {
  return fmt::format("{} [{}, {}] times {} tokens:", name_of(dtype), n_in, n_out, n_tokens);
}

// A product and what the definition makes of it.
struct Product {
  std::shared_ptr<const OwnedTensor> weight, bias;
  std::unique_ptr<const OwnedTensor> x;
  Linear linear;
  std::vector<float> expected;
  std::vector<double> sizes;
};

std::vector<Product> products_of(Random& random, const WeightType& type, const std::vector<int64_t>& n_ins,
                                 const std::vector<int64_t>& n_outs,
                                 const std::vector<int64_t>& n_tokens_list) {
  Machine definition = definition_machine();
  std::vector<Product> products;
  for (const int64_t n_in : n_ins) {
    for (const int64_t n_out : n_outs) {
      const auto weight = std::make_shared<OwnedTensor>(type.dtype, n_in, n_out);
      const auto bias = std::make_shared<OwnedTensor>(DType::f32, n_out, 1);
      fill_weight(random, type, weight->tensor);
      fill_normal(random, bias->tensor);
      for (const int64_t n_tokens : n_tokens_list) {
        auto x = std::make_unique<OwnedTensor>(DType::f32, n_in, n_tokens);
        fill_normal(random, x->tensor);
        const Linear linear{weight->tensor, n_tokens % 2 == 0 ? bias->tensor : Tensor{}};
        auto expected = definition.multiply({linear}, x->tensor)[0];
        auto sizes = sizes_of_terms(linear, x->tensor);
        products.push_back({weight, bias, std::move(x), linear, std::move(expected), std::move(sizes)});
      }
    }
  }
  return products;
}

void compare_shapes(Machine& machine, const WeightType& type, const std::vector<int64_t>& n_ins,
                    const std::vector<int64_t>& n_outs, const std::vector<int64_t>& n_tokens_list) {
  Random random(17);
  const std::string what = fmt::format("{} [{}, {}] times{}", name_of(type.dtype), test::listed(n_ins),
                                       test::listed(n_outs), test::listed(n_tokens_list));
  const auto& products = test::same_for_all_devices(
      random, what, [&] { return products_of(random, type, n_ins, n_outs, n_tokens_list); });
  for (const Product& product : products) {
    const Tensor& x = product.x->tensor;
    const auto got = machine.multiply({product.linear}, x);
    expect_close(machine, product.linear, x, product.expected, product.sizes, got[0],
                 case_name(type.dtype, x.ne[0], product.linear.weight.n_rows(), x.n_rows()));
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST_P(Matmul, AgreesWithTheDefinitionOnQuantisedWeights) {
  Machine machine = tested();
  for (const WeightType& type : quantised_types()) {
    const int64_t block = traits(type.dtype).block_elements;
    compare_shapes(machine, type, {block, 3 * block, 7 * block}, {1, 15, 16, 17, 33},
                   {0, 1, 2, 3, 4, 5, 7, 8, 13, 16, 17, 33});
    if (HasFatalFailure()) return;
  }
}

TEST_P(Matmul, AgreesWithTheDefinitionOnFloatWeights) {
  Machine machine = tested();
  for (const WeightType& type : float_types()) {
    compare_shapes(machine, type, {1, 2, 15, 16, 72, 257}, {1, 15, 16, 17, 33},
                   {0, 1, 2, 3, 4, 5, 7, 8, 13, 16, 17, 33});
    if (HasFatalFailure()) return;
  }
}

TEST_P(Matmul, AgreesWithTheDefinitionOnTheShapesOfModels) {
  Machine machine = tested();
  for (const auto* types : {&quantised_types(), &float_types()}) {
    for (const WeightType& type : *types) {
      compare_shapes(machine, type, {1024}, {256}, {1, 19});
      if (HasFatalFailure()) return;
    }
  }
}

// Rows longer than what is unpacked at once.
TEST_P(Matmul, AgreesWithTheDefinitionOnLongRows) {
  Machine machine = tested();
  for (const auto* types : {&quantised_types(), &float_types()}) {
    for (const WeightType& type : *types) {
      if (!test::meets_in_long_rows(machine.device(), type.dtype)) continue;
      compare_shapes(machine, type, {9472}, {35}, {1, 2, 9, 17});
      if (HasFatalFailure()) return;
    }
  }
}

// The squares of all differences, as a part of those of the results, that is taken for rounding: of all but
// bf16 and what is rounded to that, far more than rounding makes and far less than a product makes that is
// left out or taken twice. Otherwise those roundings may be twice as large as independent ones would be.
double largest_error(const Machine& machine, const Linear& linear, const Tensor& x, double size) {
  const DType dtype = linear.weight.dtype;
  if (!machine.widens(dtype, x.n_rows())) return size * std::pow(dtype == DType::bf16 ? 4e-3 : 1e-3, 2);
  const int64_t n_in = x.ne[0];
  std::vector<float> w(static_cast<size_t>(n_in));
  double variance = 0;
  for (int64_t r = 0; r < linear.weight.n_rows(); ++r) {
    block_format(dtype).decode_row(linear.weight.row(r), w.data(), n_in);
    for (int64_t t = 0; t < x.n_rows(); ++t)
      variance += test::bf16_beside_bytes(w.data(), x.as<float>() + t * n_in, n_in).variance;
  }
  return 4 * variance;
}

// More tokens than are computed as one is: a piece of a prompt. That no product is left out or taken twice
// shows in the size of all differences, against that of the results.
TEST_P(Matmul, AgreesWithTheDefinitionOnPiecesOfPrompts) {
  std::vector<Machine> machines = tested_in_all_modes();
  Machine definition = definition_machine();
  struct Shape {
    int64_t n_blocks, n_out, n_tokens;
  };
  std::vector<Shape> shapes = {{1, 33, 65}, {2, 20, 129}};
  if (machines.front().tokens() == Machine::Tokens::halves) {
    for (const Shape& shape : {Shape{4, 300, 200},
                               {5, 128, 256},
                               {7, 257, 300},
                               {13, 40, 520},
                               {37, 8, 70},
                               {3, 140, 800},
                               {57, 140, 1100}})
      shapes.push_back(shape);
  }
  Random random(43);
  for (const auto* types : {&quantised_types(), &float_types()}) {
    for (const WeightType& type : *types) {
      for (const Shape& shape : shapes) {
        if (shape.n_tokens > 1000 && !is_float(type.dtype)) continue;
        const int64_t n_in = shape.n_blocks * (is_float(type.dtype) ? 72 : traits(type.dtype).block_elements);
        OwnedTensor weight(type.dtype, n_in, shape.n_out), bias(DType::f32, shape.n_out, 1);
        OwnedTensor x(DType::f32, n_in, shape.n_tokens);
        fill_weight(random, type, weight.tensor);
        fill_normal(random, bias.tensor);
        fill_normal(random, x.tensor);
        const Linear linear{weight.tensor, shape.n_tokens % 2 == 0 ? bias.tensor : Tensor{}};
        const auto expected = definition.multiply({linear}, x.tensor)[0];
        const std::string what = case_name(type.dtype, n_in, shape.n_out, shape.n_tokens);
        for (Machine& machine : machines) {
          const auto got = machine.multiply({linear}, x.tensor)[0];
          expect_close(machine, linear, x.tensor, expected, got, what);
          double error = 0, size = 0;
          for (size_t i = 0; i < got.size(); ++i) {
            error += std::pow(static_cast<double>(got[i]) - expected[i], 2);
            size += std::pow(static_cast<double>(expected[i]), 2);
          }
          EXPECT_LT(error, largest_error(machine, linear, x.tensor, size)) << what;
          if (HasFailure()) return;
        }
      }
    }
  }
}

// Integer sums must neither wrap nor saturate where every code and every activation is as large as it gets.
TEST_P(Matmul, StaysExactAtTheExtremes) {
  Machine definition = definition_machine(), machine = tested();
  for (const WeightType& type : quantised_types()) {
    for (const int fill : {0x00, 0xff, 0x7f, 0x80, 0xf0, 0x0f}) {
      for (const int64_t n_tokens : {1, 2, 6, 9}) {
        for (const float sign : {1.0f, -1.0f}) {
          OwnedTensor weight(type.dtype, 512, 18), x(DType::f32, 512, n_tokens);
          std::memset(weight.tensor.data, fill, weight.tensor.size());
          const f16_bits step = f16_from_f32(0.25f);
          for (size_t block = 0; block < weight.tensor.size(); block += traits(type.dtype).block_bytes) {
            for (const size_t at : type.halves)
              std::memcpy(weight.tensor.data + block + at, &step, sizeof(step));
          }
          std::fill_n(x.tensor.as<float>(), x.tensor.n_elements(), sign);
          const Linear linear{weight.tensor, {}};
          expect_close(
              machine, linear, x.tensor, definition.multiply({linear}, x.tensor)[0],
              machine.multiply({linear}, x.tensor)[0],
              fmt::format("bytes {:#x}, x {}, {}", fill, sign, case_name(type.dtype, 512, 18, n_tokens)));
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST_P(Matmul, MultipliesAGroupOfDifferentTypesAndHeights) {
  Machine definition = definition_machine(), machine = tested();
  Random random(23);
  const auto check = [&](const std::vector<WeightType>& types, int64_t n_in) {
    for (size_t first = 0; first + 4 <= types.size() + 3; ++first) {
      std::vector<std::unique_ptr<OwnedTensor>> owned;
      std::vector<Linear> linears;
      for (size_t i = 0; i < 4; ++i) {
        const WeightType& type = types[(first + i) % types.size()];
        const int64_t n_out = std::array{40, 1, 95, 200}[i];
        owned.push_back(std::make_unique<OwnedTensor>(type.dtype, n_in, n_out));
        fill_weight(random, type, owned.back()->tensor);
        linears.push_back({owned.back()->tensor, {}});
        if (i % 2 == 0) continue;
        owned.push_back(std::make_unique<OwnedTensor>(DType::f32, n_out, 1));
        fill_normal(random, owned.back()->tensor);
        linears.back().bias = owned.back()->tensor;
      }
      for (const int64_t n_tokens : {1, 3, 8, 40}) {
        OwnedTensor x(DType::f32, n_in, n_tokens);
        fill_normal(random, x.tensor);
        const auto expected = definition.multiply(linears, x.tensor);
        const auto got = machine.multiply(linears, x.tensor);
        for (size_t i = 0; i < linears.size(); ++i) {
          expect_close(machine, linears[i], x.tensor, expected[i], got[i],
                       fmt::format("output {} {}", i, case_name(linears[i].weight.dtype, n_in, 0, n_tokens)));
          if (testing::Test::HasFatalFailure()) return;
        }
      }
    }
  };
  check(quantised_types(), 512);
  check(float_types(), 100);
}

// Zeros, denormals and values of very different sizes beside each other.
TEST_P(Matmul, RoundsUnusualActivationsAsTheDefinitionDoes) {
  Machine definition = definition_machine(), machine = tested();
  Random random(29);
  for (const WeightType& type : quantised_types()) {
    OwnedTensor weight(type.dtype, 512, 16);
    fill_weight(random, type, weight.tensor);
    for (const int64_t n_tokens : {1, 6}) {
      OwnedTensor x(DType::f32, 512, n_tokens);
      for (const float scale : {0.0f, 1e-42f, 1e-35f, 1e-29f, 1e20f}) {
        fill_normal(random, x.tensor, scale == 0 ? 1 : scale);
        if (scale == 0) std::fill_n(x.tensor.as<float>(), x.tensor.n_elements(), 0.0f);
        x.tensor.as<float>()[40] = scale * 1000;
        const Linear linear{weight.tensor, {}};
        expect_close(machine, linear, x.tensor, definition.multiply({linear}, x.tensor)[0],
                     machine.multiply({linear}, x.tensor)[0],
                     fmt::format("scale {}, {}", scale, case_name(type.dtype, 512, 16, n_tokens)));
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Where products are scaled by blocks: zeros, values of very different sizes beside each other, weights and
// activations that all point the same way, so that sums are as large as they get, and an odd end.
TEST_P(Matmul, KeepsUnusualValuesOfFloatWeights) {
  Machine definition = definition_machine(), machine = tested();
  Random random(37);
  for (const WeightType& type : float_types()) {
    OwnedTensor weight(type.dtype, 321, 16), x(DType::f32, 321, 18);
    for (const float scale : {0.0f, 1e-42f, 1e-35f, 1e-29f, 1.0f, 1e20f, 1e30f}) {
      for (const bool is_aligned : {false, true}) {
        fill_weight(random, type, weight.tensor);
        fill_normal(random, x.tensor, scale == 0 ? 1 : scale);
        std::vector<float> row(321, 1.0f);
        row[70] = is_aligned ? 1.0f : 60000.0f;
        block_format(type.dtype).encode_row(row.data(), weight.tensor.data, 321);
        if (is_aligned) std::fill_n(x.tensor.as<float>(), x.tensor.n_elements(), -scale);
        if (scale == 0) std::fill_n(x.tensor.as<float>(), x.tensor.n_elements(), 0.0f);
        if (!is_aligned) x.tensor.as<float>()[40] = scale * 1000;
        const Linear linear{weight.tensor, {}};
        expect_close(machine, linear, x.tensor, definition.multiply({linear}, x.tensor)[0],
                     machine.multiply({linear}, x.tensor)[0],
                     fmt::format("scale {}, {}", scale, case_name(type.dtype, 321, 16, 18)));
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_P(Matmul, ShowsWhatIsNotFinite) {
  Machine machine = tested();
  Random random(41);
  const auto expect_shown = [&](const WeightType& type, float value, int64_t n_in, int64_t n_tokens) {
    const int64_t token = n_tokens / 6;
    OwnedTensor weight(type.dtype, n_in, 16), x(DType::f32, n_in, n_tokens);
    fill_weight(random, type, weight.tensor);
    fill_normal(random, x.tensor);
    x.tensor.as<float>()[token * n_in + 130] = value;
    const auto out = machine.multiply({Linear{weight.tensor, {}}}, x.tensor)[0];
    for (size_t at = 0; at < out.size(); ++at) {
      ASSERT_EQ(std::isfinite(out[at]), at / 16 != static_cast<size_t>(token))
          << name_of(type.dtype) << " " << value << ", " << n_tokens << " tokens";
    }
  };
  for (const float value : {std::nanf(""), HUGE_VALF, -HUGE_VALF}) {
    for (const WeightType& type : float_types()) expect_shown(type, value, 200, 18);
    for (const WeightType& type : quantised_types()) {
      for (const int64_t n_tokens : {1, 18, 130}) expect_shown(type, value, 768, n_tokens);
    }
  }
}

PARLANCE_FOR_EACH_DEVICE(Matmul);

// What rounding activations to bytes costs: about half a percent of a product of random numbers.
TEST(MatmulDefinition, RoundedActivationsStayWithinTheirBudget) {
  Machine definition = definition_machine();
  Random random(31);
  for (const WeightType& type : quantised_types()) {
    OwnedTensor weight(type.dtype, 1024, 64), x(DType::f32, 1024, 4);
    fill_weight(random, type, weight.tensor);
    fill_normal(random, x.tensor);
    const auto got = definition.multiply({Linear{weight.tensor, {}}}, x.tensor)[0];
    std::vector<float> w(1024);
    double error = 0, size = 0;
    for (int64_t r = 0; r < 64; ++r) {
      block_format(type.dtype).decode_row(weight.tensor.row(r), w.data(), 1024);
      for (int64_t t = 0; t < 4; ++t) {
        double exact = 0;
        for (int64_t i = 0; i < 1024; ++i)
          exact += static_cast<double>(w[static_cast<size_t>(i)]) * x.tensor.as<float>()[t * 1024 + i];
        const double difference = got[static_cast<size_t>(t * 64 + r)] - exact;
        error += difference * difference;
        size += exact * exact;
      }
    }
    EXPECT_LT(std::sqrt(error / size), 0.01) << name_of(type.dtype);
    EXPECT_GT(error, 0) << name_of(type.dtype) << ": activations were not rounded";
  }
}

}  // namespace
}  // namespace parlance
