// Parts of a conversation that are not heard: for tests of what it hears.
#pragma once

#include "voice/parts.h"

namespace parlance::test {

struct SilentMouth : Mouth {
  void say(uint64_t, int64_t, const std::string&) override {}
  void cancel() override {}
};

// Whatever is played has been heard.
struct SilentLoudspeaker : Loudspeaker {
  void begin_answer() override {}
  void play(std::span<const float>) override {}
  void hush() override {}
  void unhush() override {}
  void stop() override {}
  Result<void> tick() override { return {}; }
  std::optional<double> wait_ms() const override { return std::nullopt; }
  int64_t n_heard() const override { return 0; }
  bool is_drained() const override { return true; }
};

}  // namespace parlance::test
