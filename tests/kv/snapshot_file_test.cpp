#include "kv/snapshot_file.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <fstream>

#include "support/fixtures.h"

// The calls by which a file comes into being, so that a test can kill the process at each of them.
namespace {
int n_calls_left = -1;  // before the process is killed; below 0: it is not

bool is_last_call() {
  return n_calls_left >= 0 && n_calls_left-- == 0;
}
}  // namespace

extern "C" ssize_t write(int fd, const void* data, size_t n_bytes) {
  const bool last = is_last_call();
  const ssize_t n = ::syscall(SYS_write, fd, data, last ? n_bytes / 2 : n_bytes);
  if (last) ::raise(SIGKILL);
  return n;
}

extern "C" int fsync(int fd) {
  if (is_last_call()) ::raise(SIGKILL);
  return static_cast<int>(::syscall(SYS_fsync, fd));
}

extern "C" int rename(const char* from, const char* to) noexcept {
  if (is_last_call()) ::raise(SIGKILL);
  return static_cast<int>(::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}

namespace parlance {
namespace {

namespace fs = std::filesystem;
using Text = std::vector<int32_t>;
using Blocks = std::vector<std::string>;

const SnapshotIdentity kIdentity{.model = {std::byte{1}, std::byte{2}, std::byte{3}},
                                 .layout = "K q8_0 V q4_0, 2 layers of 4 x 64",
                                 .page_tokens = 2};
const Text kText{10, 11, 12, 13, 14};
const Blocks kBlocks{"keys of the first page", "values", "", std::string("k\0k", 3)};

class SnapshotFileTest : public testing::Test {
 protected:
  void SetUp() override {
    const testing::TestInfo* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::path(testing::TempDir()) / (std::string("parlance_snapshot_") + test->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    path_ = folder_ / "a.long.bin";
  }
  void TearDown() override { fs::remove_all(folder_); }

  static std::span<const std::byte> bytes_of(const std::string& text) {
    return std::as_bytes(std::span(text));
  }

  // Assertion-free, since a child process runs it.
  static Result<void> write_snapshot(const fs::path& path, const SnapshotIdentity& identity,
                                     const Text& tokens, const Blocks& blocks) {
    std::vector<uint64_t> sizes;
    for (const std::string& block : blocks) sizes.push_back(block.size());
    PARLANCE_TRY(SnapshotWriter writer, SnapshotWriter::create(path, identity, tokens, sizes));
    for (const std::string& block : blocks) PARLANCE_CHECK(writer.write_block(bytes_of(block)));
    return writer.commit();
  }
  std::string small_file() {
    EXPECT_TRUE(write_snapshot(path_, kIdentity, kText, kBlocks));
    return test::read_text(path_);
  }

  Result<SnapshotFile> parse(const std::string& bytes, const Text& tokens = kText) {
    return SnapshotFile::parse(bytes_of(bytes), "chat.long.bin", kIdentity, tokens, refusals_);
  }
  // Refused for the reason and no other one, in words that name the file and the remedy.
  void expect_refused(const Result<SnapshotFile>& file, SnapshotRefusal reason) {
    ASSERT_FALSE(file);
    EXPECT_EQ(refusals_.count(reason), 1u) << file.error().message;
    EXPECT_EQ(n_refused(), 1u);
    EXPECT_NE(file.error().message.find(".long.bin"), std::string::npos) << file.error().message;
    EXPECT_NE(file.error().message.find("computed again, delete the file"), std::string::npos);
  }
  uint64_t n_refused() const {
    uint64_t n = 0;
    for (int reason = 0; reason < 6; ++reason) n += refusals_.count(static_cast<SnapshotRefusal>(reason));
    return n;
  }

  fs::path folder_;
  fs::path path_;
  SnapshotRefusals refusals_;
};

TEST_F(SnapshotFileTest, WhatWasWrittenComesBack) {
  ASSERT_TRUE(write_snapshot(path_, kIdentity, kText, kBlocks));
  const Result<SnapshotFile> file = SnapshotFile::open(path_, kIdentity, kText, refusals_);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->tokens(), kText);
  EXPECT_EQ(file->n_usable(), 5);
  ASSERT_EQ(file->n_blocks(), kBlocks.size());
  for (size_t i = 0; i < kBlocks.size(); ++i) {
    EXPECT_TRUE(std::ranges::equal(file->block(i), bytes_of(kBlocks[i])));
  }
  EXPECT_TRUE(file->still_whole());
  EXPECT_EQ(n_refused(), 0u);
}

TEST_F(SnapshotFileTest, TellsHowMuchOfTheTextItHas) {
  const std::string bytes = small_file();
  EXPECT_EQ(parse(bytes, {10, 11, 12, 13, 14, 15, 16})->n_usable(), 5);
  EXPECT_EQ(parse(bytes, {10, 11, 12, 99})->n_usable(), 3);
  EXPECT_EQ(parse(bytes, {10, 11})->n_usable(), 2);
}

TEST_F(SnapshotFileTest, OtherTextsAreRefused) {
  expect_refused(parse(small_file(), {10, 99, 12, 13, 14}), SnapshotRefusal::other_text);
}

TEST_F(SnapshotFileTest, ATextOfLessThanAPageIsUsedWhole) {
  ASSERT_TRUE(write_snapshot(path_, kIdentity, {10}, {"k"}));
  EXPECT_EQ(parse(test::read_text(path_), {10, 11, 12})->n_usable(), 1);
  EXPECT_FALSE(parse(test::read_text(path_), {11}));
  ASSERT_TRUE(write_snapshot(path_, kIdentity, {}, {}));
  EXPECT_FALSE(parse(test::read_text(path_), {11})) << "nothing is of no use";
}

TEST_F(SnapshotFileTest, OtherModelsAreRefused) {
  SnapshotIdentity other = kIdentity;
  other.model[15] = std::byte{1};
  ASSERT_TRUE(write_snapshot(path_, other, kText, kBlocks));
  expect_refused(parse(test::read_text(path_)), SnapshotRefusal::other_model);
}

TEST_F(SnapshotFileTest, OtherFormatsAreRefused) {
  SnapshotIdentity other = kIdentity;
  other.layout = "K q8_0 V f16, 2 layers of 4 x 64";
  ASSERT_TRUE(write_snapshot(path_, other, kText, kBlocks));
  const Result<SnapshotFile> file = parse(test::read_text(path_));
  expect_refused(file, SnapshotRefusal::other_layout);
  EXPECT_NE(file.error().message.find("V q4_0"), std::string::npos) << file.error().message;
  EXPECT_NE(file.error().message.find("V f16"), std::string::npos) << file.error().message;
}

TEST_F(SnapshotFileTest, OtherPagesAreRefused) {
  SnapshotIdentity other = kIdentity;
  other.page_tokens = 4;
  ASSERT_TRUE(write_snapshot(path_, other, kText, kBlocks));
  expect_refused(parse(test::read_text(path_)), SnapshotRefusal::other_layout);
}

TEST_F(SnapshotFileTest, OtherVersionsAreRefused) {
  std::string bytes = small_file();
  bytes[8] = 2;
  const Result<SnapshotFile> file = parse(bytes);
  expect_refused(file, SnapshotRefusal::other_version);
  EXPECT_EQ(file.error().code, ErrorCode::unsupported);
}

TEST_F(SnapshotFileTest, OtherFilesAreRefused) {
  expect_refused(parse("GGUF and so on, for as long as the head of a snapshot is, and longer"),
                 SnapshotRefusal::not_a_snapshot);
}

TEST_F(SnapshotFileTest, AMissingFileIsNoRefusal) {
  const Result<SnapshotFile> file = SnapshotFile::open(path_, kIdentity, kText, refusals_);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, ErrorCode::not_found);
  EXPECT_EQ(n_refused(), 0u);
}

TEST_F(SnapshotFileTest, EveryFlippedBitIsNoticed) {
  std::string bytes = small_file();
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
    EXPECT_FALSE(parse(bytes)) << "bit " << bit;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
  }
  EXPECT_EQ(n_refused(), 8 * bytes.size());
  EXPECT_TRUE(parse(bytes));
}

TEST_F(SnapshotFileTest, EveryCutAndEveryAddedByteIsNoticed) {
  const std::string bytes = small_file();
  for (size_t n = 0; n < bytes.size(); ++n) EXPECT_FALSE(parse(bytes.substr(0, n))) << "cut to " << n;
  for (const char c : {'\0', 'x'}) EXPECT_FALSE(parse(bytes + c));
  EXPECT_FALSE(parse(bytes + bytes));
  EXPECT_FALSE(parse(bytes + std::string(4096, '\0')));
}

// Blocks that are whole but not where they were written, as a disk that mixes up sectors would leave them.
TEST_F(SnapshotFileTest, BlocksBelongToTheirFileAndPlace) {
  ASSERT_TRUE(write_snapshot(path_, kIdentity, kText, {"aaaa", "bbbb"}));
  const std::string bytes = test::read_text(path_);
  const size_t a = bytes.size() - 24, b = bytes.size() - 12;
  EXPECT_FALSE(parse(bytes.substr(0, a) + bytes.substr(b) + bytes.substr(a, 12)));
  ASSERT_TRUE(write_snapshot(path_, kIdentity, {10, 11, 12, 13, 99}, {"aaaa", "cccc"}));
  EXPECT_FALSE(parse(bytes.substr(0, b) + test::read_text(path_).substr(b)));
}

// Sizes that a file claims cost nothing: they are compared with what there is.
TEST_F(SnapshotFileTest, AbsurdSizesAreRefused) {
  const std::string bytes = small_file();
  for (const size_t at : {32, 40, 48}) {
    for (const uint64_t n : {uint64_t{1} << 40, uint64_t{1} << 62, ~uint64_t{0}}) {
      std::string absurd = bytes;
      std::memcpy(absurd.data() + at, &n, sizeof n);
      EXPECT_FALSE(parse(absurd));
    }
  }
  EXPECT_EQ(refusals_.count(SnapshotRefusal::damaged), 9u);
}

TEST_F(SnapshotFileTest, WithoutACommitTheOldOneStays) {
  const std::string old = small_file();
  {
    const std::vector<uint64_t> sizes{4, 4};
    Result<SnapshotWriter> writer = SnapshotWriter::create(path_, kIdentity, kText, sizes);
    ASSERT_TRUE(writer && writer->write_block(bytes_of("new ")));
  }
  EXPECT_EQ(test::read_text(path_), old);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1);
}

