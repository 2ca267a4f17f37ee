// MaskGIT's decisions on devices that take them, beside the host's.
#include <algorithm>
#include <limits>
#include <random>

#include "kernels/block_step.h"
#include "kernels/support/devices.h"
#include "tts/block_maskgit.h"
#include "tts/maskgit.h"

namespace parlance::test {
namespace {

class MaskGitStep : public KernelTest {
 protected:
  // A grid on the device, behind columns of a reference.
  class Grid {
   public:
    Grid(OpBench& bench, const CodeGridShape& shape, int64_t n_reference)
        : bench_(bench), shape_(shape), n_columns_(n_reference + shape.n_frames) {
      std::vector<int32_t> rows;
      for (int64_t k = 0; k < shape.n_codebook; ++k) {
        for (int64_t t = 0; t < n_columns_; ++t)
          rows.push_back(static_cast<int32_t>(k * shape.n_vocab + (t < n_reference ? t % 3 : shape.mask_id)));
      }
      codes_ = bench.upload(DType::i32, {n_columns_, shape.n_codebook, 1, 1}, std::as_bytes(std::span(rows)));
      before_ = std::move(rows);
    }

    // What `move` is afterwards.
    MaskGitMove take(const MaskGitMove& move, const std::vector<float>& logits) {
      const int64_t n_row = shape_.n_codebook * shape_.n_vocab, n_all = std::ssize(logits);
      const Tensor tl = bench_.upload({n_row, shape_.n_frames, n_all / (n_row * shape_.n_frames), 1}, logits);
      const Tensor tm = bench_.upload(DType::i8, {sizeof move, 1, 1, 1}, std::as_bytes(std::span(&move, 1)));
      Stream& s = bench_.stream();
      const auto decide = [&] { maskgit_step(s, tl, codes_, tm, shape_.mask_id); };
      const Plan plan = s.dry_run(decide);
      EXPECT_TRUE(plan.missing.empty());
      EXPECT_TRUE(s.reserve(plan));
      s.step(Stream::kOnce, decide);
      MaskGitMove after;
      EXPECT_TRUE(s.download(std::as_writable_bytes(std::span(&after, 1)), tm));
      return after;
    }

    // [n_codebook][n_frames]; the reference must be what it was.
    std::vector<int32_t> tokens() {
      const std::vector<std::byte> bytes = bench_.download_bytes(codes_);
      std::vector<int32_t> tokens;
      for (int64_t k = 0; k < shape_.n_codebook; ++k) {
        for (int64_t t = 0; t < n_columns_; ++t) {
          const auto at = static_cast<size_t>(k * n_columns_ + t);
          int32_t code;
          std::memcpy(&code, bytes.data() + at * sizeof code, sizeof code);
          if (t >= n_columns_ - shape_.n_frames) {
            tokens.push_back(code - static_cast<int32_t>(k * shape_.n_vocab));
          } else {
            EXPECT_EQ(code, before_[at]);
          }
        }
      }
      return tokens;
    }

   private:
    OpBench& bench_;
    CodeGridShape shape_;
    int64_t n_columns_;
    Tensor codes_;
    std::vector<int32_t> before_;
  };

