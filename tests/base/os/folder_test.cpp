#include "base/os/folder.h"

#include <fstream>

#include "support/fixtures.h"
#include "support/temporary_folder.h"

namespace parlance {
namespace {

namespace fs = std::filesystem;

class Folders : public testing::Test {
 protected:
  void put(const fs::path& name) {
    fs::create_directories((folder_.path() / name).parent_path());
    std::ofstream(folder_.path() / name) << "x";
  }
  std::vector<std::string> names(const Result<std::vector<fs::path>>& files) const {
    std::vector<std::string> names;
    if (!files) return {"error"};
    for (const fs::path& file : *files) names.push_back(file.lexically_relative(folder_.path()).string());
    return names;
  }

  test::TemporaryFolder folder_;
};

TEST_F(Folders, ListsFilesInOrder) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(names(files_in(folder_.path())), Names{});
  put("b");
  put("a");
  put("sub/c");
  put("sub/deeper/d");
  fs::create_symlink("nowhere", folder_.path() / "dangling");
  EXPECT_EQ(names(files_in(folder_.path())), (Names{"a", "b", "dangling"}));
  EXPECT_EQ(names(files_below(folder_.path())), (Names{"a", "b", "dangling", "sub/c", "sub/deeper/d"}));
}

TEST_F(Folders, WhatCannotBeListedIsAnError) {
  put("file");
  const fs::path too_long = folder_.path() / std::string(300, 'x');
  for (const auto& list : {files_in, files_below}) {
    EXPECT_EQ(list(folder_.path() / "absent").error().code, ErrorCode::not_found);
    EXPECT_EQ(list(folder_.path() / "file").error().code, ErrorCode::io) << "a file is no folder";
    EXPECT_EQ(list(too_long).error().code, ErrorCode::io);
    EXPECT_FALSE(list({}));
  }
}

TEST_F(Folders, TellsFoldersFromFiles) {
  put("file");
  fs::create_symlink("file", folder_.path() / "link");
  EXPECT_TRUE(is_folder(folder_.path()));
  EXPECT_FALSE(is_file(folder_.path()));
  for (const char* name : {"file", "link"}) {
    EXPECT_TRUE(is_file(folder_.path() / name));
    EXPECT_FALSE(is_folder(folder_.path() / name));
  }
  for (const fs::path& none :
       {folder_.path() / "absent", folder_.path() / std::string(300, 'x'), fs::path()}) {
    EXPECT_FALSE(is_folder(none));
    EXPECT_FALSE(is_file(none));
  }
}

}  // namespace
}  // namespace parlance
