#include "tts/speech_key.h"

#include <cstring>
#include <type_traits>

namespace parlance {

namespace {

// Bytes that are the same for the same values only.
class Key {
 public:
  template <class... Values>
  void add_all(const Values&... values) {
    (add(values), ...);
  }
  std::string take() { return std::move(bytes_); }

 private:
  template <class Value>
  requires(std::is_arithmetic_v<Value> || std::is_enum_v<Value>) void add(Value value) {
    char bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);
    bytes_.append(bytes, sizeof value);
  }
  void add(const std::string& text) {
    add(text.size());
    bytes_ += text;
  }
  template <class Value>
  void add(const std::optional<Value>& value) {
    add(value.has_value());
    if (value) add(*value);
  }
  template <class Value>
  void add(const std::vector<Value>& values) {
    add(values.size());
    for (const Value& value : values) add(value);
  }

  // Every structure is taken apart into all its members, so that one that is added does not compile until
  // it was thought of here.
  void add(const AudioCodes& codes) {
    const auto& [n_codebook, values] = codes;
    add_all(n_codebook, values);
  }
  void add(const Voice& voice) {
    const auto& [reference, reference_text, rms, instruct] = voice;
    add_all(reference, reference_text, rms, instruct);
  }
  void add(const SpeechShortcuts& shortcuts) {
    const auto& [first_frames, block_frames, first_steps, far_frames, kept_steps, kept_share, guidance_share,
                 marginal, confidence] = shortcuts;
    add_all(first_frames, block_frames, first_steps, far_frames, kept_steps, kept_share, guidance_share,
            marginal, confidence);
  }
  void add(const MaskGitOptions& options) {
    const auto& [n_step, guidance, t_shift, layer_penalty, position_temperature, class_temperature, seed] =
        options;
    add_all(n_step, guidance, t_shift, layer_penalty, position_temperature, class_temperature, seed);
  }
  void add(const Chunking& chunking) {
    const auto& [chunk_seconds, threshold_seconds, cuts_first_clause] = chunking;
    add_all(chunk_seconds, threshold_seconds, cuts_first_clause);
  }

  std::string bytes_;
};

}  // namespace

std::string speech_key(const SpeechRequest& request, bool is_streamed) {
  const auto& [text, language, instruct, voice, denoise, quality, shortcuts, decoding, mask, seconds, speed,
               chunking, is_processed, leading_silence, checks_pace, is_windowed, on_progress, cancellation] =
      request;
  (void)text, (void)on_progress, (void)cancellation;  // say nothing of how it sounds
  Key key;
  key.add_all(is_streamed, language, instruct, voice, denoise, quality, shortcuts, decoding, mask, seconds,
              speed, chunking, is_processed, leading_silence, checks_pace, is_windowed);
  return key.take();
}

}  // namespace parlance
