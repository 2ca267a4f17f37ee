// Whether an assistant beside a loudspeaker interrupts itself, and hears who interrupts it: answers and
// voices in simulated rooms, through what `parlance talk` takes echo out with.
//
//   echo_rooms ANSWERS SPEECH SILERO [ROOMS [FIRST [THREADS]]]
//
// ANSWERS is a folder of recordings, SPEECH a set of them that says what is spoken in each, SILERO the
// detector's weights. In every room, one that nothing is known of, answers are played for 14 seconds: once by
// themselves, once with somebody who begins to speak, as loud as the echo, 1.5 to 5.5 seconds later, and once
// with a noise in place of the voice. Rooms have walls, a sound that dies away in 0.2 to 0.6 seconds, 20 to
// 200 ms between playing and hearing, an echo 0 to 20 dB louder than a voice, a loudspeaker that is not quite
// linear, and clocks 100 ppm apart. Rooms in which something goes wrong are listed.
//
// Voices are recordings of SPEECH in which somebody speaks and nothing else is heard, since in a noise nobody
// can tell when a voice begins, and which the detector takes for speech at once where nothing disturbs;
// noises are those in which nobody speaks.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <charconv>
#include <cmath>
#include <complex>
#include <ctime>
#include <filesystem>
#include <numbers>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "audio/audio_file.h"
#include "audio/resampler.h"
#include "echo/remover.h"
#include "json/json.h"
#include "json/json_lines.h"
#include "vad/speech_detector.h"

namespace parlance {

namespace {

constexpr size_t kRate = kEchoRateHz;
constexpr double kVoice = 0.02;                 // level of somebody who speaks, root mean square
constexpr double kSeconds = 14, kInTime = 400;  // ms
constexpr double kGate = 0.012;                 // of a detector that no echo disturbs
constexpr size_t kAtOnce = 200;                 // ms
constexpr double kQuiet = 0.003;                // of a voice's level: what is heard in its pauses is no noise
using Sound = std::vector<float>;

double level(const float* x, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return std::sqrt(sum / static_cast<double>(std::max<size_t>(n, 1)));
}

// Levels of 10 ms each.
std::vector<double> levels(const Sound& x) {
  std::vector<double> all;
  for (size_t i = 0; i + kEchoFrame <= x.size(); i += kEchoFrame)
    all.push_back(level(x.data() + i, kEchoFrame));
  return all;
}

// Of what is not pause.
double spoken_level(const Sound& x) {
  const std::vector<double> all = levels(x);
  const double least = 0.1 * *std::ranges::max_element(all);
  double sum = 0;
  int n = 0;
  for (const double l : all) {
    if (l > least) sum += l * l, ++n;
  }
  return std::sqrt(sum / std::max(n, 1));
}

Result<Sound> load(const std::filesystem::path& path) {
  PARLANCE_TRY(AudioFile file, AudioFile::open(path));
  Sound samples(static_cast<size_t>(60 * file.sample_rate_hz()));
  PARLANCE_TRY(const int64_t n, file.read(samples));
  samples.resize(static_cast<size_t>(n));
  return resample(samples, file.sample_rate_hz(), static_cast<int>(kRate));
}

Result<std::vector<Sound>> load_all(const std::filesystem::path& folder) {
  if (!std::filesystem::is_directory(folder))
    return fail(ErrorCode::not_found, "{}: expected a folder of recordings", folder.string());
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".wav" || entry.path().extension() == ".flac")
      paths.push_back(entry.path());
  }
  std::ranges::sort(paths);
  std::vector<Sound> all;
  for (const auto& path : paths) {
    PARLANCE_TRY(all.emplace_back(), load(path));
  }
  if (all.empty()) return fail(ErrorCode::not_found, "{}: there are no recordings", folder.string());
  return all;
}

using Spectrum = std::vector<std::complex<double>>;

