// The bundled model says the same on every device of this machine.
#include "cli/cli_run.h"
#include "devices/devices.h"
#include "support/fixtures.h"

namespace parlance::test {
namespace {

TEST(EvalAgainst, EveryDeviceRepliesAsTheCpuDoes) {
  const std::string model = (source_root() / "models/demo/text/parlance-demo-text-q8_0.gguf").string();
  int n_devices = 0;
  for (const Backend& backend : list_backends()) {
    if (backend.name == "cpu" || !backend.devices) continue;
    for (const DeviceInfo& device : *backend.devices) {
      ++n_devices;
      const auto outcome =
          run({"eval", "-m", model, "--category", "facts", "--category", "arithmetic", "--category", "lists",
               "--limit", "6", "--device", device.name, "--against", "cpu", "--json"});
      EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
      const auto json = outcome.json();
      EXPECT_EQ(json["questions"], 6);
      EXPECT_GT(json["tokens"], 20);
      EXPECT_TRUE(json["is_explained"].get<bool>()) << outcome.out;
      // Its layers on both, and its cache where they are.
      const auto split = run({"eval", "-m", model, "--category", "facts", "--limit", "2", "--device",
                              device.name, "-ngl", "1", "--against", "cpu", "--json"});
      EXPECT_EQ(split.code, 0) << split.out << split.err;
    }
  }
  if (n_devices == 0) GTEST_SKIP() << "this machine has no device beside the CPU";
}

}  // namespace
}  // namespace parlance::test
