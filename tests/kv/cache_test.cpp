#include "kv/cache.h"

#include <cstring>
#include <set>

#include "base/os/memory.h"
#include "base/parameter.h"
#include "gtest/gtest.h"
#include "kernels/cpu/cpu_device.h"
#include "kernels/ops.h"

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

  std::unique_ptr<KvCache> make(const KvLayout& layout, PageCounts n_pages, int64_t n_ctx, int n_seq) {
    auto cache = KvCache::create(*device_, layout, n_pages, n_ctx, n_seq);
    EXPECT_TRUE(cache) << cache.error().message;
    return *std::move(cache);
  }

  static std::span<std::byte> page_of(const KvView& view, int32_t page) {
    return {view.pages + static_cast<size_t>(page) * view.page_bytes, view.page_bytes};
  }

  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
};

TEST_F(KvCacheTest, BytesFollowFromFormats) {
  EXPECT_EQ(kLayout.bytes_per_token(), 3u * 2 * (64 * 2 + 32 * 2));
  KvLayout mixed = kLayout;
  mixed.policy.k.format = KvFormat::q8_0;
  EXPECT_EQ(mixed.bytes_per_token(), 3u * 2 * (2 * 34 + 32 * 2));
  mixed.policy.layers = {{.layer = -1, .k = KvFormat::tbq4_0, .v = KvFormat::tbq3_0}};
  EXPECT_EQ(mixed.bytes_per_token(), 2u * 2 * (2 * 34 + 32 * 2) + 2 * (2 * 18 + 14));
  EXPECT_EQ(mixed.exact_bytes_per_token(), kLayout.bytes_per_token());
}

TEST_F(KvCacheTest, PagesFollowFromTheContext) {
  EXPECT_EQ(kLayout.n_pages(160, 2, 512), (PageCounts{22, 0}));
  KvLayout windowed = kLayout;
  windowed.policy.n_sink = 1;
  windowed.policy.n_recent = 20;
  EXPECT_EQ(windowed.n_pages(1600, 1, 32), (PageCounts{101, 1 + 2 + 2 + 2}));
  EXPECT_EQ(windowed.n_pages(32, 1, 512), (PageCounts{3, 3})) << "no more than the context has";
}

TEST_F(KvCacheTest, TablesSayWherePositionsAre) {
  KvLayout windowed = kLayout;
  windowed.policy.n_recent = 16;
  const auto cache = make(windowed, {8, 4}, 64, 2);
  const PageRef pages[] = {{.main = 5}, {.main = 7, .exact = 2}, {.exact = 1}};
  cache->set_pages(1, pages, 0, 1);
  const KvView& view = cache->layers(*stream_).layer(2);
  const auto* main_row = view.page_table.as<int32_t>() + view.page_table.ne[0];
  EXPECT_EQ(main_row[0], 5);
  EXPECT_EQ(main_row[1], 7);
  const auto* exact_row = view.exact->page_table.as<int32_t>() + view.exact->page_table.ne[0];
  EXPECT_EQ(exact_row[1], 2);
  EXPECT_EQ(exact_row[2], 1);
  EXPECT_EQ(view.main_pages.as<int32_t>()[2], 0);
  EXPECT_EQ(view.main_pages.as<int32_t>()[3], 1);
}

TEST_F(KvCacheTest, RunsOfOneHeadDoNotOverlap) {
  const auto cache = make(kLayout, {2, 0}, 16, 1);
  const KvLayers& layers = cache->layers(*stream_);
  std::set<const std::byte*> starts;
  for (int64_t layer = 0; layer < kLayout.n_layer; ++layer) {
    const KvView& view = layers.layer(layer);
    for (int64_t head = 0; head < kLayout.n_head_kv; ++head) {
      EXPECT_TRUE(starts.insert(view.pages + view.k_offset(head)).second);
      EXPECT_TRUE(starts.insert(view.pages + view.v_offset(head)).second);
      EXPECT_LE(view.v_offset(head) + view.v_row_bytes * 16, view.page_bytes);
    }
  }
}

TEST_F(KvCacheTest, ACopiedPageIsTheSameInEveryLayer) {
  const auto cache = make(kLayout, {3, 0}, 48, 1);
  for (int64_t layer = 0; layer < kLayout.n_layer; ++layer) {
    const auto page = page_of(cache->layers(*stream_).layer(layer), 1);
    for (size_t i = 0; i < page.size(); ++i)
      page[i] = static_cast<std::byte>(i * 7 + static_cast<size_t>(layer));
  }
  cache->copy_page(*stream_, {PageKind::main, 1, 2, 5});
  for (int64_t layer = 0; layer < kLayout.n_layer; ++layer) {
    const KvView& view = cache->layers(*stream_).layer(layer);
    EXPECT_EQ(std::memcmp(page_of(view, 1).data(), page_of(view, 2).data(), view.page_bytes), 0);
  }
}

