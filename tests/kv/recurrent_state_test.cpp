#include "kv/recurrent_state.h"

#include "gtest/gtest.h"
#include "kernels/cpu/cpu_device.h"

namespace parlance {
namespace {

constexpr RecurrentLayout kLayout{
    .n_layer = 2, .n_channel = 12, .n_kept = 3, .head_dim = 4, .n_value_head = 2};

class RecurrentStateTest : public testing::Test {
 protected:
  std::unique_ptr<Device> device_ = *make_cpu_device({.n_threads = 1});
  std::unique_ptr<Stream> stream_ = device_->make_stream();
};

TEST_F(RecurrentStateTest, BytesFollowFromSizes) {
  EXPECT_EQ(kLayout.bytes(), 2u * (12 * 3 + 4 * 4 * 2) * sizeof(float));
  EXPECT_EQ(RecurrentLayout{}.bytes(), 0u);
}

TEST_F(RecurrentStateTest, LayersHaveTheShapesOfTheirKernels) {
  const auto state = *RecurrentState::create(*device_, kLayout);
  ASSERT_EQ(state->layers().size(), 2u);
  for (const RecurrentView& layer : state->layers()) {
    EXPECT_EQ(layer.conv.ne, (std::array<int64_t, 4>{12, 3, 1, 1}));
    EXPECT_EQ(layer.delta.ne, (std::array<int64_t, 4>{4, 4, 2, 1}));
  }
}

TEST_F(RecurrentStateTest, ModelsWithoutRecurrentLayersPayNothing) {
  const auto none = *RecurrentState::create(*device_, {});
  EXPECT_TRUE(none->layers().empty());
  std::vector<std::byte> nothing;
  EXPECT_TRUE(none->save(*stream_, nothing));
  none->restore(*stream_, nothing);
}

TEST_F(RecurrentStateTest, WhatWasSavedComesBack) {
  const auto state = *RecurrentState::create(*device_, kLayout);
  std::vector<std::byte> bytes(kLayout.bytes());
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 7);
  state->restore(*stream_, bytes);
  EXPECT_EQ(state->layers()[1].delta.as<std::byte>()[5],
            static_cast<std::byte>((bytes.size() - kLayout.delta_bytes() + 5) * 7));
  std::vector<std::byte> again(bytes.size());
  ASSERT_TRUE(state->save(*stream_, again));
  EXPECT_EQ(again, bytes);
  state->restore(*stream_, std::vector<std::byte>(bytes.size()));
  ASSERT_TRUE(state->save(*stream_, again));
  EXPECT_EQ(again, std::vector<std::byte>(bytes.size()));
}

}  // namespace
}  // namespace parlance