  std::vector<float> normal_floats(int64_t n) {
    std::normal_distribution<float> normal(0, 3);
    std::vector<float> values(static_cast<size_t>(n));
    for (float& value : values) value = normal(random_);
    return values;
  }
};

TEST_P(MaskGitStep, DecidesAsTheHostDoes) {
  OpBench bench = tested();
  if (!bench.device().ops().maskgit_step.run) GTEST_SKIP() << "this device has no maskgit_step";
  const CodeGridShape shapes[] = {{3, 7, 33, 32}, {8, 50, 1025, 1024}, {2, 131, 65, 0}, {1, 1, 2, 1}};
  for (const CodeGridShape& shape : shapes) {
    for (const float guidance : {0.0f, 2.0f, -1.5f}) {
      for (const float class_temperature : {0.0f, 0.8f}) {
        for (const float position_temperature : {0.0f, 5.0f}) {
          SCOPED_TRACE(fmt::format("{}x{}x{} guidance {} temperatures {} {}", shape.n_codebook,
                                   shape.n_frames, shape.n_vocab, guidance, class_temperature,
                                   position_temperature));
          const MaskGitOptions options{.n_step = 6,
                                       .guidance = guidance,
                                       .position_temperature = position_temperature,
                                       .class_temperature = class_temperature,
                                       .seed = 0x123456789abcdef};
          uint64_t host_calls = 0xfffffff0, device_calls = host_calls;  // they pass 32 bits
          MaskGit host(options, shape, host_calls, Isa::scalar), other(options, shape, device_calls);
          Grid grid(bench, shape, 5);
          while (host.next()) {
            ASSERT_TRUE(other.next());
            const int64_t n = shape.n_codebook * shape.n_frames * shape.n_vocab;
            std::vector<float> logits = normal_floats(guidance == 0 ? n : 2 * n);
            const std::span<const float> all(logits);
            ASSERT_TRUE(host.take(all.first(static_cast<size_t>(n)), all.subspan(static_cast<size_t>(n))));
            const MaskGitMove move = other.hand_over();
            EXPECT_EQ(grid.take(move, logits).fault, move.fault);
            ASSERT_EQ(grid.tokens(), std::vector<int32_t>(host.tokens().begin(), host.tokens().end()));
          }
          EXPECT_FALSE(other.next());
          EXPECT_EQ(host_calls, device_calls);
        }
      }
    }
  }
}

TEST_P(MaskGitStep, EqualScoresAndEqualCodesGoToTheLowerIndex) {
  OpBench bench = tested();
  if (!bench.device().ops().maskgit_step.run) GTEST_SKIP() << "this device has no maskgit_step";
  const CodeGridShape shape{.n_codebook = 1, .n_frames = 4, .n_vocab = 5, .mask_id = 0};
  uint64_t noise_calls = 0;
  MaskGit decoder({.n_step = 2, .guidance = 0, .t_shift = 1, .position_temperature = 0}, shape, noise_calls);
  Grid grid(bench, shape, 0);
  grid.take(decoder.hand_over(), std::vector<float>(20, 1.0f));
  EXPECT_EQ(grid.tokens(), (std::vector<int32_t>{1, 1, 0, 0}));
}

TEST_P(MaskGitStep, TellsWhichLogitsAreNoNumbers) {
  OpBench bench = tested();
  if (!bench.device().ops().maskgit_step.run) GTEST_SKIP() << "this device has no maskgit_step";
  const CodeGridShape shape{.n_codebook = 2, .n_frames = 3, .n_vocab = 9, .mask_id = 8};
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    uint64_t noise_calls = 0;
    MaskGit decoder({.n_step = 2, .guidance = 0}, shape, noise_calls);
    Grid grid(bench, shape, 0);
    std::vector<float> logits = normal_floats(54);
    logits[2 * 18 + 9 + 4] = logits[2 * 18 + 4] = bad;
    EXPECT_EQ(grid.take(decoder.hand_over(), logits).fault, 2 * 2 + 0);
    EXPECT_EQ(grid.tokens(), std::vector<int32_t>(6, 8)) << "nothing is decided";
  }
}

PARLANCE_FOR_EACH_DEVICE(MaskGitStep);

// The same of blocks.
class BlockStep : public KernelTest {
 protected:
  // What `codes` and `move` of a block are afterwards, without the number of a codebook's first code.
  static std::vector<int32_t> take(OpBench& bench, const CodeGridShape& shape, int64_t n_frames,
                                   std::vector<int32_t> codes, BlockMove& move,
                                   const std::vector<float>& conditional,
                                   const std::vector<float>& unconditional, const BlockOptions& options) {
    for (size_t i = 0; i < codes.size(); ++i)
      codes[i] += static_cast<int32_t>(static_cast<int64_t>(i) / n_frames * shape.n_vocab);
    const int64_t n_row = shape.n_codebook * shape.n_vocab;
    BlockStepArgs args{
        .conditional = bench.upload({n_row, n_frames, 1, 1}, conditional),
        .unconditional = {},
        .codes =
            bench.upload(DType::i32, {n_frames, shape.n_codebook, 1, 1}, std::as_bytes(std::span(codes))),
        .move = bench.upload(DType::i8, {sizeof move, 1, 1, 1}, std::as_bytes(std::span(&move, 1))),
        .mask = shape.mask_id,
        .has_marginals = options.marginal > 0,
        .may_end = options.confidence < 1};
    if (!unconditional.empty()) args.unconditional = bench.upload({n_row, n_frames, 1, 1}, unconditional);
    Stream& s = bench.stream();
    const auto decide = [&] { block_step(s, args); };
    const Plan plan = s.dry_run(decide);
    EXPECT_TRUE(plan.missing.empty());
    EXPECT_TRUE(s.reserve(plan));
    s.step(Stream::kOnce, decide);
    EXPECT_TRUE(s.download(std::as_writable_bytes(std::span(&move, 1)), args.move));
    EXPECT_TRUE(s.download(std::as_writable_bytes(std::span(codes)), args.codes));
    for (size_t i = 0; i < codes.size(); ++i)
      codes[i] -= static_cast<int32_t>(static_cast<int64_t>(i) / n_frames * shape.n_vocab);
    return codes;
  }

  static std::vector<int32_t> of_block(std::span<const int32_t> tokens, const CodeGridShape& shape,
                                       int64_t first, int64_t end) {
    std::vector<int32_t> codes;
    for (int64_t k = 0; k < shape.n_codebook; ++k) {
      for (int64_t t = first; t < end; ++t)
        codes.push_back(tokens[static_cast<size_t>(k * shape.n_frames + t)]);
    }
    return codes;
  }

