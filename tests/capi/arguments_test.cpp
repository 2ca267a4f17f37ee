// Every function with every kind of argument that it should not get: NULL, empty, huge, of another kind. None
// crashes, and each says what is wrong where there is a place for it.
#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <tuple>
#include <type_traits>

#include "capi/support/client.h"
#include "ov.h"
#include "support/temporary_folder.h"

namespace parlance::test {
namespace {

// What arguments are taken from. Buffers hold whatever is written to them in a context without models.
struct Supply {
  explicit Supply(const TemporaryFolder& folder) : path(folder.path()) {
    for (auto& buffer : buffers) buffer.resize(size_t{1} << 16);
    live = eliza_inference_create(path.c_str(), nullptr);
    closed = eliza_inference_create(path.c_str(), nullptr);
    eliza_inference_destroy(closed);
  }
  ~Supply() { eliza_inference_destroy(live); }

  std::string path;
  std::array<std::vector<char>, 4> buffers;
  std::array<std::array<char, 4096>, 8> texts = {};  // of a call
  size_t next_text = 0;
  EliInferenceContext* live;
  EliInferenceContext* closed;
  char* error = nullptr;
  std::mt19937 random{1};

  size_t choose(size_t n) { return random() % n; }
};

template <class T>
struct Candidates;  // one for each type of an argument

template <>
struct Candidates<int> {
  static int take(Supply& s) {
    constexpr std::array kValues = {0, 1, -1, 512, 16000, 24000, INT_MAX, INT_MIN};
    return kValues[s.choose(kValues.size())];
  }
};
template <>
struct Candidates<size_t> {
  static size_t take(Supply& s) {
    constexpr std::array<size_t, 7> kValues = {0, 1, 5, 512, 1280, SIZE_MAX, SIZE_MAX / 2 + 1};
    return kValues[s.choose(kValues.size())];
  }
};
template <>
struct Candidates<float> {
  static float take(Supply& s) {
    constexpr std::array kValues = {0.0f, 1.0f, -1.0f, 1e38f};
    return s.choose(5) == 0 ? NAN : kValues[s.choose(kValues.size())];
  }
};
// Texts, with as much memory behind them as any count says that can be meant.
template <>
struct Candidates<const char*> {
  static const char* take(Supply& s) {
    const std::array<const char*, 7> values = {
        nullptr, "", "tts", "hello", "../x/y", "\xff\xfe\x80 bytes", s.path.c_str()};
    const char* const value = values[s.choose(values.size())];
    if (!value) return nullptr;
    auto& room = s.texts[s.next_text++ % s.texts.size()];
    std::fill(room.begin(), room.end(), '\0');
    std::copy(value, value + std::strlen(value), room.begin());
    return room.data();
  }
};
template <>
struct Candidates<char**> {
  static char** take(Supply& s) {
    eliza_inference_free_string(s.error);
    s.error = nullptr;
    return s.choose(4) == 0 ? nullptr : &s.error;
  }
};
// Places and samples.
template <class T>
requires(std::is_arithmetic_v<T>) struct Candidates<T*> {
  static T* take(Supply& s) {
    if (s.choose(3) == 0) return nullptr;
    auto& buffer = s.buffers[s.choose(s.buffers.size())];
    std::fill(buffer.begin(), buffer.end(), static_cast<char>(s.choose(3) == 0 ? 0x7f : 0));
    if constexpr (std::is_same_v<T, size_t>) *reinterpret_cast<size_t*>(buffer.data()) = s.choose(64);
    return reinterpret_cast<T*>(buffer.data());
  }
};
template <>
struct Candidates<void*> {
  static void* take(Supply&) { return nullptr; }
};
template <>
struct Candidates<int**> {
  static int** take(Supply& s) {
    static int* place;
    return s.choose(3) == 0 ? nullptr : &place;
  }
};
template <>
struct Candidates<const EliLlmStreamConfig*> {
  static const EliLlmStreamConfig* take(Supply& s) {
    static const EliLlmStreamConfig config = {};
    return s.choose(3) == 0 ? nullptr : &config;
  }
};
template <class R, class... Args>
struct Candidates<R (*)(Args...)> {
  static R (*take(Supply& s))(Args...) {
    if (s.choose(3) == 0) return nullptr;
    return [](Args...) -> R {
      if constexpr (!std::is_void_v<R>) return R();
    };
  }
};
// Handles: of nothing, of a context, closed, of no object at all.
template <class T>
requires(!std::is_arithmetic_v<T> && !std::is_void_v<T> && !std::is_pointer_v<T>) struct Candidates<T*> {
  static T* take(Supply& s) {
    const std::array<void*, 4> values = {nullptr, s.live, s.closed, reinterpret_cast<void*>(0x123456789)};
    return reinterpret_cast<T*>(values[s.choose(values.size())]);
  }
};

template <class T>
struct Candidates<const T*> : Candidates<T*> {};
template <>
struct Candidates<const void*> : Candidates<void*> {};

template <class R, class... Args>
void provoke(const char* name, R (*function)(Args...), Supply& s) {
  constexpr int kCalls = 400;
  for (int i = 0; i < kCalls; ++i) {
    std::tuple<Args...> args{Candidates<Args>::take(s)...};
    SCOPED_TRACE(name);
    if constexpr (std::is_same_v<R, int>) {
      const int status = std::apply(function, args);
      EXPECT_GE(status, ELIZA_ERR_CANCELLED);
      if constexpr ((std::is_same_v<Args, char**> || ...)) {
        const bool has_place = std::get<char**>(args) != nullptr;
        EXPECT_EQ(s.error == nullptr, !has_place || status >= 0) << status;
        EXPECT_TRUE(!s.error || strlen(s.error) > 10) << s.error;
      }
    } else {
      std::apply(function, args);
    }
  }
  eliza_inference_free_string(s.error);
  s.error = nullptr;
}

// Each name once; what frees is left out of the calls with anything, since it believes its argument.
#define PARLANCE_EVERY(X)                                                                                    \
  X(abi_version)                                                                                             \
  X(mmap_acquire)                                                                                            \
  X(mmap_evict)                                                                                              \
  X(tts_synthesize)                                                                                          \
  X(asr_transcribe) X(tts_stream_supported) X(tts_synthesize_stream) X(cancel_tts) X(set_verifier_callback)  \
      X(asr_stream_supported) X(asr_stream_open) X(asr_stream_feed) X(asr_stream_partial)                    \
          X(asr_stream_finish) X(asr_stream_close) X(encode_reference) X(vad_supported) X(vad_open)          \
              X(vad_process) X(vad_reset) X(vad_close) X(llm_stream_supported) X(llm_stream_open)            \
                  X(llm_stream_prefill) X(llm_stream_next) X(llm_stream_cancel) X(llm_stream_save_slot)      \
                      X(llm_stream_restore_slot) X(llm_stream_close) X(llm_mtp_supported)                    \
                          X(llm_kv_quant_supported) X(llm_eot_supported) X(llm_eot_score) X(embed_supported) \
                              X(embed) X(tokenize_supported) X(tokenize) X(detokenize)                       \
                                  X(asr_timestamps_supported) X(asr_transcribe_timed) X(speaker_supported)   \
                                      X(speaker_open) X(speaker_embed) X(speaker_close)                      \
                                          X(wakeword_supported) X(wakeword_open) X(wakeword_score)           \
                                              X(wakeword_reset) X(wakeword_close) X(diariz_supported)        \
                                                  X(diariz_open) X(diariz_segment) X(diariz_close)           \
                                                      X(vision_supported) X(describe_image)                  \
                                                          X(kokoro_supported) X(kokoro_load)                 \
                                                              X(kokoro_synthesize) X(kokoro_sample_rate)

const std::set<std::string> kProvokedElsewhere = {"create", "destroy", "free_string", "free_tokens"};

TEST(CapiArguments, NoneCrashes) {
  const TemporaryFolder folder;
  Supply supply(folder);
#define PARLANCE_PROVOKE(name) provoke(#name, &eliza_inference_##name, supply);
  PARLANCE_EVERY(PARLANCE_PROVOKE)
}

TEST(CapiArguments, EveryFunctionIsProvoked) {
  std::set<std::string> here = kProvokedElsewhere, exported;
#define PARLANCE_NAME(name) here.insert(#name);
  PARLANCE_EVERY(PARLANCE_NAME)
  std::istringstream table(read_text(source_root() / "src/capi/exports.txt"));
  const std::string family = "eliza_inference_";
  for (std::string line; std::getline(table, line);) {
    if (!line.starts_with(family) || !line.ends_with("12")) continue;
    exported.insert(line.substr(family.size(), line.find(' ') - family.size()));
  }
  EXPECT_EQ(here, exported);
}

TEST(CapiArguments, WhatIsAbsentSaysSo) {
  const auto ctx = demo_context();
  ErrorText error;
  EXPECT_EQ(eliza_inference_wakeword_supported() + eliza_inference_diariz_supported() +
                eliza_inference_vision_supported() + eliza_inference_kokoro_supported(),
            0);
  EXPECT_EQ(eliza_inference_wakeword_open(ctx.get(), 16000, "hey", error), nullptr);
  EXPECT_NE(error.text().find("wake words"), std::string::npos);
  EXPECT_EQ(eliza_inference_diariz_open(ctx.get(), nullptr, error), nullptr);
  EXPECT_FALSE(error.is_null());
  const unsigned char image[4] = {};
  char text[16];
  float samples[4];
  EXPECT_EQ(eliza_inference_describe_image(ctx.get(), image, 4, "a", "b", text, 16, error),
            ELIZA_ERR_NOT_IMPLEMENTED);
  EXPECT_FALSE(error.is_null());
  EXPECT_EQ(eliza_inference_kokoro_load(ctx.get(), "a", "b", 256, error), ELIZA_ERR_NOT_IMPLEMENTED);
  EXPECT_EQ(eliza_inference_kokoro_synthesize(ctx.get(), "a", 1, 1, samples, 4, error),
            ELIZA_ERR_NOT_IMPLEMENTED);
  EXPECT_EQ(eliza_inference_kokoro_sample_rate(ctx.get()), ELIZA_ERR_NOT_IMPLEMENTED);
}

}  // namespace
}  // namespace parlance::test
