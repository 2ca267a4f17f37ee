#include "kv/recurrent_state.h"

#include "gtest/gtest.h"
#include "kernels/cpu/cpu_device.h"

namespace parlance {
namespace {

constexpr RecurrentLayout kStates{
    .n_layer = 2, .n_channel = 12, .n_kept = 3, .head_dim = 4, .n_value_head = 2};

class RecurrentStateTest : public testing::Test {
 protected:
  std::unique_ptr<Device> device_ = *make_cpu_device({.n_threads = 1});
  std::unique_ptr<Stream> stream_ = device_->make_stream();
};

TEST_F(RecurrentStateTest, BytesFollowFromSizes) {
  EXPECT_EQ(kStates.bytes(), 2u * (12 * 3 + 4 * 4 * 2) * sizeof(float));
  EXPECT_EQ(RecurrentLayout{}.bytes(), 0u);
}

TEST_F(RecurrentStateTest, LayersHaveTheShapesOfTheirKernels) {
  const auto state = *RecurrentState::create(*device_, kStates, 3);
  EXPECT_EQ(state->n_slots(), 3);
  EXPECT_EQ(state->bytes(), 3 * kStates.bytes());
  ASSERT_EQ(state->layers().size(), 2u);
  for (const RecurrentView& layer : state->layers()) {
    EXPECT_EQ(layer.conv.state.ne, (std::array<int64_t, 4>{12, 3, 3, 1}));
    EXPECT_EQ(layer.delta.state.ne, (std::array<int64_t, 4>{4, 4, 2, 3}));
    EXPECT_FALSE(layer.conv.kept);
    EXPECT_FALSE(layer.delta.kept);
  }
}

// Room for two drafts and the token between them, of each sequence.
TEST_F(RecurrentStateTest, WhatIsKeptForDraftsIsCounted) {
  RecurrentLayout layout = kStates;
  layout.n_draft = 7;
  EXPECT_EQ(layout.bytes(), kStates.bytes());
  EXPECT_EQ(kStates.kept_bytes(), 0u);
  EXPECT_EQ(layout.kept_bytes(), 2u * 15 * (12 + 12 + 2 * 2) * sizeof(float));
  const auto state = *RecurrentState::create(*device_, layout, 3);
  EXPECT_EQ(state->bytes(), 3 * (layout.bytes() + layout.kept_bytes()));
  size_t n_bytes = 0;
  for (const RecurrentView& layer : state->layers()) {
    EXPECT_EQ(layer.conv.kept.ne, (std::array<int64_t, 4>{12, 15, 3, 1}));
    EXPECT_EQ(layer.delta.kept.ne, (std::array<int64_t, 4>{16, 15, 3, 1}));
    for (const Recurrence& one : {layer.conv, layer.delta}) n_bytes += one.state.size() + one.kept.size();
  }
  EXPECT_EQ(n_bytes, state->bytes());
}

TEST_F(RecurrentStateTest, ModelsWithoutRecurrentLayersPayNothing) {
  const auto none = *RecurrentState::create(*device_, {}, 2);
  EXPECT_TRUE(none->layers().empty());
  EXPECT_EQ(none->bytes(), 0u);
  std::vector<std::byte> nothing;
  EXPECT_TRUE(none->save(*stream_, 0, nothing));
  none->restore(*stream_, 1, nothing);
  none->copy(*stream_, 0, 1);
}

// Into any slot and out of it, by copies between slots too, and nobody else's changes.
TEST_F(RecurrentStateTest, WhatWasSavedComesBackAndOthersStay) {
  constexpr int kSlots = 3;
  const auto state = *RecurrentState::create(*device_, kStates, kSlots);
  std::vector<std::vector<std::byte>> expected;
  for (int slot = 0; slot < kSlots; ++slot) {
    std::vector<std::byte>& bytes = expected.emplace_back(kStates.bytes());
    for (size_t i = 0; i < bytes.size(); ++i)
      bytes[i] = static_cast<std::byte>(i * 7 + static_cast<size_t>(slot) * 91);
    state->restore(*stream_, slot, bytes);
  }
  EXPECT_EQ(state->layers()[1].delta.state.as<std::byte>()[kStates.delta_bytes() + 5],
            expected[1][kStates.bytes() - kStates.delta_bytes() + 5]);
  const auto check = [&] {
    for (int slot = 0; slot < kSlots; ++slot) {
      std::vector<std::byte> bytes(kStates.bytes());
      ASSERT_TRUE(state->save(*stream_, slot, bytes));
      EXPECT_EQ(bytes, expected[static_cast<size_t>(slot)]) << slot;
    }
  };
  check();
  for (int from = 0; from < kSlots; ++from) {
    for (int to = 0; to < kSlots; ++to) {
      if (from == to) continue;
      state->copy(*stream_, from, to);
      expected[static_cast<size_t>(to)] = expected[static_cast<size_t>(from)];
      check();
      for (std::byte& byte : expected[static_cast<size_t>(from)])
        byte = static_cast<std::byte>(static_cast<int>(byte) + 17);
      state->restore(*stream_, from, expected[static_cast<size_t>(from)]);
      check();
    }
  }
}

}  // namespace
}  // namespace parlance
