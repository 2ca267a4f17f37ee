#include "tts/synthesizer.h"
#include "support/json_file.h"

#include <cmath>
#include <limits>
#include <stdexcept>
#include <thread>

#include "support/damaged_gguf.h"
#include "support/npy.h"
#include "tts/support/codec_full.h"
#include "tts/support/tiny_tts.h"

namespace parlance::test {
namespace {

constexpr const char* kLongText =
    "This is a test of speech. The quick brown fox jumped over the lazy dog, and the world said hello. Hello "
    "world.";

AudioCodes codes_of(const nlohmann::json& rows) {
  AudioCodes codes{.n_codebook = std::ssize(rows), .codes = {}};
  for (const auto& row : rows)
    for (const auto& code : row) codes.codes.push_back(code);
  return codes;
}

std::vector<float> floats(const std::string& file) {
  const NpyArray array = read_npy(tts_fixtures() / "e2e" / (file + ".npy"));
  return {array.values.begin(), array.values.end()};
}

double largest_difference(const std::vector<float>& a, const std::vector<float>& b, float scale = 1) {
  EXPECT_EQ(a.size(), b.size());
  double largest = a.size() == b.size() ? 0 : INFINITY;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    largest = std::max(largest, std::fabs(static_cast<double>(a[i]) * scale - b[i]));
  return largest;
}

std::vector<int64_t> frames_of(const SpeechReport& report) {
  std::vector<int64_t> frames;
  for (const SpokenChunk& chunk : report.chunks) frames.push_back(chunk.codes.n_frames());
  return frames;
}

// What omnivoice.cpp does with this: its guidance, its chunks.
SpeechRequest recorded_request(const nlohmann::json& recorded) {
  SpeechRequest request;
  request.text = recorded.at("text");
  request.language = recorded.value("lang", "English");  // as the recorded prompts have it
  request.decoding.n_step = recorded.at("num_step");
  request.decoding.seed = recorded.at("seed");
  request.mask = GuidanceMask::soft;
  request.seconds = recorded.value("T_override", 0) * 0.04 + 1e-4;
  if (!recorded.contains("T_override")) request.seconds = 0;
  if (recorded.contains("chunk_threshold_sec")) {
    request.chunking.threshold_seconds = recorded.at("chunk_threshold_sec");
    request.chunking.chunk_seconds = recorded.at("chunk_duration_sec");
  }
  request.leading_silence = LeadingSilence::at_once;
  request.is_windowed = false;
  return request;
}

// Frames of each chunk, from what the program wrote about its work: "… T=44 …".
std::vector<int64_t> recorded_frames(const nlohmann::json& recorded) {
  std::vector<int64_t> frames;
  for (const std::string line : recorded.at("log")) {
    if (const size_t at = line.find(" T=");
        at != std::string::npos && line.find("codes") == std::string::npos)
      frames.push_back(std::stoll(line.substr(at + 3)));
  }
  return frames;
}

double rms_of(const std::vector<float>& samples) {
  double sum = 0;
  for (const float x : samples) sum += static_cast<double>(x) * static_cast<double>(x);
  return std::sqrt(sum / static_cast<double>(samples.size()));
}

// The voice of a case: one of a recording, whose codes were recorded too, one as codes, or none.
Voice recorded_voice(Synthesizer& synthesizer, const nlohmann::json& recorded) {
  Voice voice;
  if (recorded.contains("ref_tokens")) {
    voice.reference = codes_of(recorded.at("ref_tokens"));
    voice.reference_text = recorded.at("ref_text");
  } else if (recorded.contains("ref_codes")) {
    const auto recording = floats(recorded.at("case").get<std::string>() + ".ref24k");
    auto encoded = synthesizer.encode_voice(recording, recorded.at("ref_text").get<std::string>());
    if (!encoded) throw std::runtime_error(encoded.error().message);
    voice = *std::move(encoded);
    EXPECT_EQ(voice.reference, codes_of(recorded.at("ref_codes")));
    EXPECT_EQ(voice.reference_text, recorded.at("ref_text").get<std::string>() + ".");
    EXPECT_NEAR(voice.rms.value_or(0), rms_of(recording), 1e-4);
  }
  return voice;
}

// Everything from text to sound as omnivoice.cpp recorded it, whichever cases there are. The reference's
// convolutions round to half.
TEST(SynthesizerEndToEnd, RecordedCases) {
  PARLANCE_REQUIRE_FIXTURES("omnivoice/e2e");
  const auto codec = full_codec();
  if (codec.empty())
    GTEST_SKIP() << "no codec_full/recipe.tsv, or no room for 732 MB in the temporary folder";
  const LoadedTts tts = load_tts(codec);
  ASSERT_TRUE(tts.synthesizer);
  const auto file = tts_fixtures() / "e2e/cases.json";
  std::map<std::string, nlohmann::json> cases;
  for (const auto& recorded : read_json(file)) cases[recorded.at("case")] = recorded;
  ASSERT_FALSE(cases.empty()) << file << " has no cases";
  constexpr double kTolerance = 1.5e-3;
  int n_sounds = 0;
  const auto compare = [&](const std::string& name, const std::vector<float>& samples) {
    const auto has = [&](const std::string& ending) {
      return std::filesystem::exists(tts_fixtures() / "e2e" / (name + ending + ".npy"));
    };
    if (has(".pcm")) {
      ++n_sounds;
      EXPECT_LE(largest_difference(samples, floats(name + ".pcm")), kTolerance);
    }
    if (has(".pcm_s16")) {
      ++n_sounds;
      EXPECT_LE(largest_difference(samples, floats(name + ".pcm_s16"), 32767), 1 + 32767 * kTolerance);
    }
  };
  for (const auto& [name, recorded] : cases) {
    SCOPED_TRACE(name);
    const std::string parameters = recorded.value("same_parameters_as", name);
    ASSERT_TRUE(cases.contains(parameters)) << file << " has no case " << parameters;
    SpeechRequest request = recorded_request(cases[parameters]);
    request.voice = recorded_voice(*tts.synthesizer, cases[parameters]);
    if (recorded.contains("emits")) {
      const Streamed streamed = stream_speech(*tts.synthesizer, request);
      ASSERT_TRUE(streamed.report) << streamed.report.error().message;
      EXPECT_EQ(frames_of(*streamed.report), recorded_frames(recorded));
      EXPECT_EQ(streamed.sizes, recorded.at("emits").get<std::vector<int64_t>>());
      compare(name, streamed.samples);
      continue;
    }
    auto speech = tts.synthesizer->synthesize(request);
    ASSERT_TRUE(speech) << speech.error().message;
    EXPECT_EQ(frames_of(speech->report), recorded_frames(recorded));
    EXPECT_EQ(std::ssize(speech->samples), recorded.at("n").get<int64_t>());
    if (recorded.contains("tokens")) {
      ASSERT_EQ(speech->report.chunks.size(), 1u);
      EXPECT_EQ(speech->report.chunks[0].codes, codes_of(recorded.at("tokens")));
    }
    compare(name, speech->samples);
    if (const std::string raw = name + ".raw_pcm";
        std::filesystem::exists(tts_fixtures() / "e2e" / (raw + ".npy"))) {
      request.is_processed = false;
      speech = tts.synthesizer->synthesize(request);
      ASSERT_TRUE(speech) << speech.error().message;
      EXPECT_LE(largest_difference(speech->samples, floats(raw)), kTolerance);
      ++n_sounds;
    }
  }
  EXPECT_GT(n_sounds, 0) << "no case has its sound beside " << file;
}

class SynthesizerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    PARLANCE_REQUIRE_FIXTURES("omnivoice/models");
    tts_ = load_tiny_tts();
    ASSERT_TRUE(tts_.synthesizer);
  }

