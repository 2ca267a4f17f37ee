#include "tts/files/reference_cache.h"

#include <fstream>
#include <thread>

#include "support/fixtures.h"
#include "support/temporary_folder.h"

namespace parlance {
namespace {

EncodedReference reference_of(int32_t code, int64_t n_frames = 4) {
  return {.codes = {.n_codebook = 2, .codes = std::vector<int32_t>(static_cast<size_t>(2 * n_frames), code)},
          .rms = 0.25f};
}

TEST(ReferenceCache, KeysDependOnEverySampleAndOnHowItWasMade) {
  const std::vector<float> samples{0.1f, 0.2f, 0.3f};
  std::vector<float> others = samples;
  others[2] += 1e-6f;
  const ReferenceKey key = reference_key(samples, "codec");
  EXPECT_EQ(key, reference_key(samples, "codec"));
  EXPECT_NE(key, reference_key(others, "codec"));
  EXPECT_NE(key, reference_key(samples, "codec, trimmed"));
  EXPECT_NE(key, reference_key(std::span(samples).first(2), "codec"));
}

TEST(ReferenceCache, TheOneThatWasNotUsedForTheLongestTimeIsForgotten) {
  ReferenceCache cache(500);  // bytes: room for three
  for (uint64_t i = 1; i <= 3; ++i)
    ASSERT_TRUE(cache.insert({.low = i}, reference_of(static_cast<int32_t>(i))));
  EXPECT_EQ(cache.find({.low = 1}), reference_of(1));
  ASSERT_TRUE(cache.insert({.low = 4}, reference_of(4)));
  EXPECT_FALSE(cache.find({.low = 2}));
  EXPECT_EQ(cache.find({.low = 1}), reference_of(1));
  EXPECT_EQ(cache.find({.low = 3}), reference_of(3));
  EXPECT_EQ(cache.find({.low = 4}), reference_of(4));
  EXPECT_LE(cache.bytes_in_memory(), 500u);

  ASSERT_TRUE(cache.insert({.low = 3}, reference_of(33)));  // in place of what was there
  EXPECT_EQ(cache.find({.low = 3}), reference_of(33));
  ASSERT_TRUE(cache.insert({.low = 5}, reference_of(5, 1000)));  // larger than all there is
  EXPECT_FALSE(cache.find({.low = 5}));
  EXPECT_EQ(cache.find({.low = 3}), reference_of(33));
}

TEST(ReferenceCache, AFolderOutlivesTheProgram) {
  const test::TemporaryFolder folder;
  const ReferenceKey key{.low = 1, .high = 2}, other{.low = 3, .high = 2};
  ASSERT_TRUE(ReferenceCache(0, folder / "references").insert(key, reference_of(7)));
  ReferenceCache cache(10000, folder / "references");
  EXPECT_EQ(cache.find(key), reference_of(7));
  EXPECT_GT(cache.bytes_in_memory(), 0u);
  EXPECT_FALSE(cache.find(other));

  // A file under another's name is not believed.
  const auto path = std::filesystem::directory_iterator(folder / "references")->path();
  std::string name = path.filename().string();
  name.replace(name.find("0001."), 5, "0003.");
  std::filesystem::rename(path, folder / ("references/" + name));
  EXPECT_FALSE(ReferenceCache(10000, folder / "references").find(other));
}

TEST(ReferenceCache, AFolderThatCannotBeWrittenIsNamed) {
  const test::TemporaryFolder folder;
  std::ofstream(folder / "file") << "no folder";
  ReferenceCache cache(10000, folder / "file/references");
  const auto result = cache.insert({.low = 1}, reference_of(1));
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("references"), std::string::npos) << result.error().message;
  EXPECT_EQ(cache.find({.low = 1}), reference_of(1));
}

TEST(ReferenceCache, EveryFlippedBitAndTruncationOfAFileCountsAsAbsent) {
  const ReferenceKey key{.low = 1, .high = 2};
  const std::string good = encoded_reference_bytes(key, reference_of(7, 3));
  EXPECT_EQ(parse_encoded_reference(std::as_bytes(std::span(good)), key), reference_of(7, 3));
  for (size_t n = 0; n < good.size(); ++n)
    EXPECT_FALSE(parse_encoded_reference(std::as_bytes(std::span(good).first(n)), key)) << n;
  for (size_t bit = 0; bit < 8 * good.size(); ++bit) {
    std::string bytes = good;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
    EXPECT_FALSE(parse_encoded_reference(std::as_bytes(std::span(bytes)), key)) << bit;
  }
}

TEST(ReferenceCache, SeveralThreadsMayUseIt) {
  ReferenceCache cache(1000);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (uint64_t i = 0; i < 100; ++i) {
        const auto code = static_cast<int32_t>(i % 9);
        const auto found = cache.find({.low = i % 9});
        if (found) {
          EXPECT_EQ(*found, reference_of(code));
        }
        EXPECT_TRUE(cache.insert({.low = i % 9}, reference_of(code)));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(cache.bytes_in_memory(), 1000u);
}

}  // namespace
}  // namespace parlance
