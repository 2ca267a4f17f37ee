#include "base/os/environment.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace parlance {
namespace {

namespace fs = std::filesystem;

TEST(Environment, AnEmptyVariableIsNotSet) {
  constexpr const char* kName = "PARLANCE_ENVIRONMENT_TEST";
  ::unsetenv(kName);
  EXPECT_EQ(environment(kName), std::nullopt);
  ::setenv(kName, "", 1);
  EXPECT_EQ(environment(kName), std::nullopt);
  ::setenv(kName, "a value", 1);
  EXPECT_EQ(environment(kName), "a value");
  ::unsetenv(kName);
}

TEST(Environment, KnowsWhereTheProgramIs) {
  EXPECT_TRUE(fs::is_directory(program_folder())) << program_folder();
}

TEST(Environment, PathsFromTheRootOn) {
  EXPECT_EQ(absolute_path("/a/b/../c/./d"), "/a/c/d");
  EXPECT_EQ(absolute_path("/a/b/"), "/a/b");
  EXPECT_EQ(absolute_path("/"), "/");
  EXPECT_EQ(absolute_path("x"), fs::current_path() / "x");
  EXPECT_EQ(absolute_path("."), fs::current_path());
  EXPECT_EQ(absolute_path(std::string(300, 'x')).filename(), std::string(300, 'x'))
      << "no file is looked for";
}

}  // namespace
}  // namespace parlance