// In place, of a power of two; sign -1 forwards, 1 backwards, not scaled.
void transform(Spectrum& x, double sign) {
  const size_t n = x.size();
  for (size_t i = 1, j = 0; i < n; ++i) {
    size_t bit = n / 2;
    for (; j & bit; bit /= 2) j ^= bit;
    j ^= bit;
    if (i < j) std::swap(x[i], x[j]);
  }
  for (size_t half = 1; half < n; half *= 2) {
    Spectrum turns(half);
    for (size_t k = 0; k < half; ++k)
      turns[k] =
          std::polar(1.0, sign * std::numbers::pi * static_cast<double>(k) / static_cast<double>(half));
    for (size_t i = 0; i < n; i += 2 * half) {
      for (size_t k = 0; k < half; ++k) {
        const std::complex<double> a = x[i + k], b = x[i + half + k];
        const std::complex<double> turned = {b.real() * turns[k].real() - b.imag() * turns[k].imag(),
                                             b.real() * turns[k].imag() + b.imag() * turns[k].real()};
        x[i + k] = a + turned;
        x[i + half + k] = a - turned;
      }
    }
  }
}

// As long as the sound.
Sound convolve(const Sound& sound, const Sound& response) {
  Spectrum both(std::bit_ceil(sound.size() + response.size()));
  for (size_t i = 0; i < sound.size(); ++i) both[i].real(static_cast<double>(sound[i]));
  for (size_t i = 0; i < response.size(); ++i) both[i].imag(static_cast<double>(response[i]));
  transform(both, -1);
  // (x + iy)^2 = x^2 - y^2 + 2ixy: both real sounds in one, and twice their product in its imaginary part.
  for (auto& x : both) x *= x;
  transform(both, 1);
  Sound out(sound.size());
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<float>(both[i].imag() / 2 / static_cast<double>(both.size()));
  return out;
}

struct Room {
  explicit Room(std::mt19937& random) {
    std::uniform_real_distribution<double> any(0, 1);
    std::normal_distribution<double> noise;
    delay_ms = 20 + 180 * any(random);
    drift = any(random) < 0.5 ? -1e-4 : 1e-4;
    const double dies_away_s = 0.2 + 0.4 * any(random);
    response.resize(static_cast<size_t>(static_cast<double>(kRate) * std::min(0.5, dies_away_s)));
    response[0] = 1;
    for (int wall = 0; wall < 12; ++wall) {
      const double at = 16 + any(random) * 640;
      const double sign = any(random) < 0.5 ? -1 : 1;
      response[static_cast<size_t>(at)] += static_cast<float>(sign * 0.5 * any(random) / (1 + at / 160));
    }
    const double tail = 0.02 + 0.03 * any(random);
    for (size_t i = 80; i < response.size(); ++i) {
      const double seconds = static_cast<double>(i) / static_cast<double>(kRate);
      response[i] += static_cast<float>(tail * noise(random) * std::pow(10.0, -3 * seconds / dies_away_s));
    }
    echo_db = 20 * any(random);
  }

  // What a microphone hears of what is played.
  Sound echo_of(const Sound& played) const {
    Sound sound(played.size()), heard(played.size());
    float low = 0;
    for (size_t i = 0; i < played.size(); ++i) {
      low += 0.06f * (played[i] - low);  // small loudspeakers have no low tones
      sound[i] = std::tanh(0.5f * (played[i] - low)) / 0.5f;
    }
    const Sound in_room = convolve(sound, response);
    for (size_t i = 0; i < heard.size(); ++i) {
      const double at = static_cast<double>(i) * (1 + drift) - delay_ms * static_cast<double>(kRate) / 1000;
      if (at < 1 || at + 3 > static_cast<double>(in_room.size())) continue;
      const auto k = static_cast<size_t>(at);
      const auto f = static_cast<float>(at - static_cast<double>(k));
      const float a = in_room[k - 1], b = in_room[k], c = in_room[k + 1], d = in_room[k + 2];
      heard[i] = b + 0.5f * f * (c - a + f * (2 * a - 5 * b + 4 * c - d + f * (3 * (b - c) + d - a)));
    }
    return heard;
  }