  static SpeechRequest request(const std::string& text) {
    SpeechRequest request;
    request.text = text;
    request.decoding.n_step = 4;
    return request;
  }
  Synthesizer& synthesizer() { return *tts_.synthesizer; }

  // A second of a tone that sways, at half loudness.
  static std::vector<float> recording(double seconds, float loudness = 0.5f) {
    std::vector<float> samples(static_cast<size_t>(seconds * kSpeechRateHz));
    for (size_t i = 0; i < samples.size(); ++i) {
      const auto t = static_cast<float>(i) / kSpeechRateHz;
      samples[i] = loudness * std::sin(1000 * t + 20 * std::sin(30 * t));
    }
    return samples;
  }

  LoadedTts tts_;
};

TEST_F(SynthesizerTest, AStreamIsTheSameInWindowsAndInChunks) {
  SpeechRequest chunked = request(kLongText);
  chunked.chunking = {.chunk_seconds = 1.2f, .threshold_seconds = 1.5f};
  chunked.voice.rms = 0.05f;  // so that both have the same loudness
  const auto whole = synthesizer().synthesize(chunked);
  ASSERT_TRUE(whole) << whole.error().message;
  EXPECT_EQ(frames_of(whole->report), (std::vector<int64_t>{44, 81, 48, 38}));
  EXPECT_EQ(whole->report.chunks[0].n_reference, 0);
  EXPECT_EQ(whole->report.chunks[3].n_reference, 44);

  chunked.leading_silence = LeadingSilence::at_once;
  const Streamed windows = stream_speech(synthesizer(), chunked);
  ASSERT_TRUE(windows.report) << windows.report.error().message;
  EXPECT_EQ(windows.n_last, 1);
  chunked.is_windowed = false;
  const Streamed chunks = stream_speech(synthesizer(), chunked);
  // GPUs sum products of few columns up in another order than those of many: 1.1e-6 on an H100 through
  // Vulkan.
  EXPECT_LE(largest_difference(windows.samples, chunks.samples), tts_.device->name() == "cpu" ? 1e-6 : 2e-6);
  EXPECT_GT(windows.sizes.size(), chunks.sizes.size());
  // What is known as a whole has been cut to 16 bits, of which the gain for that loudness left half.
  std::vector<float> clipped = windows.samples;
  for (float& sample : clipped) sample = std::clamp(sample, -0.5f, 0.5f);
  EXPECT_LE(largest_difference(clipped, whole->samples), 1.01 / 32768);
  EXPECT_EQ(windows.report->n_samples, std::ssize(windows.samples));
  EXPECT_LT(windows.report->first_audio_seconds, windows.report->total_seconds);

  chunked.is_processed = false;
  const auto raw = synthesizer().synthesize(chunked);
  chunked.is_windowed = true;
  const Streamed raw_stream = stream_speech(synthesizer(), chunked);
  ASSERT_TRUE(raw);
  EXPECT_LE(largest_difference(raw_stream.samples, raw->samples), 1e-6);
}