  std::vector<float> normal_floats(int64_t n, float width) {
    std::normal_distribution<float> normal(0, width);
    std::vector<float> values(static_cast<size_t>(n));
    for (float& value : values) value = normal(random_);
    return values;
  }
};

TEST_P(BlockStep, DecidesAsTheHostDoes) {
  OpBench bench = tested();
  if (!decides_blocks(bench.device())) GTEST_SKIP() << "this device does not decide blocks";
  int n_early = 0;
  const std::pair<CodeGridShape, std::vector<int64_t>> grids[] = {
      {{3, 23, 33, 32}, {5, 6, 23}}, {{8, 60, 1025, 1024}, {32, 60}}, {{2, 131, 65, 0}, {131}}};
  for (const auto& [shape, ends] : grids) {
    for (int variant = 0; variant < 16; ++variant) {
      const BlockOptions options{.decoding = {.guidance = variant & 1 ? 0.0f : 2.0f,
                                              .position_temperature = variant % 3 == 0 ? 0.0f : 5.0f,
                                              .class_temperature = variant & 2 ? 0.8f : 0.0f,
                                              .seed = 0x123456789abcdef},
                                 .marginal = variant & 4 ? 0.5f : 0.0f,
                                 .confidence = variant & 8 ? 0.7f : 1.0f};
      SCOPED_TRACE(
          fmt::format("{}x{}x{} variant {}", shape.n_codebook, shape.n_frames, shape.n_vocab, variant));
      uint64_t host_calls = 0xfffffff0, device_calls = host_calls;
      BlockMaskGit host(options, shape, host_calls, Isa::scalar), other(options, shape, device_calls);
      int64_t first = 0;
      for (const int64_t end : ends) {
        const int64_t n_frames = end - first, n = shape.n_codebook * shape.n_vocab * n_frames;
        host.begin(first, end, 6);
        other.begin(first, end, 6);
        for (int step = 0; host.next(); ++step) {
          ASSERT_TRUE(other.next());
          const float width = step > 2 ? 9 : 3;  // later steps are surer
          const std::vector<float> cond = normal_floats(n, width);
          const std::vector<float> uncond =
              options.decoding.guidance == 0 ? std::vector<float>() : normal_floats(n, 1);
          const auto logits_of = [&](size_t i) {
            const CodeSlot slot = host.undecided()[i];
            const auto row = static_cast<size_t>(((slot.frame - first) * shape.n_codebook + slot.codebook) *
                                                 shape.n_vocab);
            return BlockMaskGit::SlotLogits{cond.data() + row,
                                            uncond.empty() ? nullptr : uncond.data() + row};
          };
          BlockMove move = other.hand_over();
          other.accept(take(bench, shape, n_frames, of_block(other.tokens(), shape, first, end), move, cond,
                            uncond, options));
          EXPECT_EQ(move.step.fault, std::numeric_limits<int32_t>::max());
          const size_t n_before = host.n_decided();
          ASSERT_TRUE(host.take(logits_of));
          ASSERT_TRUE(std::ranges::equal(host.tokens(), other.tokens()))
              << "step " << step << " of block to " << end;
          n_early += host.n_decided() - n_before > static_cast<size_t>(move.step.n_chosen);
          EXPECT_EQ(host.n_decided(), other.n_decided());
        }
        EXPECT_FALSE(other.next());
        first = end;
      }
      EXPECT_EQ(host_calls, device_calls);
      EXPECT_EQ(host.n_steps_done(), other.n_steps_done());
    }
  }
  EXPECT_GT(n_early, 0) << "blocks end early in some of these";
}

TEST_P(BlockStep, TellsWhichLogitsAreNoNumbers) {
  OpBench bench = tested();
  if (!decides_blocks(bench.device())) GTEST_SKIP() << "this device does not decide blocks";
  const CodeGridShape shape{.n_codebook = 2, .n_frames = 5, .n_vocab = 9, .mask_id = 8};
  const BlockOptions options{.decoding = {.guidance = 0}, .marginal = 0.5f, .confidence = 0.1f};
  uint64_t noise_calls = 0;
  BlockMaskGit decoder(options, shape, noise_calls);
  decoder.begin(2, 5, 4);
  BlockMove move = decoder.hand_over();
  std::vector<float> logits = normal_floats(3 * 18, 3);
  logits[2 * 18 + 9 + 4] = logits[1 * 18 + 9 + 4] = std::numeric_limits<float>::quiet_NaN();
  const auto codes = take(bench, shape, 3, std::vector<int32_t>(6, 8), move, logits, {}, options);
  EXPECT_EQ(move.step.fault, 1 * 2 + 1);
  EXPECT_EQ(codes, std::vector<int32_t>(6, 8)) << "nothing is decided";
}

PARLANCE_FOR_EACH_DEVICE(BlockStep);

}  // namespace
}  // namespace parlance::test