  double delay_ms, drift, echo_db;
  Sound response;
};

struct Scene {
  Sound played, heard;
  std::optional<size_t> interruption;  // sample
};

// In its pauses nothing else is heard: a tenth of it is silent.
bool is_quiet(const Sound& voice) {
  std::vector<double> all = levels(voice);
  const auto softest = all.begin() + std::ssize(all) / 10;
  std::ranges::nth_element(all, softest);
  return *softest < kQuiet * spoken_level(voice);
}

// A voice without the silence before it.
std::span<const float> begun(const Sound& voice) {
  const std::vector<double> all = levels(voice);
  const double least = 0.1 * *std::ranges::max_element(all);
  const auto first = std::ranges::find_if(all, [&](double l) { return l >= least; }) - all.begin();
  return std::span(voice).subspan(static_cast<size_t>(first) * kEchoFrame);
}

// What is played in a room and heard of it, before anybody speaks.
struct Setting {
  Setting(uint32_t seed, const std::vector<Sound>& answers) : random(seed), room(random) {
    played.resize(kRate);
    while (static_cast<double>(played.size()) < kSeconds * static_cast<double>(kRate)) {
      const Sound& answer = answers[random() % answers.size()];
      played.insert(played.end(), answer.begin(), answer.end());
      played.resize(played.size() + kRate / 5);
    }
    echo = room.echo_of(played);
    level = kVoice * std::pow(10.0, room.echo_db / 20);
    const double gain = level / spoken_level(echo);
    for (float& x : echo) x *= static_cast<float>(gain);
  }

  std::mt19937 random;
  Room room;
  Sound played, echo;
  double level;  // of the echo
};

// Somebody speaks in it, or it is a noise, or neither.
Scene make_scene(Setting& setting, const Sound* sound) {
  std::uniform_real_distribution<double> any(0, 1);
  Scene scene{.played = setting.played, .heard = setting.echo, .interruption = {}};
  if (sound) {
    const size_t at =
        kRate + static_cast<size_t>((1.5 + 4 * any(setting.random)) * static_cast<double>(kRate));
    const auto begins = begun(*sound);
    const auto loud = static_cast<float>(setting.level / spoken_level(*sound));
    for (size_t i = 0; i < std::min(begins.size(), scene.heard.size() - at); ++i)
      scene.heard[at + i] += loud * begins[i];
    scene.interruption = at;
  }
  std::normal_distribution<float> noise(0, 3e-4f);
  for (float& x : scene.heard) x = std::clamp(x + noise(setting.random), -1.0f, 1.0f);
  return scene;
}

// Where speech is taken to begin, in samples.
std::vector<size_t> beginnings(const Scene& scene, const std::shared_ptr<const SileroModel>& model) {
  EchoRemover remover;
  SpeechDetector detector(model);
  std::vector<size_t> found;
  std::vector<float> left(kEchoFrame);
  for (size_t i = 0; i + kEchoFrame <= scene.heard.size(); i += kEchoFrame) {
    remover.process(std::span(scene.heard).subspan(i, kEchoFrame),
                    std::span(scene.played).subspan(i, kEchoFrame), left);
    const auto gate = static_cast<double>(remover.gate());
    detector.set_gate(gate > 0 ? gate : kGate);
    detector.feed(
        left,
        [&](const TurnEvent& e) {
          if (e.kind == TurnEvent::Kind::speech_start) found.push_back(i + kEchoFrame);
        },
        [](std::span<const float>, int64_t) {});
  }
  return found;
}

double processor_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// What happened in a room; times in ms, infinite where it did not happen.
struct Outcome {
  double interrupts_itself = HUGE_VAL;                               // after the first sound
  double heard_after = HUGE_VAL, noise_interrupts_after = HUGE_VAL;  // the voice, the noise began
};