TEST_F(KvCacheTest, SavedPagesComeBackAndHideWhatLiesBehind) {
  const auto cache = make(kLayout, {2, 0}, 32, 1);
  for (int64_t layer = 0; layer < kLayout.n_layer; ++layer) {
    std::ranges::fill(page_of(cache->layers(*stream_).layer(layer), 0), std::byte{0x5a});
  }
  std::vector<std::byte> bytes(kLayout.page_bytes(PageKind::main));
  ASSERT_TRUE(cache->save_page(*stream_, PageKind::main, 0, 3, bytes));
  cache->restore_page(*stream_, PageKind::main, 1, bytes);
  for (int64_t layer = 0; layer < kLayout.n_layer; ++layer) {
    const KvView& view = cache->layers(*stream_).layer(layer);
    const auto page = page_of(view, 1);
    for (int64_t head = 0; head < kLayout.n_head_kv; ++head) {
      EXPECT_EQ(page[view.k_offset(head) + 3 * view.k_row_bytes - 1], std::byte{0x5a});
      EXPECT_EQ(page[view.k_offset(head) + 3 * view.k_row_bytes], std::byte{0});
      EXPECT_EQ(page[view.v_offset(head) + 3 * view.v_row_bytes - 1], std::byte{0x5a});
      EXPECT_EQ(page[view.v_offset(head) + 16 * view.v_row_bytes - 1], std::byte{0});
    }
  }
}

