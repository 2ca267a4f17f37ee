// Names and ages of conversations' files, against recorded names and on the millisecond.
#include "assistant/conversation_files.h"

#include <fstream>

#include "support/fixtures.h"
#include "support/json_file.h"
#include "support/temporary_folder.h"

namespace parlance {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using std::chrono::milliseconds;

class ConversationFiles : public testing::Test {
 protected:
  void make(const std::string& name, milliseconds age) {
    std::ofstream(folder_ / name) << "content";
    fs::last_write_time(folder_ / name, now_ - age);
  }
  bool has(const std::string& name) const { return fs::exists(folder_ / name); }
  Sweep sweep() const {
    return sweep_kept(folder_.path(), now_, [](const fs::path&) { return true; });
  }

  test::TemporaryFolder folder_;
  const fs::file_time_type now_ = fs::file_time_type::clock::now();
};

TEST_F(ConversationFiles, AreNamedAsTheClientsNameThem) {
  PARLANCE_REQUIRE_FIXTURES("server");
  const json recorded = test::read_json(test::fixtures_root() / "server/affinity.json");
  ASSERT_GT(recorded["file_names"].size(), 10u);
  for (const json& one : recorded["file_names"])
    EXPECT_EQ(conversation_stem(one[0].get<std::string>()), one[1]) << one.dump();
}

TEST_F(ConversationFiles, FoldersAreNamedAsTheClientsNameThem) {
  PARLANCE_REQUIRE_FIXTURES("precache-vectors.json");
  const json vectors = test::read_json(test::fixtures_root() / "precache-vectors.json");
  ASSERT_EQ(vectors["buildModelHash"].size(), 3u);
  for (const json& one : vectors["buildModelHash"]) {
    EXPECT_EQ(folder_name({one["target"], one["drafter"], one["k"], one["v"], one["extra"]}), one["hash"])
        << one.dump();
  }
}

TEST_F(ConversationFiles, OfOneClientAreNobodyElses) {
  EXPECT_NE(conversation_stem("home", "kitchen"), conversation_stem("office", "kitchen"));
  EXPECT_NE(conversation_stem("home", "kitchen"), conversation_stem("kitchen"));
  EXPECT_NE(conversation_stem("a", "bc"), conversation_stem("ab", "c"));
  EXPECT_EQ(conversation_stem("", "kitchen"), "kitchen");
}

TEST_F(ConversationFiles, NamesSayHowLongTheyAreKept) {
  for (const Lifetime lifetime : {Lifetime::brief, Lifetime::lasting, Lifetime::extended}) {
    EXPECT_EQ(lifetime_from_name(name_of(lifetime)), lifetime);
    EXPECT_EQ(lifetime_of_file(kept_file_name("a.b", lifetime)), lifetime);
  }
  EXPECT_EQ(lifetime_of_file("room.long"), Lifetime::lasting);
  EXPECT_EQ(lifetime_of_file("room.bin"), std::nullopt);
  EXPECT_EQ(lifetime_of_file("room.Long.bin"), std::nullopt);
  EXPECT_EQ(lifetime_of_file(""), std::nullopt);
  EXPECT_EQ(horizon_of(Lifetime::brief), milliseconds(300000));
  EXPECT_EQ(horizon_of(Lifetime::lasting), milliseconds(3600000));
  EXPECT_EQ(horizon_of(Lifetime::extended), milliseconds(86400000));
}

TEST_F(ConversationFiles, GoWhenTheyAreOlderThanTheirHorizonAndNotBefore) {
  struct Case {
    std::string name;
    milliseconds horizon;
  };
  const std::vector<Case> cases = {{"a.short.bin", horizon_of(Lifetime::brief)},
                                   {"a.long.bin", horizon_of(Lifetime::lasting)},
                                   {"a.extended.bin", horizon_of(Lifetime::extended)},
                                   {"a.bin", horizon_of(Lifetime::lasting)},
                                   {"a.other.bin", horizon_of(Lifetime::lasting)}};
  for (const auto& [name, horizon] : cases) {
    for (const int off : {-1, 0, 1}) {
      make(name, horizon + milliseconds(off));
      const Sweep done = sweep();
      EXPECT_EQ(done.n_removed, off > 0 ? 1u : 0u) << name << " at " << off << " ms";
      EXPECT_EQ(has(name), off <= 0) << name << " at " << off << " ms";
      fs::remove(folder_ / name);
    }
  }
}

TEST_F(ConversationFiles, WhatIsNoConversationsIsLeft) {
  const milliseconds old(100 * 86400000LL);
  make("notes.txt", old);
  make("a.long.bin.12-3.part", old);
  make("b.long.bin.12-4.part", milliseconds(1000));
  make("download.part", old);
  fs::create_directory(folder_ / "checkpoints.bin");
  fs::create_directories(folder_ / "below");
  make("below/a.long.bin", old);
  const Sweep done = sweep();
  EXPECT_EQ(done.n_removed, 1u);
  EXPECT_EQ(done.n_foreign, 2u);
  EXPECT_FALSE(has("a.long.bin.12-3.part"));
  EXPECT_TRUE(has("b.long.bin.12-4.part"));
  EXPECT_TRUE(has("notes.txt") && has("download.part") && has("below/a.long.bin"));
  EXPECT_EQ(sweep_kept(folder_ / "nowhere", now_, [](const fs::path&) { return true; }).n_removed, 0u);
}

// Where clients choose the folder, others' files of such names may lie there.
TEST_F(ConversationFiles, WhatOnlyLooksLikeOneIsLeft) {
  const milliseconds old(100 * 86400000LL);
  make("pytorch_model.bin", old);
  make("kitchen.long.bin", old);
  const auto is_ours = [](const fs::path& path) { return path.filename() == "kitchen.long.bin"; };
  const Sweep done = sweep_kept(folder_.path(), now_, is_ours);
  EXPECT_EQ(done.n_removed, 1u);
  EXPECT_EQ(done.n_foreign, 1u);
  EXPECT_TRUE(has("pytorch_model.bin"));
}

TEST_F(ConversationFiles, AreListedByNameAndFoundByAge) {
  make("b.long.bin", milliseconds(5000));
  make("b.extended.bin", milliseconds(400));
  make("a.bin", milliseconds(-500));
  make("c.txt", milliseconds(0));
  const auto files = kept_files(folder_.path(), now_);
  ASSERT_EQ(files.size(), 3u);
  EXPECT_EQ(files[0].path.filename(), "a.bin");
  EXPECT_EQ(files[0].age.count(), 0) << "never in the future";
  EXPECT_EQ(files[1].path.filename(), "b.extended.bin");
  EXPECT_EQ(files[1].age.count(), 400);
  EXPECT_EQ(files[1].n_bytes, 7u);
  EXPECT_EQ(find_kept(folder_.path(), "b", now_)->path.filename(), "b.extended.bin");
  EXPECT_FALSE(find_kept(folder_.path(), "c", now_));
  EXPECT_EQ(find_named(folder_.path(), "b.long.bin", now_)->path.filename(), "b.long.bin");
  EXPECT_EQ(remove_kept(folder_.path(), "b", folder_ / "b.long.bin"), 1u);
  EXPECT_TRUE(has("b.long.bin"));
  EXPECT_EQ(remove_kept(folder_.path(), "b"), 1u);
  EXPECT_TRUE(kept_files(folder_ / "nowhere", now_).empty());
}

// A conversation may be called like another one with a lifetime.
TEST_F(ConversationFiles, AreOfOneConversationEach) {
  make("kitchen.long.bin", milliseconds(0));
  EXPECT_FALSE(find_kept(folder_.path(), "kitchen.long", now_));
  make("kitchen.long.long.bin", milliseconds(0));
  EXPECT_EQ(find_kept(folder_.path(), "kitchen.long", now_)->path.filename(), "kitchen.long.long.bin");
  EXPECT_EQ(find_kept(folder_.path(), "kitchen", now_)->path.filename(), "kitchen.long.bin");
  EXPECT_EQ(remove_kept(folder_.path(), "kitchen.long"), 1u);
  EXPECT_TRUE(has("kitchen.long.bin"));
}

TEST_F(ConversationFiles, NamesOfClientsLeadNowhereElse) {
  for (const char* name : {"a", "kitchen.long.bin", "A_b-9", "0"}) EXPECT_TRUE(check_file_name(name)) << name;
  for (const std::string& name :
       std::vector<std::string>{"", ".", "..", "../x", "/etc/passwd", "a/b", "a\\b", ".hidden", "-x", "a b",
                                std::string("a\0b", 3), "ü", std::string(129, 'a')})
    EXPECT_FALSE(check_file_name(name)) << name;
}

}  // namespace
}  // namespace parlance
