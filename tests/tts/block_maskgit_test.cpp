#include "tts/block_maskgit.h"

#include <gtest/gtest.h>

#include <random>

#include "base/thread_pool.h"

namespace parlance::test {
namespace {

constexpr CodeGridShape kShape{.n_codebook = 3, .n_frames = 14, .n_vocab = 20, .mask_id = 19};

// A network without weights: logits by place, and by what is decided around it.
class Network {
 public:
  explicit Network(uint32_t seed, float scale = 4) : random_(seed), scale_(scale) {
    for (auto* row : {&cond_, &uncond_}) {
      row->resize(static_cast<size_t>(kShape.n_codebook * kShape.n_frames * kShape.n_vocab));
      for (float& x : *row) x = value();
    }
  }

  const float* cond(int64_t codebook, int64_t frame) const { return cond_.data() + place(codebook, frame); }
  const float* uncond(int64_t codebook, int64_t frame) const {
    return uncond_.data() + place(codebook, frame);
  }
  // Another answer for the next step.
  void see(std::span<const int32_t> tokens) {
    for (size_t i = 0; i < cond_.size(); ++i)
      cond_[i] += 0.1f * static_cast<float>(tokens[i % tokens.size()] % 7);
  }
  std::span<const float> all_cond() const { return cond_; }
  std::span<const float> all_uncond() const { return uncond_; }
  std::vector<float>& all_cond() { return cond_; }

