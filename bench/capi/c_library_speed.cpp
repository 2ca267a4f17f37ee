// What the C library costs: the same work inside, as the commands do it, and through the library, in turn
// (A B A B) in one process, so that both find the machine as the other does. Then what its callers wait for.
//
//   c_library_speed [BUNDLE [ROUNDS [WHAT...]]]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "assistant/regions.h"
#include "assistant/speech.h"
#include "assistant/text_stream.h"
#include "assistant/transcriber.h"
#include "audio/resampler.h"
#include "elizainference.h"

namespace {

using namespace parlance;
using Clock = std::chrono::steady_clock;
using Ms = std::chrono::duration<double, std::milli>;

constexpr const char* kText =
    "The first thing that I want to say is a long one, and there is more to come. The second is longer than "
    "the first.";
constexpr const char* kVoice = "default";
constexpr int kRecordingRateHz = 16000, kMostTokens = 200, kCancels = 100;
constexpr auto kPause = std::chrono::milliseconds(5);  // in which the threads of the other go to sleep

[[noreturn]] void give_up(const std::string& what, const std::string& why) {
  std::fprintf(stderr, "%s: %s\n", what.c_str(), why.c_str());
  std::exit(1);
}

template <class T>
T must(const char* what, Result<T> result) {
  if (!result) give_up(what, result.error().message);
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

// Through the library.
class Library {
 public:
  explicit Library(const char* bundle) : ctx_(eliza_inference_create(bundle, &error_)) {
    if (!ctx_) give_up("create", error_ ? error_ : "");
    for (const char* region : {"tts", "asr", "text"}) {
      check(eliza_inference_mmap_acquire(ctx_, region, &error_), region);
    }
  }
  ~Library() { eliza_inference_destroy(ctx_); }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  int check(int status, const char* what) const {
    if (status < 0) give_up(what, error_ ? error_ : "");
    return status;
  }
  EliInferenceContext* ctx() const { return ctx_; }
  char** error() { return &error_; }

  std::vector<float> speak() {
    std::vector<float> pcm(24000 * 60);
    const std::string text = kText;
    pcm.resize(
        static_cast<size_t>(check(eliza_inference_tts_synthesize(ctx_, text.data(), text.size(), kVoice,
                                                                 pcm.data(), pcm.size(), &error_),
                                  "speak")));
    return pcm;
  }

  // Yields the status; when the first sound came goes to `first`.
  int stream(Clock::time_point& first) {
    struct Taker {
      Clock::time_point first;
    } taker{};
    const auto take = [](const float*, size_t n, int, void* user_data) {
      auto& own = *static_cast<Taker*>(user_data);
      if (n > 0 && own.first == Clock::time_point()) own.first = Clock::now();
      return 0;
    };
    const std::string text = kText;
    const int status =
        eliza_inference_tts_synthesize_stream(ctx_, text.data(), text.size(), kVoice, take, &taker, nullptr);
    first = taker.first;
    return status;
  }

  std::string hear(const std::vector<float>& recording) {
    std::string text(1 << 16, '\0');
    text.resize(static_cast<size_t>(
        check(eliza_inference_asr_transcribe(ctx_, recording.data(), recording.size(), kRecordingRateHz,
                                             text.data(), text.size(), &error_),
              "hear")));
    return text;
  }

  std::vector<int> answer(const std::vector<int>& prompt) {
    EliLlmStreamConfig config = {};
    config.max_tokens = kMostTokens;
    config.n_gpu_layers = -1;
    EliLlmStream* const stream = eliza_inference_llm_stream_open(ctx_, &config, &error_);
    check(stream ? 0 : -1, "open");
    check(eliza_inference_llm_stream_prefill(stream, prompt.data(), prompt.size(), &error_), "prefill");
    std::vector<int> said;
    for (int status = 0; status == 0;) {
      int tokens[32];
      char text[1024];
      size_t n = 0;
      status = check(eliza_inference_llm_stream_next(stream, tokens, 32, &n, text, sizeof text, nullptr,
                                                     nullptr, &error_),
                     "next");
      said.insert(said.end(), tokens, tokens + n);
    }
    eliza_inference_llm_stream_close(stream);
    return said;
  }

 private:
  char* error_ = nullptr;
  EliInferenceContext* ctx_;
};

// The same inside.
class Inside {
 public:
  explicit Inside(const char* bundle)
      : regions_([&] {
          Choice choice;
          choice.files.folder = bundle;
          choice.context.n_seq = 5;
          return choice;
        }()),
        narrator_(must("tts", regions_.tts.acquire())),
        ears_(must("asr", regions_.asr.acquire())),
        mind_(must("text", regions_.text.acquire())) {
    request_.text = kText;
    request_.voice = must("voice", narrator_.voice({.name = kVoice}));
  }

  const Tokenizer& tokenizer() const { return mind_->model().tokenizer(); }
  std::vector<float> speak() const { return must("say", narrator_.say(request_)).samples; }

  Clock::time_point stream() const {
    Clock::time_point first{};
    SpeechRequest request = request_;
    request.chunking = kStreamedChunking;
    must("stream", narrator_.stream(request, [&](std::span<const float> samples, bool) {
      if (!samples.empty() && first == Clock::time_point()) first = Clock::now();
      return true;
    }));
    return first;
  }

  std::string hear(const std::vector<float>& recording) const {
    return must("hear", hear_recording(*ears_->recognizer, recording, {})).transcript.text;
  }

  std::vector<int> answer(const std::vector<int>& prompt) const {
    const auto stream = must("open", TextStream::open(mind_));
    GenerateOptions options;
    options.max_tokens = kMostTokens;
    options.sampling.temperature = 0;
    must("answer", stream->answer(prompt, options));
    while (stream->next()) continue;
    return must("result", stream->result()).tokens;
  }

 private:
  mutable Regions regions_;
  Narrator narrator_;
  std::shared_ptr<AsrRegion> ears_;
  std::shared_ptr<TextRegion> mind_;
  SpeechRequest request_;
};

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

double ms_of(const std::function<void()>& work) {
  std::this_thread::sleep_for(kPause);
  const auto start = Clock::now();
  work();
  return Ms(Clock::now() - start).count();
}

// What was asked for by its name; everything, where nothing was.
std::vector<std::string> asked_for;
bool is_wanted(const char* name) {
  return asked_for.empty() || std::ranges::find(asked_for, name) != asked_for.end();
}

void compare(const char* name, int n_rounds, const std::function<double(int)>& inside,
             const std::function<double(int)>& library) {
  if (!is_wanted(name)) return;
  std::vector<double> a, b, ratios, differences;
  for (int i = -1; i < n_rounds; ++i) {
    const bool is_library_first = i % 2 != 0;  // whoever goes second finds caches warmer
    double first = is_library_first ? library(i + 1) : inside(i + 1);
    double second = is_library_first ? inside(i + 1) : library(i + 1);
    if (is_library_first) std::swap(first, second);
    if (i < 0) continue;  // to warm up
    a.push_back(first);
    b.push_back(second);
    ratios.push_back(second / first);
    differences.push_back(second - first);
  }
  std::printf("%-14s inside %9.3f ms   library %9.3f ms   ratio %.3f   difference %+.3f ms\n", name,
              median(a), median(b), median(ratios), median(differences));
}

void compare_all(const char* bundle, int n_rounds) {
  constexpr const char* kCases[] = {"speech", "first sound", "transcript", "answer", "long answer"};
  if (std::ranges::none_of(kCases, is_wanted)) return;
  Library library(bundle);
  const Inside inside(bundle);
  const std::vector<float> speech = inside.speak();
  if (speech != library.speak()) give_up("speech", "the library says something else");
  compare(
      "speech", n_rounds, [&](int) { return ms_of([&] { inside.speak(); }); },
      [&](int) { return ms_of([&] { library.speak(); }); });
  const auto until = [](const std::function<Clock::time_point()>& first) {
    std::this_thread::sleep_for(kPause);
    const auto start = Clock::now();
    return Ms(first() - start).count();
  };
  compare(
      "first sound", n_rounds, [&](int) { return until([&] { return inside.stream(); }); },
      [&](int) {
        return until([&] {
          Clock::time_point first;
          library.stream(first);
          return first;
        });
      });

  const std::vector<float> recording = must("resample", resample(speech, 24000, kRecordingRateHz));
  if (inside.hear(recording) != library.hear(recording))
    give_up("transcript", "the library hears something else");
  compare(
      "transcript", n_rounds, [&](int) { return ms_of([&] { inside.hear(recording); }); },
      [&](int) { return ms_of([&] { library.hear(recording); }); });

  for (const char* question : {"What is the capital of France?", "Tell me a story about a dog."}) {
    const std::vector<int> prompt = inside.tokenizer().encode(std::string("<|im_start|>user\n") + question +
                                                              "<|im_end|>\n<|im_start|>assistant\n");
    // Neither may know the prompt from before, and both have to say the same.
    const auto changed = [&](int round) {
      std::vector<int> other = prompt;
      other.insert(other.begin(), 100 + round % 150);
      return other;
    };
    if (inside.answer(changed(0)) != library.answer(changed(0)))
      give_up("answer", "the library says something else");
    compare(
        question[0] == 'W' ? "answer" : "long answer", 4 * n_rounds,
        [&](int round) { return ms_of([&] { inside.answer(changed(round)); }); },
        [&](int round) { return ms_of([&] { library.answer(changed(round)); }); });
  }
}

void time_creation(const char* bundle) {
  if (!is_wanted("create")) return;
  std::vector<double> ms;
  for (int i = 0; i < 20; ++i) {
    EliInferenceContext* ctx = nullptr;
    ms.push_back(ms_of([&] { ctx = eliza_inference_create(bundle, nullptr); }));
    eliza_inference_destroy(ctx);
  }
  std::printf("%-14s median %.3f ms, longest %.3f ms\n", "create", median(ms), std::ranges::max(ms));
}

// While a stream is fed and computed.
void time_partials(const char* bundle) {
  if (!is_wanted("partial")) return;
  Library library(bundle);
  const std::vector<float> speech = library.speak();
  EliAsrStream* const stream = eliza_inference_asr_stream_open(library.ctx(), 24000, library.error());
  if (!stream) give_up("stream", "not opened");
  std::vector<double> ms;
  constexpr size_t kPiece = 480;  // 20 ms
  for (size_t at = 0; at + kPiece <= speech.size(); at += kPiece) {
    library.check(eliza_inference_asr_stream_feed(stream, speech.data() + at, kPiece, library.error()),
                  "feed");
    char text[4096];
    const auto start = Clock::now();
    library.check(
        eliza_inference_asr_stream_partial(stream, text, sizeof text, nullptr, nullptr, library.error()),
        "partial");
    ms.push_back(Ms(Clock::now() - start).count());
    std::this_thread::sleep_for(std::chrono::milliseconds(4));
  }
  eliza_inference_asr_stream_close(stream);
  std::printf("%-14s median %.3f ms, longest %.3f ms of %zu\n", "partial", median(ms), std::ranges::max(ms),
              ms.size());
}

// From another thread at random moments of a call: before, during and after it.
void time_cancels(const char* bundle) {
  if (!is_wanted("cancel")) return;
  Library library(bundle);
  Clock::time_point first;
  library.stream(first);
  const auto start = Clock::now();
  library.stream(first);
  const auto length = Clock::now() - start;
  const double step_ms =
      Ms(first - start).count() / MaskGitOptions().n_step;  // and more: it has the codec's part
  std::mt19937 random(7);
  std::vector<double> ms;
  int n_lost = 0, n_over = 0;
  for (int i = 0; i < kCancels; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(250));  // what came too late is forgotten
    const auto moment = length * static_cast<int64_t>(random() % 1200) / 1000 - length / 10;
    const auto begin = Clock::now() + std::chrono::milliseconds(5);
    Clock::time_point cancelled;
    std::thread other([&] {
      std::this_thread::sleep_until(begin + moment);
      cancelled = Clock::now();
      eliza_inference_cancel_tts(library.ctx(), nullptr);
    });
    std::this_thread::sleep_until(begin);
    const auto began = Clock::now();
    const int status = library.stream(first);
    const auto end = Clock::now();
    other.join();
    if (status == ELIZA_ERR_CANCELLED) {
      ms.push_back(Ms(end - std::max(cancelled, began)).count());
    } else if (cancelled > end) {
      ++n_over;
    } else {
      ++n_lost;
    }
  }
  std::ranges::sort(ms);
  std::printf(
      "%-14s median %.2f ms, p95 %.2f ms, longest %.2f ms of %zu; %d came after the end, %d were lost; a "
      "step is %.2f ms\n",
      "cancel", median(ms), ms[ms.size() * 95 / 100], ms.back(), ms.size(), n_over, n_lost, step_ms);
}

}  // namespace

int main(int argc, char** argv) {
  const char* bundle = argc > 1 ? argv[1] : "models/demo";
  const int n_rounds = argc > 2 ? std::atoi(argv[2]) : 20;
  for (int i = 3; i < argc; ++i) asked_for.emplace_back(argv[i]);
  time_creation(bundle);
  compare_all(bundle, std::max(n_rounds, 1));
  time_partials(bundle);
  time_cancels(bundle);
}
