#include "bundle/known_digests.h"

#include <chrono>
#include <fstream>
#include <functional>

#include "gtest/gtest.h"
#include "support/temporary_folder.h"

namespace parlance {
namespace {

namespace fs = std::filesystem;

// In place of the system's times, whose ticks are too coarse for a test: the first byte is the time.
std::optional<FileStamp> stamp_by_first_byte(const fs::path& path) {
  std::ifstream file(path);
  char first = 0;
  if (!file.get(first) || first == '?') return std::nullopt;
  return FileStamp{.inode = std::hash<std::string>()(path.string()), .written_ns = first};
}

class KnownDigestsTest : public testing::Test {
 protected:
  fs::path write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }
  std::string digest(const fs::path& path) {
    const auto found = known_.of(std::vector{path});
    EXPECT_TRUE(found.front()) << found.front().error().message;
    return found.front() ? found.front()->sha256 : "";
  }

  const test::TemporaryFolder folder_;
  KnownDigests known_{stamp_by_first_byte};
};

TEST_F(KnownDigestsTest, AFileThatStaysAsItIsIsReadOnce) {
  const fs::path file = write("a", "1 one");
  const std::string one = digest(file);
  EXPECT_EQ(digest(file), one);
  EXPECT_EQ(known_.n_computed(), 1u);
  write("a", "2 two");
  const std::string two = digest(file);
  EXPECT_NE(two, one);
  EXPECT_EQ(digest(file), two);
  EXPECT_EQ(known_.n_computed(), 2u);
}

TEST_F(KnownDigestsTest, WhatWasWrittenJustNowIsReadAgain) {
  const fs::path file = write("a", "? one");
  const std::string one = digest(file);
  EXPECT_EQ(digest(file), one);
  EXPECT_EQ(known_.n_computed(), 2u);
  write("a", "? two");
  EXPECT_NE(digest(file), one);
}

TEST_F(KnownDigestsTest, EachOfSeveralHasItsOwn) {
  const fs::path a = write("a", "1 one"), b = write("b", "1 two");
  digest(b);
  const auto found = known_.of(std::vector{a, folder_ / "none", b, a});
  ASSERT_EQ(found.size(), 4u);
  ASSERT_TRUE(found[0] && found[2] && found[3]);
  EXPECT_FALSE(found[1]);
  EXPECT_EQ(found[0]->sha256, found[3]->sha256);
  EXPECT_NE(found[0]->sha256, found[2]->sha256);
}

TEST(SettledStamp, IsNotThatOfAFileThatWasWrittenJustNow) {
  const test::TemporaryFolder folder;
  std::ofstream(folder / "a") << "one";
  EXPECT_FALSE(settled_stamp(folder / "a"));
  EXPECT_FALSE(settled_stamp(folder / "none"));
  // The system's own note of the change stays, whatever the file says of itself.
  fs::last_write_time(folder / "a", fs::file_time_type::clock::now() - std::chrono::hours(1));
  EXPECT_FALSE(settled_stamp(folder / "a"));
}

}  // namespace
}  // namespace parlance
