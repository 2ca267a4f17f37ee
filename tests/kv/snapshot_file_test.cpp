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
const ContentHash kSound{1, 2}, kOtherSound{3, 2};
// A sound is heard behind the fourth token.
const Text kText{10, 11, 12, 13, content_token(kSound)};
const std::vector<ContentHash> kContent{kSound};
const Blocks kBlocks{"the first page",  "", std::string("k\0k", 3), "states behind 2", "and behind 5",
                     "row of the sound"};
const std::vector<int> kSeen{0, 0, 0,
                             2, 5, -4};  // tokens that states have seen, minus those before rows, 0 of pages

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
                                     const PrefixKey& text, const Blocks& blocks,
                                     const std::vector<int>& seen = {}) {
    std::vector<SnapshotBlock> announced;
    for (size_t i = 0; i < blocks.size(); ++i) {
      const int n = i < seen.size() ? seen[i] : 0;
      announced.push_back(n > 0   ? SnapshotBlock::states(static_cast<uint32_t>(n), blocks[i].size())
                          : n < 0 ? SnapshotBlock::rows(static_cast<uint32_t>(-n), blocks[i].size())
                                  : SnapshotBlock::page(kPageKinds[i % 2], blocks[i].size()));
    }
    PARLANCE_TRY(SnapshotWriter writer, SnapshotWriter::create(path, identity, text, announced));
    for (const std::string& block : blocks) PARLANCE_CHECK(writer.write_block(bytes_of(block)));
    return writer.commit();
  }
  static Result<void> write_small(const fs::path& path, const SnapshotIdentity& identity = kIdentity) {
    return write_snapshot(path, identity, {kText, kContent}, kBlocks, kSeen);
  }
  std::string small_file() {
    EXPECT_TRUE(write_small(path_));
    return test::read_text(path_);
  }

  // With all its blocks, as a reader that wants everything reads it.
  static Result<std::vector<std::string>> read_blocks(const SnapshotFile& file) {
    std::vector<std::string> blocks;
    for (size_t i = 0; i < file.blocks().size(); ++i) {
      std::string& block = blocks.emplace_back(file.blocks()[i].n_bytes, '?');
      PARLANCE_CHECK(file.read(i, std::as_writable_bytes(std::span(block))));
    }
    return blocks;
  }
  Result<SnapshotFile> parse(const std::string& bytes, const PrefixKey& text = {kText, kContent}) {
    PARLANCE_TRY(SnapshotFile file,
                 SnapshotFile::parse(bytes_of(bytes), "chat.long.bin", kIdentity, text, refusals_));
    PARLANCE_CHECK(read_blocks(file));
    return file;
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
  ASSERT_TRUE(write_small(path_));
  const Result<SnapshotFile> file =
      SnapshotFile::open(path_, kIdentity, PrefixKey{kText, kContent}, refusals_);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_TRUE(std::ranges::equal(file->text().tokens, kText));
  EXPECT_TRUE(std::ranges::equal(file->text().content, kContent));
  EXPECT_EQ(file->n_usable(), 5);
  EXPECT_EQ(file->n_pages(), 3u);
  using Kind = SnapshotBlock::Kind;
  const std::vector<SnapshotBlock> expected{{Kind::main_page, 0, 14}, {Kind::exact_page, 0, 0},
                                            {Kind::main_page, 0, 3},  {Kind::states, 2, 15},
                                            {Kind::states, 5, 12},    {Kind::rows, 4, 16}};
  EXPECT_TRUE(std::ranges::equal(file->blocks(), expected));
  const auto blocks = read_blocks(*file);
  ASSERT_TRUE(blocks) << blocks.error().message;
  EXPECT_EQ(*blocks, kBlocks);
  EXPECT_EQ(n_refused(), 0u);
}

// Cut at every place after its head was read: whoever reads on is told so in words.
TEST_F(SnapshotFileTest, ACutWhileItIsReadIsARefusal) {
  const std::string bytes = small_file();
  uint64_t n_before = 0;
  for (size_t n = 0; n < bytes.size(); ++n) {
    std::ofstream(path_, std::ios::binary) << bytes;
    const Result<SnapshotFile> file =
        SnapshotFile::open(path_, kIdentity, PrefixKey{kText, kContent}, refusals_);
    ASSERT_TRUE(file) << file.error().message;
    fs::resize_file(path_, n);
    const auto blocks = read_blocks(*file);
    ASSERT_FALSE(blocks) << n;
    EXPECT_EQ(blocks.error().code, ErrorCode::corrupt_file);
    EXPECT_NE(blocks.error().message.find("cut while it was read"), std::string::npos)
        << blocks.error().message;
    EXPECT_NE(blocks.error().message.find("a.long.bin"), std::string::npos) << blocks.error().message;
    EXPECT_EQ(refusals_.count(SnapshotRefusal::damaged), ++n_before);
  }
}