TEST_F(SynthesizerTest, AStreamsFirstClauseComesAlone) {
  SpeechRequest streamed = request(kLongText);
  streamed.chunking = kStreamedChunking;
  std::vector<int> first_chunk_steps;
  streamed.on_progress = [&](const SpeechProgress& progress) {
    EXPECT_EQ(progress.n_chunks, 2);
    EXPECT_EQ(progress.n_steps, 4);
    if (progress.chunk == 0) first_chunk_steps.push_back(progress.step);
  };
  bool has_sound_before_second_chunk = false;
  int n_chunks = 0;
  streamed.leading_silence = LeadingSilence::none;
  const auto report = synthesizer().stream(streamed, [&](std::span<const float>, bool) {
    has_sound_before_second_chunk |= n_chunks == 0 && first_chunk_steps.size() == 4;
    return true;
  });
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_EQ(report->chunks.size(), 2u);
  EXPECT_EQ(report->chunks[0].text, "This is a test of speech.");
  EXPECT_EQ(first_chunk_steps, (std::vector<int>{1, 2, 3, 4}));
  EXPECT_TRUE(has_sound_before_second_chunk);
}

// And the file is named that they are in, whichever quality it is.
TEST_F(SynthesizerTest, DamagedWeightsAreAnError) {
  const TemporaryFolder folder;
  for (const char* tensor : {"llm.layers.1.self_attn.v_proj.weight", "llm.norm.weight"}) {
    ASSERT_NO_FATAL_FAILURE(damage_gguf(tts_fixtures() / "models/lm-tiny-f32.gguf", folder / "damaged.gguf",
                                        tensor, 0, std::nanf("")));
    LoadedTts damaged = load_tts(tts_fixtures() / "models/codec-tiny-f32.gguf", folder / "damaged.gguf");
    ASSERT_TRUE(damaged.synthesizer);
    for (const SpeechQuality quality : {SpeechQuality::exact, SpeechQuality::standard, SpeechQuality::fast}) {
      SCOPED_TRACE(testing::Message() << tensor << ", quality " << static_cast<int>(quality));
      SpeechRequest spoken = request("Hello world.");
      spoken.quality = quality;
      const auto speech = damaged.synthesizer->synthesize(spoken);
      ASSERT_FALSE(speech);
      EXPECT_EQ(speech.error().code, ErrorCode::corrupt_file);
      EXPECT_NE(speech.error().message.find("damaged.gguf"), std::string::npos) << speech.error().message;
    }
  }
}

TEST_F(SynthesizerTest, TheSameSeedSaysTheSame) {
  SpeechRequest a = request("Hello world.");
  const auto first = synthesizer().synthesize(a), again = synthesizer().synthesize(a);
  ASSERT_TRUE(first && again);
  EXPECT_EQ(first->samples, again->samples);
  a.decoding.seed = 43;
  EXPECT_NE(synthesizer().synthesize(a)->report.chunks[0].codes, first->report.chunks[0].codes);
  a.mask = GuidanceMask::soft;
  EXPECT_TRUE(synthesizer().synthesize(a));
}

