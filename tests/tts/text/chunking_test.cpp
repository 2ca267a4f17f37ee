#include "tts/text/chunking.h"
#include "support/json_file.h"

#include <random>

#include "support/fixtures.h"
#include "support/processor_time.h"
#include "text/unicode.h"
#include "tts/text/duration.h"

namespace parlance {
namespace {

using Chunks = std::vector<std::string>;

TEST(SplitChunks, GivesWhatIsRecorded) {
  PARLANCE_REQUIRE_FIXTURES("omnivoice/text/chunk.json");
  const auto rows = test::read_json(test::fixtures_root() / "omnivoice/text/chunk.json");
  ASSERT_GE(rows.size(), 80u);
  for (const auto& row : rows) {
    EXPECT_EQ(split_chunks(row.at("text").get<std::string>(), row.at("chunk_len").get<size_t>(),
                           row.at("min_chunk_len").get<size_t>()),
              row.at("chunks").get<Chunks>())
        << row;
  }
}

TEST(ChunkSplitter, GivesWhatIsRecorded) {
  PARLANCE_REQUIRE_FIXTURES("omnivoice/text/chunk_stream.json");
  const auto rows = test::read_json(test::fixtures_root() / "omnivoice/text/chunk_stream.json");
  ASSERT_GE(rows.size(), 10u);
  for (const auto& row : rows) {
    ChunkSplitter splitter(row.at("chunk_len").get<size_t>(), row.at("min_chunk_len").get<size_t>());
    for (size_t i = 0; i < row.at("pieces").size(); ++i) {
      EXPECT_EQ(splitter.push(row.at("pieces")[i].get<std::string>()), row.at("pushes")[i].get<Chunks>())
          << "push " << i << " of " << row;
    }
    EXPECT_EQ(splitter.finish(), row.at("flush").get<Chunks>()) << row;
  }
}

TEST(SplitChunks, KeepsAbbreviationsAndClosingMarks) {
  EXPECT_EQ(split_chunks("Dr. A. He.", 1, 0), (Chunks{"Dr. A.", "He."}));
  EXPECT_EQ(split_chunks("xDr. A.", 1, 0), (Chunks{"xDr.", "A."}));
  EXPECT_EQ(split_chunks("Yes!?.\u201D) No", 1, 0), (Chunks{"Yes!?.\u201D", ") No"}));
  EXPECT_EQ(split_chunks("……a。", 1, 0), Chunks{"……a。"});
}

TEST(SplitChunks, JoinsShortChunks) {
  // The first is joined to the second even if both together are short; then the third stands alone.
  EXPECT_EQ(split_chunks("a.b.ccccc.", 1, 5), (Chunks{"a.b.", "ccccc."}));
  EXPECT_EQ(split_chunks("aaaaa.b.c.", 1, 5), Chunks{"aaaaa.b.c."});
  EXPECT_EQ(split_chunks("a.", 1, 5), Chunks{"a."});
}

TEST(SplitChunks, TakesAnyBytes) {
  EXPECT_EQ(split_chunks("", 10), Chunks{});
  EXPECT_EQ(split_chunks(" \u3000\uFEFF\n", 10), Chunks{});
  EXPECT_EQ(split_chunks("\xFF.\xE3\x80", 1, 0), (Chunks{"\xFF.", "\xE3\x80"}));
  EXPECT_EQ(split_chunks(std::string(100'000, 'a'), 10).size(), 1u);
}

TEST(ChunkLength, IsThatOfTheRecordedRun) {
  const std::string text =
      "This is a test of speech. The quick brown fox jumped over the lazy dog, and the world said hello. "
      "Hello "
      "world.";
  const int32_t n_frames = n_target_frames(text, "", 0);
  EXPECT_EQ(n_frames, 161);
  EXPECT_EQ(chunk_length(1.2f, 25, n_frames, count_code_points(text)), 20u);
  std::vector<size_t> lengths;
  for (const std::string& chunk : split_chunks(text, 20)) lengths.push_back(chunk.size());
  EXPECT_EQ(lengths, (std::vector<size_t>{25, 45, 25, 12}));
}

TEST(ChunkLength, IsAtLeastOne) {
  EXPECT_EQ(chunk_length(0.001, 25, 1000, 10), 1u);
  EXPECT_EQ(chunk_length(15, 25, 0, 0), 1u);
  EXPECT_EQ(chunk_length(15, 25, 1, 0), 1u);
  EXPECT_GT(chunk_length(15, 25, 0, 10), 1000u);
}

// What the splitter is defined by: all chunks of what has been pushed, without the last, and without the one
// before as long as a short one might be joined to it.
class ReferenceSplitter {
 public:
  ReferenceSplitter(size_t length, size_t shortest) : length_(length), short_chunks_(shortest) {}

  Chunks push(std::string_view text) {
    buffer_ += text;
    const Chunks all = split_chunks(buffer_, length_, 0);
    Chunks ready;
    for (; n_taken_ + 1 < all.size(); ++n_taken_) take(all[n_taken_], ready);
    return ready;
  }
  Chunks finish() {
    const Chunks all = split_chunks(buffer_, length_, 0);
    Chunks ready;
    for (; n_taken_ < all.size(); ++n_taken_) take(all[n_taken_], ready);
    if (!held_.empty()) ready.push_back(held_);
    return ready;
  }

 private:
  void take(const std::string& chunk, Chunks& ready) {
    if (short_chunks_.joins(count_code_points(chunk))) {
      held_ += chunk;
      return;
    }
    if (!held_.empty()) ready.push_back(held_);
    held_ = chunk;
  }

  size_t length_;
  ShortChunks short_chunks_;
  std::string buffer_, held_;
  size_t n_taken_ = 0;
};

TEST(ChunkSplitter, SplitsAnewWithEveryPiece) {
  std::mt19937_64 random(11);
  const std::string_view parts[] = {"a",  "bc", "Dr", ".", ",",  " ",      "  ",
                                    "\"", "。", "好", "?", "\n", "\uFEFF", ")"};
  for (int round = 0; round < 2000; ++round) {
    const size_t length = 1 + random() % 12, shortest = random() % 5;
    ChunkSplitter splitter(length, shortest);
    ReferenceSplitter reference(length, shortest);
    std::string text;
    for (size_t n = random() % 20; n > 0; --n) {
      std::string piece;
      for (size_t m = random() % 4; m > 0; --m) piece += parts[random() % std::size(parts)];
      text += piece;
      ASSERT_EQ(splitter.push(piece), reference.push(piece)) << testing::PrintToString(text) << length;
    }
    ASSERT_EQ(splitter.finish(), reference.finish()) << testing::PrintToString(text) << length;
  }
}

TEST(ChunkSplitter, TakesCodePointsInParts) {
  ChunkSplitter splitter(2, 0);
  Chunks chunks;
  for (const char byte : std::string("好。\xFFの！x。y")) {
    for (std::string& chunk : splitter.push({&byte, 1})) chunks.push_back(std::move(chunk));
  }
  for (std::string& chunk : splitter.finish()) chunks.push_back(std::move(chunk));
  EXPECT_EQ(chunks, (Chunks{"好。", "\uFFFDの！", "x。", "y"}));
}

TEST(ChunkSplitter, TakesTimeInProportionToTheText) {
  for (const char byte : {' ', 'a', '.'}) {
    ChunkSplitter splitter(750);
    const double start = test::processor_seconds();
    size_t n_bytes = 0;
    const auto count = [&](const Chunks& chunks) {
      for (const std::string& chunk : chunks) n_bytes += chunk.size();
    };
    for (int i = 0; i < 100'000; ++i) count(splitter.push({&byte, 1}));
    count(splitter.finish());
    EXPECT_EQ(n_bytes, byte == ' ' ? 0u : 100'000u);
    EXPECT_LT(test::processor_seconds() - start, 5);
  }
}

}  // namespace
}  // namespace parlance
