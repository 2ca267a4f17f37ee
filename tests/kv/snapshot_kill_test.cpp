// A program that dies while it saves leaves the file of before or the new one.
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <random>
#include <thread>

#include "kv/snapshot_file.h"
#include "support/temporary_folder.h"

namespace parlance {
namespace {

constexpr size_t kKillBlockBytes = 20000;

const SnapshotIdentity& identity() {
  static const SnapshotIdentity one{.model = {}, .layout = "layout", .page_tokens = 4};
  return one;
}

// A snapshot of eight tokens, all of whose bytes are of one generation.
Result<void> save(const std::filesystem::path& path, int32_t generation) {
  const std::vector<int32_t> tokens(8, generation);
  const std::vector<SnapshotBlock> blocks(2, SnapshotBlock::page(PageKind::main, kKillBlockBytes));
  PARLANCE_TRY(auto writer, SnapshotWriter::create(path, identity(), tokens, blocks));
  const std::vector<std::byte> bytes(kKillBlockBytes, static_cast<std::byte>(generation));
  for (int i = 0; i < 2; ++i) PARLANCE_CHECK(writer.write_block(bytes));
  return writer.commit();
}

// The generation that the file is whole of.
std::optional<int32_t> whole_generation(const std::filesystem::path& path, SnapshotRefusals& refusals) {
  const auto file = SnapshotFile::open(path, identity(), {}, refusals);
  if (!file || file->text().n_tokens() != 8) return std::nullopt;
  const int32_t generation = file->text().tokens[0];
  std::vector<std::byte> bytes(kKillBlockBytes);
  for (size_t i = 0; i < 2; ++i) {
    if (!file->read(i, bytes)) return std::nullopt;
    for (const std::byte byte : bytes) {
      if (byte != static_cast<std::byte>(generation)) return std::nullopt;
    }
  }
  return generation;
}

// Which file has the name: each save makes another.
ino_t inode_of(const std::filesystem::path& path) {
  struct stat status {};
  stat(path.c_str(), &status);
  return status.st_ino;
}

TEST(SnapshotKill, LeavesTheOldFileOrTheNewOne) {
  const test::TemporaryFolder folder;
  const auto path = folder / "kitchen.long.bin";
  ASSERT_TRUE(save(path, 1));
  std::mt19937 random(3);
  SnapshotRefusals refusals;
  int32_t last = 1;
  int n_changed = 0;
  for (int i = 0; i < 150; ++i) {
    const ino_t before = inode_of(path);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      for (int32_t generation = last + 1;; ++generation) {
        if (!save(path, generation % 100 + 1)) _exit(1);
      }
    }
    // Some are let save first, however long it takes on a busy machine.
    for (int ms = 0; i % 8 == 0 && ms < 10000 && inode_of(path) == before; ++ms)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::this_thread::sleep_for(std::chrono::microseconds(200 + random() % 4000));
    kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "it could not save";
    const auto found = whole_generation(path, refusals);
    ASSERT_TRUE(found) << "after kill " << i;
    n_changed += *found != last;
    last = *found;
  }
  EXPECT_GT(n_changed, 10) << "it was killed before it saved anything";
}

}  // namespace
}  // namespace parlance
