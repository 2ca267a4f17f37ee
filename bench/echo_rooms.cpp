// Whether an assistant beside a loudspeaker interrupts itself, and hears who interrupts it: answers and
// voices in simulated rooms, through what `parlance talk` takes echo out with.
//
//   echo_rooms ANSWERS SPEECH SILERO [ROOMS [FIRST]]
//
// ANSWERS and SPEECH are folders of recordings, SILERO the detector's weights. In every room, one that
// nothing is known of, answers are played for 14 seconds, once by themselves and once with somebody who
// begins to speak, as loud as the echo, 1.5 to 5.5 seconds later. Rooms have walls, a sound that dies away in
// 0.2 to 0.6 seconds, 20 to 200 ms between playing and hearing, an echo 0 to 20 dB louder than a voice, a
// loudspeaker that is not quite linear, and clocks 100 ppm apart. Of SPEECH, what the detector does not take
// for speech at once where nothing disturbs is left out: noises, and voices that are not there when the
// recording begins.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <chrono>
#include <cmath>
#include <complex>
#include <filesystem>
#include <numbers>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "audio/audio_file.h"
#include "audio/resampler.h"
#include "echo/remover.h"
#include "vad/speech_detector.h"

namespace parlance {

namespace {

constexpr size_t kRate = kEchoRateHz;
constexpr double kVoice = 0.02;                 // level of somebody who speaks, root mean square
constexpr double kSeconds = 14, kInTime = 400;  // ms
constexpr double kGate = 0.012;                 // of a detector that no echo disturbs
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
    PARLANCE_TRY(AudioFile file, AudioFile::open(path));
    Sound samples(static_cast<size_t>(60 * file.sample_rate_hz()));
    PARLANCE_TRY(const int64_t n, file.read(samples));
    samples.resize(static_cast<size_t>(n));
    PARLANCE_TRY(all.emplace_back(), resample(samples, file.sample_rate_hz(), static_cast<int>(kRate)));
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

Scene make_scene(Setting& setting, const Sound* voice) {
  std::uniform_real_distribution<double> any(0, 1);
  Scene scene{.played = setting.played, .heard = setting.echo, .interruption = {}};
  if (voice) {
    const size_t at =
        kRate + static_cast<size_t>((1.5 + 4 * any(setting.random)) * static_cast<double>(kRate));
    const auto spoken = begun(*voice);
    const auto loud = static_cast<float>(setting.level / spoken_level(*voice));
    for (size_t i = 0; i < std::min(spoken.size(), scene.heard.size() - at); ++i)
      scene.heard[at + i] += loud * spoken[i];
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

struct Score {
  int n_false = 0, n_heard = 0;
  std::vector<double> latencies;  // ms
  double seconds = 0, took = 0;

  void take(const Scene& scene, const std::shared_ptr<const SileroModel>& model) {
    const auto start = std::chrono::steady_clock::now();
    const std::vector<size_t> found = beginnings(scene, model);
    took += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    seconds += static_cast<double>(scene.heard.size()) / static_cast<double>(kRate);
    if (!scene.interruption) {
      n_false += !found.empty();
      return;
    }
    const auto first = std::ranges::upper_bound(found, *scene.interruption);
    latencies.push_back(first == found.end() ? HUGE_VAL
                                             : static_cast<double>(*first - *scene.interruption) * 1000 /
                                                   static_cast<double>(kRate));
    n_heard += latencies.back() <= kInTime;
  }

  void print() {
    std::ranges::sort(latencies);
    fmt::print(
        "in {} of {} rooms the assistant interrupts itself; {} of {} interruptions are heard within "
        "{:.0f} ms, the median after {:.0f} ms; {:.1f} ms of a processor for a second of sound, the "
        "detector's among them\n",
        n_false, latencies.size(), n_heard, latencies.size(), kInTime, latencies[latencies.size() / 2],
        1000 * took / seconds);
  }
};

// Whether a detector takes it for speech as soon as it begins, where nothing disturbs. Recordings of noises,
// and of voices that are not there at once, would measure something else than what takes echo out.
bool is_speech_at_once(const Sound& voice, const std::shared_ptr<const SileroModel>& model) {
  SpeechDetector detector(model);
  detector.set_gate(0);
  bool is_found = false;
  const auto on_event = [&](const TurnEvent& e) { is_found |= e.kind == TurnEvent::Kind::speech_start; };
  const auto spoken = begun(voice);
  detector.feed(Sound(kRate), on_event, [](std::span<const float>, int64_t) {});
  detector.feed(spoken.first(std::min(spoken.size(), kRate / 5)), on_event,
                [](std::span<const float>, int64_t) {});
  return is_found;
}

Result<void> run(std::span<char*> arguments) {
  if (arguments.size() < 3)
    return fail(ErrorCode::invalid_argument, "usage: echo_rooms ANSWERS SPEECH SILERO [ROOMS [FIRST]]");
  PARLANCE_TRY(const auto answers, load_all(arguments[0]));
  PARLANCE_TRY(auto voices, load_all(arguments[1]));
  PARLANCE_TRY(const auto model, load_silero(arguments[2]));
  std::erase_if(voices, [&](const Sound& voice) { return !is_speech_at_once(voice, model); });
  if (voices.empty())
    return fail(ErrorCode::not_found, "{}: nobody speaks in these recordings", arguments[1]);
  uint32_t n_rooms = 50, first = 0;
  for (const auto& [at, number] : {std::pair(size_t{3}, &n_rooms), std::pair(size_t{4}, &first)}) {
    if (at >= arguments.size()) continue;
    const std::string_view text = arguments[at];
    if (std::from_chars(text.data(), text.data() + text.size(), *number).ptr != text.data() + text.size())
      return fail(ErrorCode::invalid_argument, "{}: expected a number of rooms", text);
  }
  Score score;
  for (uint32_t room = first; room < first + n_rooms; ++room) {
    Setting setting(room, answers);
    const Scene alone = make_scene(setting, nullptr);
    const Scene disturbed = make_scene(setting, &voices[setting.random() % voices.size()]);
    score.take(alone, model);
    score.take(disturbed, model);
  }
  if (n_rooms > 0) score.print();
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
