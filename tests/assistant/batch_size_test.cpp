// Batches are as large as suits the device, where nobody says how large and there is room.
#include "assistant/batch_size.h"

#include <gtest/gtest.h>

#include "engine/layer_split.h"
#include "kernels/large_batches.h"
#include "support/memory_only_device.h"
#include "support/text_model.h"

namespace parlance {
namespace {

class LargeDevice final : public test::MemoryOnlyDevice, public TakesLargeBatches {
 public:
  explicit LargeDevice(size_t free, int64_t best = 2048) : test::MemoryOnlyDevice(free), best_(best) {}
  int64_t best_batch() const override { return best_; }

 private:
  int64_t best_;
};

class BatchSize : public testing::Test {
 protected:
  int64_t on(const Device& device) const {
    return batch_size(choice_, file_, *read_hyper_parameters(file_), choice_.context, device);
  }

  static constexpr size_t kPlenty = size_t{1} << 34;
  GgufFile file_ = *GgufFile::open(test::source_root() / "models/demo/text/parlance-demo-text-q8_0.gguf");
  Choice choice_;
};

TEST_F(BatchSize, SuitsTheDevice) {
  EXPECT_EQ(on(test::MemoryOnlyDevice(kPlenty)), 512);
  EXPECT_EQ(on(LargeDevice(kPlenty)), 2048);
  EXPECT_EQ(on(LargeDevice(kPlenty, 0)), 512);
  EXPECT_EQ(on(LargeDevice(kPlenty, 64)), 512);
}

TEST_F(BatchSize, IsWhatWasChosen) {
  for (const int64_t n : {1, 512, 4096}) {
    choice_.n_batch = n;
    EXPECT_EQ(on(LargeDevice(kPlenty)), n);
    EXPECT_EQ(on(test::MemoryOnlyDevice(kPlenty)), n);
  }
}

// All of the model with batches of twice as many.
TEST_F(BatchSize, NeedsRoom) {
  constexpr size_t kReserve = size_t{256} << 20;
  const HyperParameters hp = *read_hyper_parameters(file_);
  SessionOptions options = choice_.context;
  options.n_batch = 2 * 2048;
  const size_t enough = kReserve + layer_memory(file_, hp, options).total(hp.n_layer, true);
  EXPECT_EQ(on(LargeDevice(enough)), 2048);
  EXPECT_EQ(on(LargeDevice(enough - 1)), 512);
  EXPECT_EQ(on(LargeDevice(0)), 512);
}

TEST_F(BatchSize, IsUsualWhereMoreWouldCostMemoryOrLayersAreElsewhere) {
  choice_.devices.n_gpu_layers = 1;
  EXPECT_EQ(on(LargeDevice(kPlenty)), 512);
  choice_.devices.n_gpu_layers = 1000;
  EXPECT_EQ(on(LargeDevice(kPlenty)), 2048);
  choice_.context.cache.n_recent = 64;
  EXPECT_EQ(on(LargeDevice(kPlenty)), 512);
}

}  // namespace
}  // namespace parlance
