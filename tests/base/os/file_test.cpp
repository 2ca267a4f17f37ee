#include "base/os/file.h"

#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <fstream>

#include "support/fixtures.h"

namespace parlance {
namespace {

namespace fs = std::filesystem;

class Files : public testing::Test {
 protected:
  void SetUp() override {
    const testing::TestInfo* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::path(testing::TempDir()) / (std::string("parlance_file_") + test->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    path_ = folder_ / "file";
  }
  void TearDown() override { fs::remove_all(folder_); }

  size_t n_files() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
  static void put(const fs::path& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
  }
  static std::string text_of(const MappedFile& file) {
    return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
  }

  fs::path folder_;
  fs::path path_;
};

TEST_F(Files, MapsTheWholeFile) {
  put(path_, std::string("a\0b", 3));
  Result<MappedFile> file = MappedFile::open(path_);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(text_of(*file), std::string("a\0b", 3));
  EXPECT_EQ(file->path(), path_);
  EXPECT_TRUE(file->still_whole());
  file->prefetch();

  const MappedFile moved = std::move(*file);
  EXPECT_EQ(text_of(moved), std::string("a\0b", 3));
  EXPECT_TRUE(moved.still_whole());
  put(path_, "longer than before");
  EXPECT_TRUE(moved.still_whole());
  put(path_, "ab");
  EXPECT_FALSE(moved.still_whole());
}

TEST_F(Files, MapsAnEmptyFile) {
  put(path_, "");
  const Result<MappedFile> file = MappedFile::open(path_);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_TRUE(file->bytes().empty());
  EXPECT_TRUE(file->still_whole());
  file->prefetch();
}

// A file that was replaced (not shortened) keeps its old bytes for who has it open.
TEST_F(Files, AMappingOutlivesItsName) {
  put(path_, "old");
  const Result<MappedFile> file = MappedFile::open(path_);
  ASSERT_TRUE(file);
  fs::remove(path_);
  put(path_, "");
  EXPECT_EQ(text_of(*file), "old");
  EXPECT_TRUE(file->still_whole());
}

TEST_F(Files, WhatCannotBeMappedIsNamed) {
  const Result<MappedFile> absent = MappedFile::open(path_);
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code, ErrorCode::not_found);
  EXPECT_NE(absent.error().message.find(path_.string()), std::string::npos) << absent.error().message;

  const Result<MappedFile> folder = MappedFile::open(folder_);
  ASSERT_FALSE(folder);
  EXPECT_NE(folder.error().message.find("regular file"), std::string::npos) << folder.error().message;

  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_FALSE(MappedFile::open(path_)) << "a pipe, which opening must not wait for";
}

TEST_F(Files, ReadsPieces) {
  put(path_, std::string("a\0bcdef", 7));
  Result<ReadableFile> opened = ReadableFile::open(path_);
  ASSERT_TRUE(opened) << opened.error().message;
  const ReadableFile file = std::move(*opened);
  EXPECT_EQ(file.size(), 7u);
  EXPECT_EQ(file.path(), path_);
  file.prefetch();
  std::string piece(3, '?');
  ASSERT_TRUE(file.read(1, std::as_writable_bytes(std::span(piece))));
  EXPECT_EQ(piece, std::string("\0bc", 3));
  ASSERT_TRUE(file.read(4, std::as_writable_bytes(std::span(piece))));
  EXPECT_EQ(piece, "def");
  EXPECT_TRUE(file.read(7, {}));
  EXPECT_FALSE(ReadableFile::open(folder_ / "absent"));
  EXPECT_FALSE(ReadableFile::open(folder_)) << "a folder is no file";
}

TEST_F(Files, AFileThatIsCutWhileItIsReadIsAnError) {
  put(path_, std::string(100000, 'x'));
  const Result<ReadableFile> file = ReadableFile::open(path_);
  ASSERT_TRUE(file);
  std::vector<std::byte> piece(50000);
  ASSERT_TRUE(file->read(0, piece));
  fs::resize_file(path_, 60000);
  EXPECT_EQ(file->size(), 100000u) << "what it was";
  const Result<void> cut = file->read(50000, piece);
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().code, ErrorCode::corrupt_file);
  EXPECT_NE(cut.error().message.find("60000"), std::string::npos) << cut.error().message;
  EXPECT_TRUE(file->read(0, piece)) << "what is there can be read";
}

TEST_F(Files, PrivateFilesAreForThisUserOnly) {
  const mode_t mask = ::umask(022);
  {
    const PrivateFiles guard;
    put(path_, "secret");
  }
  put(folder_ / "open", "not secret");
  ::umask(mask);
  EXPECT_EQ(fs::status(path_).permissions(), fs::perms(0600));
  EXPECT_EQ(fs::status(folder_ / "open").permissions(), fs::perms(0644));
}

TEST_F(Files, AnAtomicFileAppearsWhole) {
  put(path_, "old");
  Result<AtomicFile> file = AtomicFile::create(path_);
  ASSERT_TRUE(file) << file.error().message;
  ASSERT_TRUE(file->write("new "));
  ASSERT_TRUE(file->write(std::string()));
  ASSERT_TRUE(file->write("text"));
  EXPECT_EQ(file->bytes_written(), 8u);
  EXPECT_EQ(test::read_text(path_), "old");
  AtomicFile moved = std::move(*file);
  ASSERT_TRUE(moved.commit());
  EXPECT_EQ(test::read_text(path_), "new text");
  EXPECT_EQ(n_files(), 1u);
  EXPECT_FALSE(moved.write("more")) << "it is finished";
  EXPECT_FALSE(moved.commit());
  EXPECT_EQ(test::read_text(path_), "new text");
}

TEST_F(Files, AnAtomicFileWithoutCommitLeavesNothing) {
  {
    Result<AtomicFile> file = AtomicFile::create(path_);
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->write("half"));
  }
  EXPECT_EQ(n_files(), 0u);
}

