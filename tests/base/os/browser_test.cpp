#include "base/os/browser.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include "base/os/environment.h"
#include "base/os/environment_variable.h"

namespace parlance {
namespace {

namespace fs = std::filesystem;

// A desktop whose xdg-open is the test's.
class Browser : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }
  void have_desktop(const std::string& script) {
    std::ofstream(folder_ / "xdg-open") << "#!/bin/sh\n" << script;
    fs::permissions(folder_ / "xdg-open", fs::perms::owner_all);
    display_.emplace("DISPLAY", ":7");
    path_.emplace("PATH", folder_.string() + ":" + environment("PATH").value_or(""));
  }
  std::string written() const {
    std::ifstream file(folder_ / "asked");
    return {std::istreambuf_iterator<char>(file), {}};
  }

  const fs::path folder_ = fs::temp_directory_path() / ("parlance_browser_" + std::to_string(::getpid()));

 private:
  // Empty is as if they were not set.
  const EnvironmentVariable no_display_{"DISPLAY", ""}, no_wayland_{"WAYLAND_DISPLAY", ""},
      no_browser_{"BROWSER", ""};
  std::optional<EnvironmentVariable> display_, path_;
};

TEST_F(Browser, IsGivenTheAddressAndNoneOfOurFiles) {
  const int ours = ::dup(0);
  have_desktop("echo \"$1\" > " + (folder_ / "asked").string() + "\nls /proc/self/fd | wc -l >> " +
               (folder_ / "asked").string() + "\n");
  const auto opened = open_in_browser("http://127.0.0.1:8080/?a=b&c=$(d) e");
  ::close(ours);
  ASSERT_TRUE(opened) << opened.error().message;
  // Input, output, errors and the folder that ls reads.
  EXPECT_EQ(written(), "http://127.0.0.1:8080/?a=b&c=$(d) e\n4\n");
}

TEST_F(Browser, IsMissingWhereThereIsNoDesktop) {
  const auto opened = open_in_browser("http://127.0.0.1:8080/");
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().message, "there is no desktop here to open a browser on");
}

TEST_F(Browser, IsMissingWhereTheDesktopHasNone) {
  have_desktop("exit 3\n");
  const auto opened = open_in_browser("http://127.0.0.1:8080/");
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().message, "xdg-open found no browser");
}

}  // namespace
}  // namespace parlance