 private:
  float value() { return scale_ * std::uniform_real_distribution<float>(-1, 1)(random_); }
  static size_t place(int64_t codebook, int64_t frame) {
    return static_cast<size_t>((frame * kShape.n_codebook + codebook) * kShape.n_vocab);
  }
  std::mt19937 random_;
  float scale_;
  std::vector<float> cond_, uncond_;
};

BlockMaskGit::SlotLogits logits_of(const Network& network, const BlockMaskGit& decoder, size_t i,
                                   bool is_guided) {
  const CodeSlot slot = decoder.undecided()[i];
  return {network.cond(slot.codebook, slot.frame),
          is_guided ? network.uncond(slot.codebook, slot.frame) : nullptr};
}

// One block, nothing subtracted, no early end: this is MaskGIT.
TEST(BlockMaskGit, OneBlockIsTheWholeDecoder) {
  for (uint32_t seed = 0; seed < 6; ++seed) {
    const MaskGitOptions options{.n_step = 7,
                                 .guidance = seed % 2 ? 2.0f : 0.0f,
                                 .position_temperature = seed % 3 ? 5.0f : 0.0f,
                                 .class_temperature = seed == 4 ? 0.8f : 0.0f,
                                 .seed = seed};
    Network network(seed), same(seed);
    uint64_t calls = 3, calls_of_block = 3;
    MaskGit whole(options, kShape, calls);
    BlockMaskGit block({.decoding = options}, kShape, calls_of_block);
    block.begin(0, kShape.n_frames, options.n_step);
    while (whole.next()) {
      ASSERT_TRUE(block.next());
      ASSERT_TRUE(
          whole.take(network.all_cond(), options.guidance != 0 ? network.all_uncond() : std::span<float>()));
      ASSERT_TRUE(block.take([&](size_t i) { return logits_of(same, block, i, options.guidance != 0); }));
      ASSERT_TRUE(std::ranges::equal(whole.tokens(), block.tokens())) << seed;
      network.see(whole.tokens());
      same.see(block.tokens());
    }
    EXPECT_FALSE(block.next());
    EXPECT_EQ(calls, calls_of_block);
    EXPECT_EQ(block.n_decided(), static_cast<size_t>(kShape.n_codebook * kShape.n_frames));
    EXPECT_EQ(whole.n_steps_done(), block.n_steps_done());
  }
}

// Tasks one by one, from the last to the first, and by several threads: the same codes and the same errors.
TEST(BlockMaskGit, WhoDoesTheTasksChangesNothing) {
  ThreadPool pool(3, /*pin=*/false);
  const auto backwards = [](int64_t n, FunctionRef<void(int64_t)> task) {
    while (n > 0) task(--n);
  };
  const auto in_threads = [&](int64_t n, FunctionRef<void(int64_t)> task) {
    pool.run(n, [&](int64_t i, int) { task(i); });
  };
  for (uint32_t seed = 0; seed < 8; ++seed) {
    const bool is_guided = seed % 2 == 0;
    const MaskGitOptions options{.n_step = 6,
                                 .guidance = is_guided ? 2.0f : 0.0f,
                                 .class_temperature = seed % 4 < 2 ? 0.0f : 0.8f,
                                 .seed = seed};
    const BlockOptions of_block{.decoding = options, .marginal = seed < 4 ? 0.0f : 0.5f};
    const auto codes_of = [&](ShareOut share_out, bool is_in_blocks) {
      Network network(seed);
      uint64_t calls = 0;
      MaskGit whole(options, kShape, calls);
      BlockMaskGit block(of_block, kShape, calls);
      if (is_in_blocks) block.begin(0, kShape.n_frames, options.n_step);
      const auto tokens = [&] { return is_in_blocks ? block.tokens() : whole.tokens(); };
      while (is_in_blocks ? block.next() : whole.next()) {
        const auto of = [&](size_t i) { return logits_of(network, block, i, is_guided); };
        const auto uncond = is_guided ? network.all_uncond() : std::span<const float>();
        EXPECT_TRUE(is_in_blocks ? block.take(of, share_out)
                                 : whole.take(network.all_cond(), uncond, share_out));
        network.see(tokens());
      }
      return std::vector<int32_t>(tokens().begin(), tokens().end());
    };
    for (const bool is_in_blocks : {false, true}) {
      const auto expected = codes_of(one_by_one, is_in_blocks);
      EXPECT_EQ(codes_of(backwards, is_in_blocks), expected) << seed;
      EXPECT_EQ(codes_of(in_threads, is_in_blocks), expected) << seed;
    }
  }
  // Of several that are damaged, the first is named.
  Network network(1);
  for (const size_t frame : {3, 12})
    network.all_cond()[(frame * kShape.n_codebook + 1) * kShape.n_vocab] =
        std::numeric_limits<float>::quiet_NaN();
  for (const ShareOut share_out : {ShareOut(one_by_one), ShareOut(backwards), ShareOut(in_threads)}) {
    uint64_t calls = 0;
    BlockMaskGit block({.decoding = {}}, kShape, calls);
    block.begin(0, kShape.n_frames, 4);
    ASSERT_TRUE(block.next());
    const auto result = block.take([&](size_t i) { return logits_of(network, block, i, true); }, share_out);
    ASSERT_FALSE(result);
    EXPECT_NE(result.error().message.find("frame 3, codebook 1"), std::string::npos)
        << result.error().message;
  }
}

TEST(BlockMaskGit, BlocksDecideTheirFramesAlone) {
  Network network(1);
  uint64_t calls = 0;
  BlockMaskGit decoder({.decoding = {}}, kShape, calls);
  int64_t first = 0;
  for (const int64_t end : {int64_t{5}, int64_t{6}, kShape.n_frames}) {
    decoder.begin(first, end, 4);
    while (decoder.next())
      ASSERT_TRUE(decoder.take([&](size_t i) { return logits_of(network, decoder, i, true); }));
    for (int64_t k = 0; k < kShape.n_codebook; ++k) {
      for (int64_t t = 0; t < kShape.n_frames; ++t) {
        const bool is_open = decoder.tokens()[static_cast<size_t>(k * kShape.n_frames + t)] == kShape.mask_id;
        EXPECT_EQ(is_open, t >= end) << k << " " << t;
      }
    }
    first = end;
  }
}

// Sure logits end a block in its first step, unsure ones never before the last.
TEST(BlockMaskGit, EndsWhenItIsSure) {
  for (const float scale : {60.0f, 0.1f}) {
    Network network(2, scale);
    uint64_t calls = 0;
    BlockMaskGit decoder({.decoding = {}, .confidence = 0.9f}, kShape, calls);
    decoder.begin(0, kShape.n_frames, 8);
    int n_planned = 0;
    for (MaskGit whole({.n_step = 8}, kShape, calls); n_planned == 0;) n_planned = whole.n_steps_total();
    while (decoder.next())
      ASSERT_TRUE(decoder.take([&](size_t i) { return logits_of(network, decoder, i, true); }));
    EXPECT_EQ(decoder.n_steps_done(), scale > 1 ? 1 : n_planned);
    EXPECT_EQ(decoder.n_decided(), static_cast<size_t>(kShape.n_codebook * kShape.n_frames));
  }
}

// A code that is likely in every place says less than one that is likely in its place alone.
TEST(BlockMaskGit, WhatIsLikelyEverywhereIsPutOff) {
  constexpr int64_t kOwn = 6;  // the frame with a code of its own
  Network network(3, 0);
  for (int64_t t = 0; t < kShape.n_frames; ++t) {
    for (int64_t k = 0; k < kShape.n_codebook; ++k) {
      const auto row = static_cast<size_t>((t * kShape.n_codebook + k) * kShape.n_vocab);
      network.all_cond()[row + (t == kOwn ? 5u : 2u)] = t == kOwn ? 5.0f : 6.0f;
    }
  }
  for (const float marginal : {0.0f, 1.0f}) {
    uint64_t calls = 0;
    BlockMaskGit decoder({.decoding = {.guidance = 0, .position_temperature = 0}, .marginal = marginal},
                         kShape, calls);
    decoder.begin(0, kShape.n_frames, 30);
    ASSERT_TRUE(decoder.next());
    ASSERT_TRUE(decoder.take([&](size_t i) { return logits_of(network, decoder, i, false); }));
    EXPECT_EQ(decoder.tokens()[kOwn] != kShape.mask_id, marginal > 0);
  }
}

TEST(BlockMaskGit, RefusesLogitsThatAreNoNumbers) {
  Network network(4);
  network.all_cond()[0] = NAN;
  uint64_t calls = 0;
  BlockMaskGit decoder({.decoding = {}}, kShape, calls);
  decoder.begin(0, kShape.n_frames, 3);
  ASSERT_TRUE(decoder.next());
  const auto taken = decoder.take([&](size_t i) { return logits_of(network, decoder, i, true); });
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, ErrorCode::corrupt_file);
}

}  // namespace
}  // namespace parlance::test