struct Voices {
  std::vector<Sound> voices, noises;
  int n_like_speech = 0;  // noises that a detector takes for speech anyway
};

class Rooms {
 public:
  Rooms(const std::vector<Sound>& answers, const Voices& others, std::shared_ptr<const SileroModel> model)
      : answers_(answers), others_(others), model_(std::move(model)) {}

  Outcome enter(uint32_t room) {
    Setting setting(room, answers_);
    const auto any_of = [&](const std::vector<Sound>& all) {
      return all.empty() ? nullptr : &all[setting.random() % all.size()];
    };
    Outcome outcome;
    outcome.interrupts_itself = first_found(make_scene(setting, nullptr));
    outcome.heard_after = first_found(make_scene(setting, any_of(others_.voices)));
    if (const Sound* const noise = any_of(others_.noises))
      outcome.noise_interrupts_after = first_found(make_scene(setting, noise));
    return outcome;
  }

  // Of a processor, for a second of sound.
  double ms_per_second() const { return 1000 * took_ / seconds_; }

 private:
  // In ms after somebody or something begins, or after the first sound.
  double first_found(const Scene& scene) {
    const double start = processor_seconds();
    const std::vector<size_t> found = beginnings(scene, model_);
    took_ += processor_seconds() - start;
    seconds_ += static_cast<double>(scene.heard.size()) / static_cast<double>(kRate);
    const size_t from = scene.interruption.value_or(kRate);
    const auto first = std::ranges::upper_bound(found, from);
    return first == found.end() ? HUGE_VAL
                                : static_cast<double>(*first - from) * 1000 / static_cast<double>(kRate);
  }

  const std::vector<Sound>& answers_;
  const Voices& others_;
  std::shared_ptr<const SileroModel> model_;
  double seconds_ = 0, took_ = 0;
};

void print(uint32_t room, const Outcome& outcome) {
  if (outcome.interrupts_itself < HUGE_VAL)
    fmt::print("room {}: the assistant interrupts itself after {:.2f} s\n", room,
               outcome.interrupts_itself / 1000);
  if (outcome.heard_after == HUGE_VAL)
    fmt::print("room {}: the voice is not heard\n", room);
  else if (outcome.heard_after > kInTime)
    fmt::print("room {}: the voice is heard after {:.0f} ms\n", room, outcome.heard_after);
}

void print(const std::vector<Outcome>& outcomes, const Voices& others, double ms_per_second) {
  const auto n_of = [&](auto&& is_it) { return std::ranges::count_if(outcomes, is_it); };
  std::vector<double> latencies;
  for (const Outcome& o : outcomes) latencies.push_back(o.heard_after);
  std::ranges::sort(latencies);
  fmt::print(
      "in {} of {} rooms the assistant interrupts itself; {} of {} interruptions ({} voices) are heard "
      "within {:.0f} ms, the median after {:.0f} ms; {} of as many noises, as loud, interrupt it ({}, of "
      "which "
      "the detector takes {} for speech where nothing disturbs); {:.1f} ms of a processor for a second of "
      "sound, the detector's among them\n",
      n_of([](const Outcome& o) { return o.interrupts_itself < HUGE_VAL; }), outcomes.size(),
      n_of([](const Outcome& o) { return o.heard_after <= kInTime; }), outcomes.size(), others.voices.size(),
      kInTime, latencies[latencies.size() / 2],
      n_of([](const Outcome& o) { return o.noise_interrupts_after < HUGE_VAL; }), others.noises.size(),
      others.n_like_speech, ms_per_second);
}

