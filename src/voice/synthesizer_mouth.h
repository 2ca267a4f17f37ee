// The mouth of a conversation: a thread that speaks phrases with a synthesizer, one after the other.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <thread>

#include "tts/synthesizer.h"
#include "voice/inbox.h"

namespace parlance {

struct MouthOptions {
  SpeechRequest manner;  // all but the text
  int first_steps = 0;   // passes of the network over an answer's first phrase; 0: as over the others
};

class SynthesizerMouth final : public Mouth {
 public:
  // What it uses must outlive it.
  SynthesizerMouth(Synthesizer& synthesizer, const MouthOptions& options, Inbox& inbox, TalkClock clock);
  ~SynthesizerMouth() override;

  void say(uint64_t reply, int64_t phrase, const std::string& text) override;
  void cancel() override;

 private:
  struct Order {
    uint64_t reply;
    int64_t phrase;
    std::string text;
    Cancellation cancellation;
  };

  void run();
  void warm_up();
  void speak(const Order& order);

  Synthesizer& synthesizer_;
  MouthOptions options_;
  Inbox& inbox_;
  const TalkClock clock_;

  const CancellationSource source_;  // of all that it was told to say
  const Cancellation warm_up_ = source_.ticket();

  std::mutex mutex_;  // of what follows
  std::condition_variable has_orders_;
  std::deque<Order> orders_;
  bool is_over_ = false;

  std::thread thread_;
};

}  // namespace parlance
