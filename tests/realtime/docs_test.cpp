// The documentation has the table of settings as the code has it.
#include <gtest/gtest.h>

#include "realtime/settings.h"
#include "support/fixtures.h"

namespace parlance {
namespace {

TEST(RealtimeDocs, HaveTheSettings) {
  const std::string page = test::read_text(test::source_root() / "docs/realtime.md");
  EXPECT_NE(page.find(settings_table()), std::string::npos) << "docs/realtime.md should have:\n"
                                                            << settings_table();
}

}  // namespace
}  // namespace parlance