// Killed at each call of the system by which a file is replaced, in the middle of it if it writes.
TEST_F(SnapshotFileTest, AKilledWriterLeavesTheOldOrTheNewOne) {
  const std::string old = small_file();
  const Text new_text{10, 11, 12, 13, 14, 15, 16};
  const Blocks new_blocks{std::string(5000, 'n'), std::string(5000, 'e'), std::string(5000, 'w')};
  ASSERT_TRUE(write_snapshot(folder_ / "new", kIdentity, new_text, new_blocks));
  const std::string new_bytes = test::read_text(folder_ / "new");
  int n_old = 0, n_new = 0;
  for (int n_calls = 0;; ++n_calls) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      n_calls_left = n_calls;
      ::_exit(write_snapshot(path_, kIdentity, new_text, new_blocks) ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    const std::string bytes = test::read_text(path_);
    ASSERT_TRUE(bytes == old || bytes == new_bytes) << "killed at call " << n_calls;
    (bytes == old ? n_old : n_new) += 1;
    EXPECT_TRUE(SnapshotFile::open(path_, kIdentity, new_text, refusals_));
    if (WIFEXITED(status)) {
      EXPECT_EQ(WEXITSTATUS(status), 0);
      break;
    }
    EXPECT_EQ(WTERMSIG(status), SIGKILL);
  }
  EXPECT_EQ(n_old, 1 + 2 * 3 + 1 + 1) << "the head, three blocks with their checksums, fsync and rename";
  EXPECT_EQ(n_new, 2) << "the folder's fsync, and all calls";
}

}  // namespace
}  // namespace parlance