// A phrase that was spoken is not computed again, but only for the same voice and in the same way.
TEST_F(SynthesizerTest, PhrasesAreKept) {
  Synthesizer keeping(*tts_.model, {.reference_folder = {}, .n_phrases = 8});
  SpeechRequest a = request("One second");
  const auto first = keeping.synthesize(a);
  ASSERT_TRUE(first && first->report.chunks.size() == 1);
  a.text = " one  SECOND ";
  const auto again = keeping.synthesize(a);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->samples, first->samples);
  EXPECT_TRUE(again->report.chunks.empty());
  a.decoding.seed = 7;
  EXPECT_EQ(keeping.synthesize(a)->report.chunks.size(), 1u);

  const Streamed computed = stream_speech(keeping, a), kept = stream_speech(keeping, a);
  ASSERT_TRUE(computed.report && kept.report);
  EXPECT_EQ(computed.report->chunks.size(), 1u);
  EXPECT_TRUE(kept.report->chunks.empty());
  EXPECT_EQ(kept.samples, computed.samples);
  EXPECT_EQ(kept.n_last, 1);

  a.text = "okay";
  const std::vector<float> filler(2400, 0.25f);
  keeping.remember(a, filler);
  EXPECT_EQ(keeping.synthesize(a)->samples, filler);
  EXPECT_EQ(stream_speech(keeping, a).samples, filler);
}

TEST_F(SynthesizerTest, LengthFollowsSpeedAndDuration) {
  SpeechRequest slow = request("The quick brown fox jumped over the lazy dog.");
  const int64_t n_frames = frames_of(synthesizer().synthesize(slow)->report).at(0);
  slow.speed = 2;
  EXPECT_EQ(frames_of(synthesizer().synthesize(slow)->report).at(0), n_frames / 2);
  slow.seconds = 1;
  EXPECT_EQ(frames_of(synthesizer().synthesize(slow)->report).at(0), 25);
}

TEST_F(SynthesizerTest, AVoiceIsEncodedOnce) {
  const std::vector<float> quiet = recording(2, 0.05f);
  const auto voice = synthesizer().encode_voice(quiet, "This is speech");
  ASSERT_TRUE(voice) << voice.error().message;
  EXPECT_EQ(voice->reference.n_codebook, 8);
  EXPECT_EQ(voice->reference.n_frames(), 50);
  EXPECT_EQ(voice->reference_text, "This is speech.");
  EXPECT_NEAR(*voice->rms, 0.05f / std::sqrt(2.0f), 1e-3);

  const auto again = synthesizer().encode_voice(quiet, "");
  ASSERT_TRUE(again);
  EXPECT_EQ(again->reference, voice->reference);

  SpeechRequest cloned = request("Hello world.");
  cloned.voice = *voice;
  const auto speech = synthesizer().synthesize(cloned);
  ASSERT_TRUE(speech) << speech.error().message;
  EXPECT_EQ(speech->report.chunks[0].n_reference, 50);
}

TEST_F(SynthesizerTest, CancelEndsAStreamWhereverItIs) {
  SpeechRequest cancelled = request(kLongText);
  cancelled.chunking = {.chunk_seconds = 1.2f, .threshold_seconds = 0};
  const auto expect_cancelled = [](const Streamed& streamed) {
    ASSERT_FALSE(streamed.report);
    EXPECT_EQ(streamed.report.error().code, ErrorCode::cancelled);
    EXPECT_EQ(streamed.n_last, 1);
  };

  // Before it begins.
  const CancellationSource source;
  cancelled.cancellation = source.ticket();
  source.cancel();
  Streamed streamed = stream_speech(synthesizer(), cancelled);
  expect_cancelled(streamed);
  EXPECT_TRUE(streamed.samples.empty());
  EXPECT_FALSE(synthesizer().synthesize(cancelled));

  // At the first and at a later step of the network.
  for (const int at : {1, 6}) {
    cancelled.cancellation = source.ticket();
    int n_steps = 0;
    cancelled.on_progress = [&](const SpeechProgress&) {
      if (++n_steps == at) source.cancel();
    };
    expect_cancelled(stream_speech(synthesizer(), cancelled));
    EXPECT_EQ(n_steps, at);
  }
  cancelled.on_progress = {};

  // By whoever takes the sound.
  cancelled.cancellation = {};
  for (const int64_t n_calls : {1, 3}) {
    streamed = stream_speech(synthesizer(), cancelled, n_calls);
    expect_cancelled(streamed);
    EXPECT_EQ(std::ssize(streamed.sizes), n_calls);
  }

  // By another thread, while the request runs or waits for its turn.
  for (const int delay_ms : {0, 5, 20}) {
    cancelled.cancellation = source.ticket();
    std::jthread other([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(delay_ms));
      source.cancel();
    });
    cancelled.decoding.n_step = 1000;
    expect_cancelled(stream_speech(synthesizer(), cancelled));
  }

  // And the next one is not touched by it.
  EXPECT_TRUE(stream_speech(synthesizer(), request("Hello world.")).report);
}

