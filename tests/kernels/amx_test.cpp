// AMX as an instruction set: its products are AVX-512's, bit for bit, or those of a twin in plain loops, and
// it is none where the system refuses.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdlib>

#include "base/half.h"
#include "base/os/environment.h"
#include "kernels/cpu/cpu_device.h"
#include "kernels/support/imported.h"
#include "kernels/support/multiply.h"
#include "kernels/support/weights.h"

#ifdef __linux__
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#endif

namespace parlance::test {
namespace {

bool has_amx() {
  const std::vector<Isa> isas = available_isas();
  return std::find(isas.begin(), isas.end(), Isa::avx512_amx) != isas.end();
}

class Amx : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_amx()) GTEST_SKIP() << "this processor has no AMX, or the system does not let it be used";
  }

  // All types at one shape, from rows and from strips, with as many rows as in `counts`.
  static void expect_bits_of_avx512(int64_t n_blocks, int64_t n_out, bool has_bias,
                                    const std::vector<int64_t>& counts) {
    const auto wide = *make_cpu_device({.n_threads = 1, .isa = name_of(Isa::avx512)});
    const auto tiles =
        *make_cpu_device({.n_threads = 2, .isa = name_of(Isa::avx512_amx), .deterministic = true});
    const int64_t most = *std::max_element(counts.begin(), counts.end());
    for (const WeightType& type : quantised_types()) {
      const int64_t n_in = n_blocks * traits(type.dtype).block_elements;
      Random random(static_cast<uint32_t>(n_in * 100 + n_out));
      OwnedTensor weight(type.dtype, n_in, n_out), bias(DType::f32, n_out, 1), x(DType::f32, n_in, most);
      fill_weight(random, type, weight.tensor);
      fill_normal(random, bias.tensor);
      fill_normal(random, x.tensor);
      const Linear linear{weight.tensor, has_bias ? bias.tensor : Tensor{}};
      ImportedTensor imported(*tiles, weight.tensor);
      if (imported.has_copy()) imported.make_copy();
      for (const int64_t count : counts) {
        const std::vector<float> expected = multiply(*wide, 1, linear, x.tensor, 0, count);
        const auto expect = [&](const Linear& own) {
          const std::vector<float> out = multiply(*tiles, 2, own, x.tensor, 0, count);
          ASSERT_EQ(0, std::memcmp(out.data(), expected.data(), out.size() * sizeof(float)))
              << name_of(type.dtype) << ", " << n_in << " to " << n_out << ", " << count << " rows";
        };
        expect(linear);
        if (imported.has_copy()) expect({imported.tensor(), linear.bias});
        if (HasFatalFailure()) return;
      }
    }
  }
};

TEST_F(Amx, HasTheBitsOfAvx512ForAnyNumberOfRows) {
  std::vector<int64_t> counts;
  for (int64_t count = 1; count <= 65; ++count) counts.push_back(count);
  expect_bits_of_avx512(1, 33, true, counts);
  expect_bits_of_avx512(4, 32, false, counts);
  expect_bits_of_avx512(7, 50, true, counts);
}