TEST_F(SnapshotFileTest, TellsHowMuchOfTheTextItHas) {
  const std::string bytes = small_file();
  Text longer = kText;
  longer.insert(longer.end(), {15, 16});
  EXPECT_EQ(parse(bytes, {longer, kContent})->n_usable(), 5);
  EXPECT_EQ(parse(bytes, Text{10, 11, 12, 99})->n_usable(), 3);
  EXPECT_EQ(parse(bytes, Text{10, 11})->n_usable(), 2);
  // Another sound whose hash makes the same token.
  ASSERT_EQ(content_token(kOtherSound), content_token(kSound));
  EXPECT_EQ(parse(bytes, {longer, std::span(&kOtherSound, 1)})->n_usable(), 4);
}

TEST_F(SnapshotFileTest, OtherTextsAreRefused) {
  expect_refused(parse(small_file(), Text{10, 99, 12, 13, 14}), SnapshotRefusal::other_text);
}

TEST_F(SnapshotFileTest, ATextOfLessThanAPageIsUsedWhole) {
  ASSERT_TRUE(write_snapshot(path_, kIdentity, Text{10}, {"k"}));
  EXPECT_EQ(parse(test::read_text(path_), Text{10, 11, 12})->n_usable(), 1);
  EXPECT_FALSE(parse(test::read_text(path_), Text{11}));
  ASSERT_TRUE(write_snapshot(path_, kIdentity, Text{}, {}));
  EXPECT_FALSE(parse(test::read_text(path_), Text{11})) << "nothing is of no use";
}

TEST_F(SnapshotFileTest, OtherModelsAreRefused) {
  SnapshotIdentity other = kIdentity;
  other.model[15] = std::byte{1};
  ASSERT_TRUE(write_small(path_, other));
  expect_refused(parse(test::read_text(path_)), SnapshotRefusal::other_model);
}

TEST_F(SnapshotFileTest, OtherFormatsAreRefused) {
  SnapshotIdentity other = kIdentity;
  other.layout = "K q8_0 V f16, 2 layers of 4 x 64";
  ASSERT_TRUE(write_small(path_, other));
  const Result<SnapshotFile> file = parse(test::read_text(path_));
  expect_refused(file, SnapshotRefusal::other_layout);
  EXPECT_NE(file.error().message.find("V q4_0"), std::string::npos) << file.error().message;
  EXPECT_NE(file.error().message.find("V f16"), std::string::npos) << file.error().message;
}

TEST_F(SnapshotFileTest, OtherPagesAreRefused) {
  SnapshotIdentity other = kIdentity;
  other.page_tokens = 4;
  ASSERT_TRUE(write_small(path_, other));
  expect_refused(parse(test::read_text(path_)), SnapshotRefusal::other_layout);
}

TEST_F(SnapshotFileTest, OtherVersionsAreRefused) {
  std::string bytes = small_file();
  bytes[8] = 1;
  const Result<SnapshotFile> file = parse(bytes);
  expect_refused(file, SnapshotRefusal::other_version);
  EXPECT_NE(file.error().message.find("expected version 2, the file has 1"), std::string::npos)
      << file.error().message;
  EXPECT_EQ(file.error().code, ErrorCode::unsupported);
}

TEST_F(SnapshotFileTest, OtherFilesAreRefused) {
  expect_refused(parse("GGUF and so on, for as long as the head of a snapshot is, and some bytes longer"),
                 SnapshotRefusal::not_a_snapshot);
}