TEST_F(SynthesizerTest, RequestsOfSeveralThreadsAreAsAlone) {
  const auto expected = synthesizer().synthesize(request("Hello world."));
  ASSERT_TRUE(expected);
  std::vector<std::vector<float>> got(3);
  {
    std::vector<std::jthread> threads;
    for (std::vector<float>& samples : got)
      threads.emplace_back([&] { samples = synthesizer().synthesize(request("Hello world."))->samples; });
  }
  for (const std::vector<float>& samples : got) EXPECT_EQ(samples, expected->samples);
}

TEST_F(SynthesizerTest, RefusesWhatCannotBeSpoken) {
  const auto refusal = [&](const SpeechRequest& bad, ErrorCode code, const std::string& word) {
    const Streamed streamed = stream_speech(synthesizer(), bad);
    ASSERT_FALSE(streamed.report) << word;
    EXPECT_EQ(streamed.report.error().code, code) << streamed.report.error().message;
    EXPECT_NE(streamed.report.error().message.find(word), std::string::npos)
        << streamed.report.error().message;
    EXPECT_EQ(streamed.n_last, 1);
    EXPECT_TRUE(streamed.samples.empty());
    EXPECT_FALSE(synthesizer().synthesize(bad));
  };
  const auto with = [](auto change) {
    SpeechRequest bad = request("Hello world.");
    change(bad);
    return bad;
  };
  const auto invalid = ErrorCode::invalid_argument;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  refusal(with([](auto& r) { r.decoding.n_step = 0; }), invalid, "steps");
  refusal(with([](auto& r) { r.speed = 0; }), invalid, "speed");
  refusal(with([&](auto& r) { r.speed = nan; }), invalid, "speed");
  refusal(with([](auto& r) { r.seconds = 1e9; }), invalid, "duration");
  refusal(with([](auto& r) { r.chunking.chunk_seconds = -1; }), invalid, "chunks");
  refusal(with([](auto& r) { r.instruct = "a purple voice"; }), invalid, "purple");
  refusal(with([](auto& r) { r.text.assign(2 << 20, 'a'); }), invalid, "bytes");
  refusal(with([](auto& r) { r.voice.reference = {.n_codebook = 7, .codes = std::vector<int32_t>(70)}; }),
          invalid, "codebooks");
  refusal(with([](auto& r) { r.voice.reference = {.n_codebook = 8, .codes = std::vector<int32_t>(80, 64)}; }),
          ErrorCode::corrupt_file, "64");
  refusal(
      with([](auto& r) { r.voice.reference = {.n_codebook = 8, .codes = std::vector<int32_t>(8 * 3001)}; }),
      invalid, "120");
  // One piece of text that would take hours.
  refusal(with([](auto& r) {
            r.text.assign(100000, 'a');
            r.chunking.chunk_seconds = 0;
          }),
          invalid, "chunks");
}

TEST_F(SynthesizerTest, RefusesRecordingsWithoutAVoice) {
  const auto refusal = [&](const std::vector<float>& samples, const std::string& word) {
    const auto voice = synthesizer().encode_voice(samples, "words");
    ASSERT_FALSE(voice) << word;
    EXPECT_EQ(voice.error().code, ErrorCode::invalid_argument);
    EXPECT_NE(voice.error().message.find(word), std::string::npos) << voice.error().message;
  };
  refusal({}, "less than");
  refusal(std::vector<float>(kSpeechRateHz, 0), "less than");
  refusal(recording(0.03), "less than");
  refusal(recording(600), "600 seconds");
  std::vector<float> broken = recording(1);
  broken[777] = std::numeric_limits<float>::quiet_NaN();
  refusal(broken, "finite");
  broken[777] = std::numeric_limits<float>::infinity();
  refusal(broken, "finite");
}

}  // namespace
}  // namespace parlance::test
