#include "kv/cache.h"

#include <set>

#include "gtest/gtest.h"
#include "kernels/cpu/cpu_device.h"

namespace parlance {
namespace {

const KvLayout kLayout{
    .n_layer = 3, .n_head_kv = 2, .head_dim_k = 64, .head_dim_v = 32, .policy = {}, .page_tokens = 16};

class KvCacheTest : public testing::Test {
 protected:
  void SetUp() override {
    auto device = make_cpu_device({.n_threads = 1});
    ASSERT_TRUE(device) << device.error().message;
    device_ = *std::move(device);
    stream_ = device_->make_stream();
  }

  std::unique_ptr<KvCache> make(int64_t n_ctx, int n_seq) {
    auto cache = KvCache::create(*device_, kLayout, n_ctx, n_seq);
    EXPECT_TRUE(cache) << cache.error().message;
    return *std::move(cache);
  }

  std::set<int32_t> pages_of(KvCache& cache, int seq, int n) {
    const Tensor& table = cache.layers(*stream_).page_table();
    const int32_t* row = table.as<int32_t>() + seq * table.ne[0];
    return {row, row + n};
  }

  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
};

TEST_F(KvCacheTest, BytesFollowFromFormats) {
  EXPECT_EQ(kLayout.bytes_per_token(), 3u * 2 * (64 * 2 + 32 * 2));
  KvLayout q8 = kLayout;
  q8.policy.k.format = KvFormat::q8_0;
  EXPECT_EQ(q8.bytes_per_token(), 3u * 2 * (2 * 34 + 32 * 2));
}

TEST_F(KvCacheTest, SequencesHoldDistinctPages) {
  const auto cache = make(160, 2);
  ASSERT_TRUE(cache->grow(0, 33));  // 3 pages
  ASSERT_TRUE(cache->grow(1, 16));  // 1 page
  std::set<int32_t> all = pages_of(*cache, 0, 3);
  all.merge(pages_of(*cache, 1, 1));
  EXPECT_EQ(all.size(), 4u);
  EXPECT_GE(*all.begin(), 0);
  EXPECT_LT(*all.rbegin(), 10);
}

TEST_F(KvCacheTest, FullCacheIsAnErrorAndTruncateGivesBack) {
  const auto cache = make(64, 2);
  ASSERT_TRUE(cache->grow(0, 48));
  const auto refused = cache->grow(1, 17);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::out_of_memory);
  EXPECT_NE(refused.error().message.find("--ctx-size"), std::string::npos);
  EXPECT_TRUE(cache->grow(1, 16)) << "the refused call took nothing";
  cache->truncate(0, 17);  // keeps 2 of 3 pages
  EXPECT_TRUE(cache->grow(1, 32));
  EXPECT_FALSE(cache->grow(1, 33));
}

TEST_F(KvCacheTest, RunsOfOneHeadDoNotOverlap) {
  const auto cache = make(16, 1);
  ASSERT_TRUE(cache->grow(0, 16));
  const KvLayers& layers = cache->layers(*stream_);
  std::set<const std::byte*> starts;
  for (int64_t layer = 0; layer < kLayout.n_layer; ++layer) {
    const KvView view = layers.layer(layer);
    for (int64_t head = 0; head < kLayout.n_head_kv; ++head) {
      EXPECT_TRUE(starts.insert(view.pages + view.k_offset(head)).second);
      EXPECT_TRUE(starts.insert(view.pages + view.v_offset(head)).second);
      EXPECT_LE(view.v_offset(head) + view.v_row_bytes * 16, view.page_bytes);
    }
  }
}

// A device that gives memory in small pieces gets a buffer for every few layers.
TEST_F(KvCacheTest, LayersAreSpreadOverTheBuffersThatADeviceAllows) {
  class SmallPieces final : public Device {
   public:
    SmallPieces(Device& device, size_t most) : device_(device), most_(most) {}
    std::string_view name() const override { return "small"; }
    std::string_view description() const override { return "small"; }
    DeviceMemory memory() const override { return device_.memory(); }
    const OpTable& ops() const override { return device_.ops(); }
    size_t max_buffer_bytes() const override { return most_; }
    Result<std::unique_ptr<Buffer>> allocate(size_t bytes) override {
      n_allocations += 1;
      if (bytes > most_) return fail(ErrorCode::out_of_memory, "{} bytes are too many", bytes);
      return device_.allocate(bytes);
    }
    Result<std::unique_ptr<Buffer>> import_weights(std::span<const std::byte> bytes) override {
      return device_.import_weights(bytes);
    }
    std::unique_ptr<Stream> make_stream() override { return device_.make_stream(); }
    int n_allocations = 0;

   private:
    Device& device_;
    size_t most_;
  };
  KvLayout layout = kLayout;
  layout.n_layer = 7;
  const size_t layer_bytes = layout.page_bytes() / 7 * 4;
  SmallPieces device(*device_, 3 * layer_bytes + 100);
  const auto cache = KvCache::create(device, layout, 4 * layout.page_tokens, 1);
  ASSERT_TRUE(cache) << cache.error().message;
  EXPECT_EQ(device.n_allocations, 4);  // three, three and one layers, and the page table
  const KvLayers& layers = (*cache)->layers(*stream_);
  std::set<const Buffer*> buffers;
  for (int64_t layer = 0; layer < 7; ++layer) {
    const KvView view = layers.layer(layer);
    EXPECT_EQ(view.layer_bytes, layer_bytes);
    EXPECT_GE(view.pages, view.buffer->base());
    EXPECT_LE(view.pages + view.layer_bytes, view.buffer->base() + view.buffer->size());
    buffers.insert(view.buffer);
  }
  EXPECT_EQ(buffers.size(), 3u);
  SmallPieces too_small(*device_, layer_bytes / 2);
  EXPECT_FALSE(KvCache::create(too_small, layout, 4 * layout.page_tokens, 1));
}

TEST_F(KvCacheTest, FormatsThatDoNotFitAreRefusedInWords) {
  KvLayout layout = kLayout;
  layout.head_dim_k = 20;
  layout.policy.k.format = KvFormat::q8_0;
  const auto cache = KvCache::create(*device_, layout, 16, 1);
  ASSERT_FALSE(cache);
  EXPECT_NE(cache.error().message.find("--cache-type-k q8_0"), std::string::npos) << cache.error().message;
}

TEST_F(KvCacheTest, AbsurdSizesAreRefused) {
  for (const int64_t n_ctx : {int64_t{1} << 40, int64_t{1} << 60}) {
    const auto cache = KvCache::create(*device_, kLayout, n_ctx, 1);
    ASSERT_FALSE(cache);
    EXPECT_EQ(cache.error().code, ErrorCode::out_of_memory);
    EXPECT_NE(cache.error().message.find("--ctx-size"), std::string::npos) << cache.error().message;
  }
}

}  // namespace
}  // namespace parlance