TEST_F(Amx, HasTheBitsOfAvx512AtAnyShape) {
  const std::vector<int64_t> counts = {25, 31, 32, 33, 48, 49, 70};
  for (const int64_t n_out : {1, 15, 16, 17, 31, 47, 64}) {
    for (const int64_t n_blocks : {2, 3, 5, 6}) {
      expect_bits_of_avx512(n_blocks, n_out, n_out % 2 == 0, counts);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_F(Amx, HasTheBitsOfAvx512InModels) {
  for (const int64_t n_blocks : {12, 32, 96}) expect_bits_of_avx512(n_blocks, 96, false, {26, 64, 130});
  expect_bits_of_avx512(301, 35, true, {40});  // rows longer than what is unpacked at once
}

// What tiles of bf16 compute, in plain loops: a row of weights times one of activations.
float dot_in_tiles(const bf16_bits* w, const float* x, int64_t n, float bias) {
  constexpr int64_t kBlock = 32, kSegment = 2048;
  float total = bias;
  for (int64_t begin = 0; begin < n; begin += kSegment) {
    float sum = 0;
    const int64_t end = std::min(begin + kSegment, n);
    for (int64_t block = begin; block < end; block += kBlock) {
      float parts[2] = {0, 0};
      for (int64_t i = block; i < std::min(block + kBlock, end); ++i)
        parts[i % 2] = std::fma(f32_from_bf16(w[i]), f32_from_bf16(bf16_from_f32(x[i])), parts[i % 2]);
      sum += parts[0] + parts[1];
    }
    total += sum;
  }
  return total;
}

TEST_F(Amx, SumsBf16AsItsTwinDoes) {
  const auto device = *make_cpu_device({.n_threads = 2, .isa = name_of(Isa::avx512_amx)});
  for (const int64_t n_in : {1, 2, 31, 32, 33, 64, 95, 1024, 2048, 2049, 3071, 4160}) {
    for (const int64_t n_out : {1, 15, 16, 33, 70}) {
      constexpr int64_t kMost = 61;
      Random random(static_cast<uint32_t>(n_in * 100 + n_out));
      OwnedTensor weight(DType::bf16, n_in, n_out), bias(DType::f32, n_out, 1), x(DType::f32, n_in, kMost);
      fill_weight(random, float_types().back(), weight.tensor);
      fill_normal(random, bias.tensor);
      fill_normal(random, x.tensor);
      std::vector<float> expected;
      for (int64_t t = 0; t < kMost; ++t) {
        for (int64_t r = 0; r < n_out; ++r) {
          expected.push_back(dot_in_tiles(reinterpret_cast<const bf16_bits*>(weight.tensor.row(r)),
                                          x.tensor.as<float>() + t * n_in, n_in, bias.tensor.as<float>()[r]));
        }
      }
      for (const int64_t count : {1, 2, 3, 4, 5, 12, 15, 16, 17, 31, 32, 33, 49, 61}) {
        const std::vector<float> out = multiply(*device, 2, {weight.tensor, bias.tensor}, x.tensor, 0, count);
        ASSERT_EQ(0, std::memcmp(out.data(), expected.data(), out.size() * sizeof(float)))
            << n_in << " to " << n_out << ", " << count << " rows";
      }
    }
  }
}

// More rows than are alike meet quantised weights as if these were bf16: by one and by more, at all edges of
// tiles and panels, from rows and from strips.
class WidenedAmx : public Amx {
 protected:
  // With so many rows more than are alike.
  static void expect_products_of_bf16(int64_t n_blocks, int64_t n_out, const std::vector<int64_t>& counts) {
    const auto device = *make_cpu_device({.n_threads = 2, .isa = name_of(Isa::avx512_amx)});
    for (const WeightType& type : quantised_types()) {
      const int64_t n_alike = device->most_alike_rows(type.dtype);
      const int64_t most = n_alike + *std::max_element(counts.begin(), counts.end());
      const int64_t n_in = n_blocks * traits(type.dtype).block_elements;
      Random random(static_cast<uint32_t>(n_in * 100 + n_out));
      OwnedTensor weight(type.dtype, n_in, n_out), bias(DType::f32, n_out, 1), x(DType::f32, n_in, most);
      fill_weight(random, type, weight.tensor);
      fill_normal(random, bias.tensor);
      fill_normal(random, x.tensor);
      OwnedTensor rounded(DType::bf16, n_in, n_out);
      std::vector<float> values(static_cast<size_t>(n_in));
      for (int64_t row = 0; row < n_out; ++row) {
        block_format(type.dtype).decode_row(weight.tensor.row(row), values.data(), n_in);
        std::transform(values.begin(), values.end(), rounded.tensor.as<bf16_bits>() + row * n_in,
                       bf16_from_f32);
      }
      ImportedTensor imported(*device, weight.tensor);
      if (imported.has_copy()) imported.make_copy();
      for (const int64_t n_more : counts) {
        const int64_t count = n_alike + n_more;
        const std::vector<float> expected =
            multiply(*device, 2, {rounded.tensor, bias.tensor}, x.tensor, 0, count);
        const auto expect = [&](const Tensor& own) {
          const std::vector<float> out = multiply(*device, 2, {own, bias.tensor}, x.tensor, 0, count);
          ASSERT_EQ(0, std::memcmp(out.data(), expected.data(), out.size() * sizeof(float)))
              << name_of(type.dtype) << ", " << n_in << " to " << n_out << ", " << count << " rows";
        };
        expect(weight.tensor);
        if (imported.has_copy()) expect(imported.tensor());
        if (HasFatalFailure()) return;
      }
    }
  }
};

TEST_F(WidenedAmx, IsTheProductOfRoundedWeightsForAnyNumberOfRows) {
  std::vector<int64_t> counts;
  for (int64_t count = 1; count <= 66; ++count) counts.push_back(count);
  expect_products_of_bf16(1, 33, counts);
  expect_products_of_bf16(9, 32, counts);
}

TEST_F(WidenedAmx, IsTheProductOfRoundedWeightsAtAnyShape) {
  for (const int64_t n_out : {1, 15, 16, 17, 31, 32, 47, 64, 70}) {
    for (const int64_t n_blocks : {2, 3, 7, 8, 17}) {
      expect_products_of_bf16(n_blocks, n_out, {2, 32, 33});
      if (HasFatalFailure()) return;
    }
  }
}

TEST_F(WidenedAmx, IsTheProductOfRoundedWeightsInModels) {
  for (const int64_t n_blocks : {12, 32}) expect_products_of_bf16(n_blocks, 40, {449});
  expect_products_of_bf16(4, 544, {449});  // past the caches
}

#if defined(__linux__) && defined(__x86_64__)

constexpr const char* kRefused = "PARLANCE_TEST_REFUSED_TILES";
constexpr int kNoFilter = 3;

// From now on, in this process and in what it becomes, the system lets nobody have tiles.
bool refuse_tiles() {
  std::array filter = {
      sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_arch_prctl, 0, 3),
      sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args)),
      sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x1023, 0, 1),  // ARCH_REQ_XCOMP_PERM
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

// This test runs itself again as a program that the system refuses tiles.
TEST_F(Amx, IsNoSetWhereTheSystemRefuses) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (!refuse_tiles()) _exit(kNoFilter);
    ::setenv(kRefused, "1", 1);
    execl("/proc/self/exe", "kernels_test", "--gtest_filter=RefusedAmx.*", nullptr);
    _exit(kNoFilter);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kNoFilter) GTEST_SKIP() << "no filter of system calls can be had here";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(RefusedAmx, LeavesAvx512) {
  if (!environment(kRefused)) GTEST_SKIP() << "run by Amx.IsNoSetWhereTheSystemRefuses";
  EXPECT_FALSE(has_amx());
  EXPECT_EQ(available_isas().back(), Isa::avx512_bf16);
}

#endif

}  // namespace
}  // namespace parlance::test