// Every row of an exact page, encoded by the format's definition.
TEST_F(KvCacheTest, CompressedPagesHoldTheSamePositions) {
  KvLayout windowed = kLayout;
  windowed.policy = {.k = {.format = KvFormat::tbq4_0}, .v = {.format = KvFormat::q8_0}, .n_recent = 16};
  const auto cache = make(windowed, {4, 4}, 64, 1);
  auto scalar = *make_cpu_device({.n_threads = 1, .isa = "scalar"});
  const auto stream = scalar->make_stream();
  const Plan plan = stream->dry_run([&] { cache->plan_compress(*stream); });
  ASSERT_TRUE(plan.missing.empty());
  ASSERT_TRUE(stream->reserve(plan));
  const KvView& view = cache->layers(*stream).layer(1);
  const KvView& exact = *view.exact;
  std::vector<float> x(64);
  for (int64_t row = 0; row < 16; ++row) {
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = static_cast<float>((i * 37 + static_cast<size_t>(row) * 11) % 101) - 50;
    std::byte* page = page_of(exact, 3).data();
    exact.k.encode(x.data(), page + exact.k_offset(1) + static_cast<size_t>(row) * exact.k_row_bytes, 64);
    exact.v.encode(x.data(), page + exact.v_offset(0) + static_cast<size_t>(row) * exact.v_row_bytes, 32);
  }
  const KvCache::Move moves[] = {{3, 1}};
  cache->compress(*stream, moves);
  std::vector<std::byte> k(view.k_row_bytes), v(view.v_row_bytes);
  for (int64_t row = 0; row < 16; ++row) {
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = static_cast<float>((i * 37 + static_cast<size_t>(row) * 11) % 101) - 50;
    view.k.encode(x.data(), k.data(), 64);
    view.v.encode(x.data(), v.data(), 32);
    const std::byte* page = page_of(view, 1).data();
    EXPECT_EQ(std::memcmp(page + view.k_offset(1) + static_cast<size_t>(row) * view.k_row_bytes, k.data(),
                          k.size()),
              0);
    EXPECT_EQ(std::memcmp(page + view.v_offset(0) + static_cast<size_t>(row) * view.v_row_bytes, v.data(),
                          v.size()),
              0);
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
  const size_t layer_bytes = layout.page_bytes(PageKind::main) / 7 * 4;
  SmallPieces device(*device_, 3 * layer_bytes + 100);
  const auto cache = KvCache::create(device, layout, {4, 0}, 4 * layout.page_tokens, 1);
  ASSERT_TRUE(cache) << cache.error().message;
  EXPECT_EQ(device.n_allocations, 4);  // three, three and one layers, and the page table
  const KvLayers& layers = (*cache)->layers(*stream_);
  std::set<const Buffer*> buffers;
  for (int64_t layer = 0; layer < 7; ++layer) {
    const KvView& view = layers.layer(layer);
    EXPECT_EQ(view.layer_bytes, layer_bytes);
    EXPECT_GE(view.pages, view.buffer->base());
    EXPECT_LE(view.pages + view.layer_bytes, view.buffer->base() + view.buffer->size());
    buffers.insert(view.buffer);
  }
  EXPECT_EQ(buffers.size(), 3u);
  SmallPieces too_small(*device_, layer_bytes / 2);
  EXPECT_FALSE(KvCache::create(too_small, layout, {4, 0}, 4 * layout.page_tokens, 1));
}

TEST_F(KvCacheTest, WhatDoesNotFitIsRefusedInWords) {
  KvLayout layout = kLayout;
  layout.head_dim_k = 20;
  layout.policy.k.format = KvFormat::q8_0;
  const auto odd = KvCache::create(*device_, layout, {2, 0}, 16, 1);
  ASSERT_FALSE(odd);
  EXPECT_NE(odd.error().message.find(set_to(Parameter::cache_type_k, "q8_0")), std::string::npos)
      << odd.error().message;
  layout = kLayout;
  layout.policy.v.format = KvFormat::q4_polar;
  const auto large_block = KvCache::create(*device_, layout, {2, 0}, 16, 1);
  ASSERT_FALSE(large_block);
  EXPECT_NE(large_block.error().message.find("multiple of 128"), std::string::npos);
  layout = kLayout;
  layout.policy.layers = {{.layer = 3, .k = KvFormat::f16, .v = KvFormat::f16}};
  const auto no_layer = KvCache::create(*device_, layout, {2, 0}, 16, 1);
  ASSERT_FALSE(no_layer);
  EXPECT_NE(no_layer.error().message.find("layer 3"), std::string::npos) << no_layer.error().message;
}

TEST_F(KvCacheTest, AbsurdSizesAreRefused) {
  for (const int64_t n_ctx : {int64_t{1} << 40, int64_t{1} << 60}) {
    const auto cache = KvCache::create(*device_, kLayout, kLayout.n_pages(n_ctx, 1, 512), n_ctx, 1);
    ASSERT_FALSE(cache);
    EXPECT_EQ(cache.error().code, ErrorCode::out_of_memory);
    EXPECT_NE(cache.error().message.find(mark_of(Parameter::ctx_size)), std::string::npos)
        << cache.error().message;
  }
}

// Pages of a quarter of a MiB in each of four layers, eight of which are taken together.
const KvLayout kLargePages{
    .n_layer = 4, .n_head_kv = 8, .head_dim_k = 128, .head_dim_v = 128, .policy = {}, .page_tokens = 64};

TEST_F(KvCacheTest, MemoryIsTakenAheadLittleByLittleAndNoMoreThanWanted) {
  constexpr size_t kMiB = size_t{1} << 20;
  const auto cache = make(kLargePages, {96, 0}, 96 * 64, 1);
  EXPECT_LT(cache->layers(*stream_).layer(0).layer_bytes, 25 * kMiB);
  cache->take_memory_ahead(*stream_, PageKind::main, {11, 11}, 1);  // an emulator translates it now
  const size_t before = resident_memory();
  if (before == 0) GTEST_SKIP() << "the system does not tell how much memory a process has";
  cache->take_memory_ahead(*stream_, PageKind::main, {11, 11}, 1);
  EXPECT_LT(resident_memory(), before + kMiB) << "nothing is wanted";
  size_t last = before;
  for (int layer = 0; layer < 4; ++layer) {
    cache->take_memory_ahead(*stream_, PageKind::main, {11, 13}, 1);
    const size_t now = resident_memory();
    EXPECT_GE(now, last + kMiB) << "pages 11 to 15 of layer " << layer;
    EXPECT_LE(now, last + 5 * kMiB) << "layer " << layer;
    last = now;
  }
  for (int i = 0; i < 50; ++i) cache->take_memory_ahead(*stream_, PageKind::main, {12, 16}, 7);
  EXPECT_LT(resident_memory(), last + kMiB) << "pages of the same group";
  cache->take_memory_ahead(*stream_, PageKind::main, {16, 17}, 512);
  EXPECT_GE(resident_memory(), last + 7 * kMiB) << "as much as many positions need, in one step";
}

// Also in pages that somebody begins while it is taken.
TEST_F(KvCacheTest, TakingMemoryChangesNoByte) {
  const auto cache = make(kLargePages, {24, 0}, 24 * 64, 1);
  const KvLayers& layers = cache->layers(*stream_);
  const auto all_are = [&](int64_t layer, int32_t page, std::byte want) {
    return std::ranges::all_of(page_of(layers.layer(layer), page), [&](std::byte b) { return b == want; });
  };
  for (int64_t layer = 0; layer < 4; ++layer) {
    for (int32_t page = 0; page < 18; ++page)
      std::ranges::fill(page_of(layers.layer(layer), page), std::byte{0x5a});
  }
  for (const int32_t end : {12, 20, 24}) cache->take_memory_ahead(*stream_, PageKind::main, {11, end}, 5000);
  for (int64_t layer = 0; layer < 4; ++layer) {
    for (int32_t page = 0; page < 24; ++page)
      EXPECT_TRUE(all_are(layer, page, page < 18 ? std::byte{0x5a} : std::byte{0}))
          << "page " << page << " of layer " << layer;
  }
}

// The exact pages have memory of their own.
TEST_F(KvCacheTest, MemoryOfBothKindsIsTaken) {
  KvLayout windowed = kLargePages;
  windowed.policy = {.k = {.format = KvFormat::q8_0}, .v = {.format = KvFormat::q8_0}, .n_recent = 64};
  const auto cache = make(windowed, {64, 64}, 64 * 64, 1);
  for (const PageKind kind : kPageKinds) {
    const size_t before = resident_memory();
    cache->take_memory_ahead(*stream_, kind, {0, 1}, 1000);
    EXPECT_GE(resident_memory(), before + (size_t{6} << 20));
  }
}

}  // namespace
}  // namespace parlance