TEST_F(SnapshotFileTest, AMissingFileIsNoRefusal) {
  const Result<SnapshotFile> file =
      SnapshotFile::open(path_, kIdentity, PrefixKey{kText, kContent}, refusals_);
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
  ASSERT_TRUE(write_snapshot(path_, kIdentity, Text{10, 11, 12, 13}, {"aaaa", "bbbb"}));
  const std::string bytes = test::read_text(path_);
  const size_t a = bytes.size() - 24, b = bytes.size() - 12;
  EXPECT_FALSE(parse(bytes.substr(0, a) + bytes.substr(b) + bytes.substr(a, 12)));
  ASSERT_TRUE(write_snapshot(path_, kIdentity, Text{10, 11, 12, 99}, {"aaaa", "cccc"}));
  EXPECT_FALSE(parse(bytes.substr(0, b) + test::read_text(path_).substr(b)));
}

// A head that is whole, but of blocks that are not the pages of its tokens, or of states that cannot be.
TEST_F(SnapshotFileTest, BlocksThatDoNotFitTheTokensAreRefused) {
  const auto refused = [&](const Text& text, const Blocks& blocks, const std::vector<int>& seen) {
    EXPECT_TRUE(write_snapshot(path_, kIdentity, text, blocks, seen));
    const uint64_t before = refusals_.count(SnapshotRefusal::damaged);
    const Result<SnapshotFile> file = parse(test::read_text(path_), Text{10, 11, 12, 13, 14});
    return !file && refusals_.count(SnapshotRefusal::damaged) == before + 1;
  };
  const Text text{10, 11, 12, 13};
  EXPECT_FALSE(refused(text, {"a", "b"}, {}));
  EXPECT_FALSE(refused(text, {"a", "b", "s"}, {0, 0, 4}));
  EXPECT_TRUE(refused(text, {"a"}, {})) << "a page is missing";
  EXPECT_TRUE(refused(text, {"a", "b", "c"}, {})) << "a page of nothing";
  EXPECT_TRUE(refused(text, {"a", "s"}, {0, 4})) << "states for a page";
  EXPECT_TRUE(refused(text, {"a", "b", "s"}, {0, 0, 5})) << "states of another text";
  EXPECT_TRUE(refused(text, {"a", "b", "s", "t"}, {0, 0, 3, 3}));
  EXPECT_TRUE(refused(text, {"a", "b", "s", "t"}, {0, 0, 4, 3}));
  EXPECT_TRUE(refused(text, {"a", "b", "s", "c"}, {0, 0, 4, 0}));
  EXPECT_FALSE(refused(text, {"a", "b", "s", "r", "r"}, {0, 0, 2, -1, -3}));
  EXPECT_TRUE(refused(text, {"a", "b", "r", "s"}, {0, 0, -3, 2})) << "states behind rows";
  EXPECT_TRUE(refused(text, {"a", "b", "r", "r"}, {0, 0, -3, -1}));
  EXPECT_TRUE(refused(text, {"a", "b", "r"}, {0, 0, -4})) << "rows behind the text";
  EXPECT_TRUE(refused({10, 11, content_token(kSound)}, {"a", "b"}, {})) << "a content without its hash";
}

// Sizes that a file claims cost nothing: they are compared with what there is.
TEST_F(SnapshotFileTest, AbsurdSizesAreRefused) {
  const std::string bytes = small_file();
  for (const size_t at : {32, 40, 48, 56}) {
    for (const uint64_t n : {uint64_t{1} << 40, uint64_t{1} << 62, ~uint64_t{0}}) {
      std::string absurd = bytes;
      std::memcpy(absurd.data() + at, &n, sizeof n);
      EXPECT_FALSE(parse(absurd));
    }
  }
  EXPECT_EQ(refusals_.count(SnapshotRefusal::damaged), 12u);
}

TEST_F(SnapshotFileTest, WithoutACommitTheOldOneStays) {
  const std::string old = small_file();
  {
    const std::vector<SnapshotBlock> blocks{SnapshotBlock::page(PageKind::main, 4),
                                            SnapshotBlock::page(PageKind::main, 4)};
    Result<SnapshotWriter> writer = SnapshotWriter::create(path_, kIdentity, Text{1, 2, 3}, blocks);
    ASSERT_TRUE(writer && writer->write_block(bytes_of("new ")));
  }
  EXPECT_EQ(test::read_text(path_), old);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1);
}

// Killed at each call of the system by which a file is replaced, in the middle of it if it writes.
TEST_F(SnapshotFileTest, AKilledWriterLeavesTheOldOrTheNewOne) {
  const std::string old = small_file();
  const Text new_text{10, 11, 12, 13, 15};
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