TEST_F(Files, TwoWritersOfOneNameDoNotMeet) {
  Result<AtomicFile> first = AtomicFile::create(path_);
  Result<AtomicFile> second = AtomicFile::create(path_);
  ASSERT_TRUE(first && second);
  ASSERT_TRUE(first->write("first"));
  ASSERT_TRUE(second->write("second"));
  ASSERT_TRUE(first->commit());
  EXPECT_EQ(test::read_text(path_), "first");
  ASSERT_TRUE(second->commit());
  EXPECT_EQ(test::read_text(path_), "second");
  EXPECT_EQ(n_files(), 1u);
}

TEST_F(Files, AnAtomicFileGetsThePermissionsOfTheMask) {
  const mode_t mask = ::umask(027);
  Result<AtomicFile> file = AtomicFile::create(path_);
  ::umask(mask);
  ASSERT_TRUE(file && file->commit());
  EXPECT_EQ(fs::status(path_).permissions(), fs::perms(0640));
}

TEST_F(Files, AnAtomicFileReplacesWhatALinkPointsAt) {
  const fs::path target = folder_ / "target";
  put(target, "old");
  fs::create_symlink("target", path_);
  Result<AtomicFile> file = AtomicFile::create(path_);
  ASSERT_TRUE(file) << file.error().message;
  ASSERT_TRUE(file->write("new"));
  ASSERT_TRUE(file->commit());
  EXPECT_TRUE(fs::is_symlink(path_));
  EXPECT_EQ(test::read_text(target), "new");

  fs::remove(target);
  Result<AtomicFile> dangling = AtomicFile::create(path_);
  ASSERT_TRUE(dangling && dangling->commit());
  EXPECT_TRUE(fs::exists(path_));
}

TEST_F(Files, AnAtomicFileNeedsAFolderAndAName) {
  const Result<AtomicFile> nowhere = AtomicFile::create(folder_ / "absent" / "file");
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().code, ErrorCode::not_found);
  EXPECT_FALSE(AtomicFile::create(folder_)) << "a folder is no file";
  EXPECT_FALSE(AtomicFile::create("/dev/null"));
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

// A disk that is full, played by a limit on the size of files.
TEST_F(Files, AFailedWriteIsAnErrorAndLeavesNothing) {
  put(path_, "old");
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit small = before;
  small.rlim_cur = 10000;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  Result<AtomicFile> file = AtomicFile::create(path_);
  const Result<void> fits = file->write(std::string(9000, 'a'));
  const Result<void> does_not = file->write(std::string(9000, 'b'));
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_TRUE(fits);
  ASSERT_FALSE(does_not);
  EXPECT_EQ(does_not.error().code, ErrorCode::io);
  EXPECT_NE(does_not.error().message.find(path_.string()), std::string::npos) << does_not.error().message;
  EXPECT_FALSE(file->write("c")) << "a hole in the middle is not filled up";
  EXPECT_FALSE(file->commit());
  EXPECT_EQ(n_files(), 1u);
  EXPECT_EQ(test::read_text(path_), "old");
}

TEST_F(Files, ReadsTextUpToALimit) {
  put(path_, std::string(200000, 'x'));
  EXPECT_EQ(read_text_file(path_, 200000)->size(), 200000u);
  const Result<std::string> larger = read_text_file(path_, 199999);
  ASSERT_FALSE(larger);
  EXPECT_NE(larger.error().message.find("199999"), std::string::npos) << larger.error().message;
  put(path_, "");
  EXPECT_EQ(read_text_file(path_, 0), "");
  EXPECT_FALSE(read_text_file("/dev/zero", 1000)) << "endless";
  const Result<std::string> absent = read_text_file(folder_ / "absent", 10);
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code, ErrorCode::not_found);
  EXPECT_FALSE(read_text_file(folder_, 10));
}

}  // namespace
}  // namespace parlance
