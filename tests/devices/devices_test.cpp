#include "devices/devices.h"

#include "gtest/gtest.h"

namespace parlance {
namespace {

TEST(Devices, AreFoundByName) {
  EXPECT_EQ((*make_device("cpu", 1))->name(), "cpu");
  for (const Backend& backend : list_backends()) {
    if (!backend.devices) {
      EXPECT_FALSE(backend.devices.error().message.empty());
      continue;
    }
    for (const DeviceInfo& info : *backend.devices) {
      const auto device = make_device(info.name, 1);
      ASSERT_TRUE(device) << device.error().message;
      EXPECT_EQ((*device)->name(), info.name);
      EXPECT_EQ((*device)->description(), info.description);
    }
  }
  for (const char* name :
       {"", "cpu:0", "gpu", "cudax", "cuda:", "vulkan:-1", "cuda:1e9", "vulkan:99999999999"}) {
    const auto device = make_device(name, 1);
    ASSERT_FALSE(device) << name;
    EXPECT_EQ(device.error().code == ErrorCode::not_found || device.error().code == ErrorCode::unsupported,
              true);
  }
}

}  // namespace
}  // namespace parlance
