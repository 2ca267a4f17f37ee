// On ALSA's device that plays into nothing and records silence, both faster than time passes: there may be no
// sound card, and a test must not listen to people.
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <thread>
#include <vector>

#include "audio_devices/device_list.h"
#include "audio_devices/microphone.h"
#include "audio_devices/speaker.h"
#include "gtest/gtest.h"
#include "support/temporary_folder.h"

namespace parlance {
namespace {

class NullDevices : public ::testing::Environment {
 public:
  void SetUp() override {
    std::ofstream(folder_ / "asound.conf") << "pcm.!default { type null }\n";
    ::setenv("ALSA_CONFIG_PATH", (folder_ / "asound.conf").c_str(), 1);
  }

 private:
  test::TemporaryFolder folder_;
};

const auto* const null_devices = ::testing::AddGlobalTestEnvironment(new NullDevices);

TEST(AudioDevices, AreListed) {
  const auto devices = list_audio_devices();
  if (!devices) {
    EXPECT_EQ(devices.error().message,
              "this build has no PortAudio; install portaudio19-dev and build again");
    return;
  }
  for (const AudioDevice& device : *devices) {
    EXPECT_FALSE(device.name.empty());
    EXPECT_FALSE(device.system.empty());
  }
}

TEST(AudioDevices, ANameThatNothingHasIsRefused) {
  const auto microphone = open_microphone({.device = "a name that nothing has"});
  const auto speaker = open_speaker({.device = "a name that nothing has"});
  ASSERT_FALSE(microphone);
  ASSERT_FALSE(speaker);
  if (microphone.error().code == ErrorCode::unsupported) GTEST_SKIP() << microphone.error().message;
  EXPECT_TRUE(microphone.error().message.starts_with(
      "no microphone called \"a name that nothing has\"; there are: "));
  EXPECT_TRUE(
      speaker.error().message.starts_with("no speaker called \"a name that nothing has\"; there are: "));
}

TEST(AudioDevices, ARateThatNothingHasIsRefused) {
  const auto speaker = open_speaker({.device = "", .sample_rate_hz = 5});
  ASSERT_FALSE(speaker);
}

TEST(Speaker, PlaysWhatIsWrittenAndForgetsWhatIsStopped) {
  const auto opened = open_speaker();
  if (!opened) GTEST_SKIP() << opened.error().message;
  Speaker& speaker = **opened;
  const auto half_second = static_cast<int64_t>(speaker.sample_rate_hz()) / 2;
  const std::vector<float> silence(static_cast<size_t>(half_second));
  ASSERT_EQ(*speaker.write(silence), half_second);
  ASSERT_TRUE(speaker.drain());
  EXPECT_EQ(speaker.played_frames(), half_second);
  ASSERT_EQ(*speaker.write(silence), half_second);
  speaker.stop();
  ASSERT_TRUE(speaker.drain());
  EXPECT_LE(speaker.played_frames(), 2 * half_second);  // how much less depends on the device's haste
}

TEST(Microphone, RecordsInTheBackground) {
  const auto opened = open_microphone();
  if (!opened) GTEST_SKIP() << opened.error().message;
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  std::vector<float> samples(1000);
  const auto n = (*opened)->read(samples);
  ASSERT_TRUE(n) << n.error().message;
  EXPECT_GT(*n, 0);
  EXPECT_GE((*opened)->overruns(), 0);
}

// PortAudio bears one thread at a time; whoever reads and writes does not notice that others open and close.
TEST(AudioDevices, ComeAndGoInManyThreads) {
  if (const auto opened = open_microphone(); !opened) GTEST_SKIP() << opened.error().message;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([i] {
      std::vector<float> samples(160);
      for (int round = 0; round < 5; ++round) {
        const auto microphone = open_microphone();
        const auto speaker = open_speaker();
        ASSERT_TRUE(microphone && speaker);
        for (int period = 0; period < 20; ++period) {
          EXPECT_TRUE((*microphone)->read(samples));
          EXPECT_TRUE((*speaker)->write(samples));
        }
        if (i == 0) {
          EXPECT_TRUE((*speaker)->drain());
        }
        EXPECT_TRUE(list_audio_devices());
      }
    });
  }
}

}  // namespace
}  // namespace parlance
