#include "kernels/vulkan/runtime/pipeline_file.h"

#include <fstream>

#include "base/os/environment_variable.h"
#include "kernels/support/devices.h"
#include "support/temporary_folder.h"

namespace parlance::test {
namespace {

TEST(PipelineFile, IsReadBackUnlessItWasChanged) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "parlance" / "pipelines";
  EXPECT_EQ(vulkan::read_pipeline_file(path), std::nullopt);
  std::vector<std::byte> bytes(1003);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 7);
  for (const size_t n : {size_t{0}, size_t{1}, size_t{8}, bytes.size()}) {
    const std::vector<std::byte> part(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(n));
    vulkan::write_pipeline_file(path, part);
    EXPECT_EQ(vulkan::read_pipeline_file(path), part);
  }
  const auto text = [&] {
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }();
  const auto put = [&](const std::string& contents) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << contents;
  };
  for (size_t at = 0; at < text.size(); at += at < 32 ? 1 : 97) {
    std::string changed = text;
    changed[at] = static_cast<char>(changed[at] ^ 4);
    put(changed);
    EXPECT_EQ(vulkan::read_pipeline_file(path), std::nullopt) << "byte " << at;
    put(text.substr(0, at));
    EXPECT_EQ(vulkan::read_pipeline_file(path), std::nullopt) << "cut at " << at;
  }
  put(text + "more");
  EXPECT_EQ(vulkan::read_pipeline_file(path), std::nullopt);
}

// A device leaves its file behind, and one that finds rubbish there works and puts it right.
TEST(PipelineFile, IsLeftBehindByDevices) {
  device_cases();  // the validation layer is asked for before the first use of Vulkan
  if (auto device = make_vulkan_device(0); !device) GTEST_SKIP() << device.error().message;
  const TemporaryFolder folder;
  const EnvironmentVariable cache("XDG_CACHE_HOME", folder.path().string());
  const auto add_once = [] {
    auto device = std::move(*make_vulkan_device(0));
    auto memory = *device->allocate(2 * sizeof(float));
    const auto stream = device->make_stream();
    Tensor x;
    x.ne = {1, 1, 1, 1};
    x.buffer = memory.get();
    x.data = memory->base();
    const float one = 1;
    stream->upload(x, std::as_bytes(std::span(&one, 1)));
    add(*stream, x, x);
    float got = 0;
    EXPECT_TRUE(stream->download(std::as_writable_bytes(std::span(&got, 1)), x).has_value());
    EXPECT_EQ(got, 2);
  };
  const auto files = [&] {
    std::vector<std::filesystem::path> list;
    for (const auto& entry : std::filesystem::directory_iterator(folder.path() / "parlance"))
      list.push_back(entry.path());
    return list;
  };
  add_once();
  ASSERT_EQ(files().size(), 1u);
  const auto bytes = vulkan::read_pipeline_file(files()[0]);
  ASSERT_TRUE(bytes.has_value());
  std::ofstream(files()[0], std::ios::trunc) << "rubbish";
  add_once();
  ASSERT_EQ(files().size(), 1u);
  EXPECT_TRUE(vulkan::read_pipeline_file(files()[0]).has_value());
}

}  // namespace
}  // namespace parlance::test
