#include "server/site.h"

#include "server/support/demo_server.h"

namespace parlance {
namespace {

// Whoever asks whether the server is well may do so at any moment.
TEST(Site, AServerThatEndsBeforeItHasLoadedSaysSo) {
  Site site(test::demo_options());
  EXPECT_EQ(health_answer(site, {}).status, 503);
  EXPECT_EQ(ready_answer(site, {}).status, 503);
  site.phase = ServerPhase::draining;
  EXPECT_EQ(health_answer(site, {}).status, 503);
  EXPECT_EQ(ready_answer(site, {}).status, 503);
  EXPECT_EQ(live_answer(site, {}).status, 200);
}

}  // namespace
}  // namespace parlance