// Whether a detector takes it for speech within some milliseconds from where it begins, where nothing
// disturbs.
bool is_taken_for_speech(const Sound& sound, size_t within_ms,
                         const std::shared_ptr<const SileroModel>& model) {
  SpeechDetector detector(model);
  detector.set_gate(0);
  bool is_found = false;
  const auto on_event = [&](const TurnEvent& e) { is_found |= e.kind == TurnEvent::Kind::speech_start; };
  const auto begins = begun(sound);
  detector.feed(Sound(kRate), on_event, [](std::span<const float>, int64_t) {});
  detector.feed(begins.first(std::min(begins.size(), within_ms * kRate / 1000)), on_event,
                [](std::span<const float>, int64_t) {});
  return is_found;
}

Result<Voices> load_voices(const std::filesystem::path& folder,
                           const std::shared_ptr<const SileroModel>& model) {
  struct Line {
    std::filesystem::path path;
    bool is_voice;
  };
  const auto parse = [&](std::string_view text) -> Result<Line> {
    PARLANCE_TRY(const Json object, Json::parse(text));
    const auto audio = object.member("audio"), words = object.member("text");
    if (!audio || !audio->text() || !words || !words->text())
      return fail(ErrorCode::corrupt_file, R"("audio" and "text" must be there)");
    return Line{.path = folder / *audio->text(), .is_voice = !words->text()->empty()};
  };
  PARLANCE_TRY(const auto lines, read_json_lines(folder / "index.jsonl", kMostSetBytes, "recordings", parse));
  Voices all;
  for (const Line& line : lines) {
    PARLANCE_TRY(Sound sound, load(line.path));
    if (!line.is_voice) {
      all.n_like_speech += is_taken_for_speech(sound, 1000 * sound.size() / kRate, model);
      all.noises.push_back(std::move(sound));
    } else if (is_quiet(sound) && is_taken_for_speech(sound, kAtOnce, model)) {
      all.voices.push_back(std::move(sound));
    }
  }
  if (all.voices.empty())
    return fail(ErrorCode::not_found, "{}: nobody speaks in these recordings", folder.string());
  return all;
}

Result<void> run(std::span<char*> arguments) {
  if (arguments.size() < 3)
    return fail(ErrorCode::invalid_argument,
                "usage: echo_rooms ANSWERS SPEECH SILERO [ROOMS [FIRST [THREADS]]]");
  PARLANCE_TRY(const auto answers, load_all(arguments[0]));
  PARLANCE_TRY(const auto model, load_silero(arguments[2]));
  PARLANCE_TRY(const Voices others, load_voices(arguments[1], model));
  std::array<uint32_t, 3> numbers = {50, 0, 1};
  for (size_t i = 0; i < std::min(arguments.size() - 3, numbers.size()); ++i) {
    const std::string_view text = arguments[3 + i];
    if (std::from_chars(text.data(), text.data() + text.size(), numbers[i]).ptr != text.data() + text.size())
      return fail(ErrorCode::invalid_argument, "{}: expected a number of rooms or threads", text);
  }
  const auto [n_rooms, first, n_threads] = numbers;
  if (n_rooms == 0) return {};

  std::vector<Outcome> outcomes(n_rooms);
  std::vector<Rooms> rooms(std::max(n_threads, 1u), Rooms(answers, others, model));
  {
    std::atomic<uint32_t> next = 0;
    std::vector<std::jthread> threads;
    for (Rooms& some : rooms) {
      threads.emplace_back([&] {
        for (uint32_t i; (i = next++) < n_rooms;) outcomes[i] = some.enter(first + i);
      });
    }
  }
  for (uint32_t i = 0; i < n_rooms; ++i) print(first + i, outcomes[i]);
  double ms_per_second = 0;
  for (const Rooms& some : rooms) ms_per_second += some.ms_per_second() / static_cast<double>(rooms.size());
  print(outcomes, others, ms_per_second);
  return {};
}

}  // namespace

}  // namespace parlance

int main(int n, char** arguments) {
  if (const auto done = parlance::run(std::span(arguments + 1, static_cast<size_t>(n - 1))); !done) {
    fmt::print(stderr, "{}\n", done.error().message);
    return 1;
  }
}
