// Sound devices over PortAudio. Its call-backs run in a thread that must never wait: they only move samples
// between the device and a ring.
#include <dlfcn.h>
#include <portaudio.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>

#include "audio/limits.h"
#include "audio/sample_ring.h"
#include "audio_devices/device_list.h"
#include "audio_devices/microphone.h"
#include "audio_devices/speaker.h"
#include "base/ascii.h"

namespace parlance {

namespace {

// PortAudio's functions may not run at the same time in two threads. Some take their time, so that what must
// not wait calls none.
std::mutex& library_mutex() {
  static std::mutex mutex;
  return mutex;
}

void ignore_alsa(const char*, int, const char*, int, const char*, ...) {}

// The libraries below PortAudio write about every device that they do not find; what matters comes as an
// error.
void silence_libraries() {
  using AlsaHandler =
      void (*)(const char* file, int line, const char* function, int error, const char* format, ...);
  using JackHandler = void (*)(const char* message);
  if (auto* set = reinterpret_cast<int (*)(AlsaHandler)>(dlsym(RTLD_DEFAULT, "snd_lib_error_set_handler")))
    set(ignore_alsa);
  for (const char* name : {"jack_set_error_function", "jack_set_info_function"}) {
    if (auto* set = reinterpret_cast<void (*)(JackHandler)>(dlsym(RTLD_DEFAULT, name)))
      set([](const char*) {});
  }
}

std::string reason_of(PaError error) {
  const PaHostErrorInfo* host = error == paUnanticipatedHostError ? Pa_GetLastHostErrorInfo() : nullptr;
  return host && host->errorText && *host->errorText ? host->errorText : Pa_GetErrorText(error);
}

// Keeps the library started. It counts how often that happens itself.
class Library {
 public:
  static Result<Library> start() {
    silence_libraries();
    const std::scoped_lock lock(library_mutex());
    const PaError error = Pa_Initialize();
    if (error == paNoError) return Library();
    return fail(ErrorCode::device_failed,
                "cannot start PortAudio: {}; check the sound settings of the system", reason_of(error));
  }
  Library(Library&& other) noexcept : is_started_(std::exchange(other.is_started_, false)) {}
  Library& operator=(Library&&) = delete;
  ~Library() {
    if (!is_started_) return;
    const std::scoped_lock lock(library_mutex());
    Pa_Terminate();
  }

 private:
  Library() = default;
  bool is_started_ = true;
};

enum class Direction { input, output };

int n_channels(const PaDeviceInfo& info, Direction direction) {
  return direction == Direction::input ? info.maxInputChannels : info.maxOutputChannels;
}

// The device of this very name, else the only one whose name has the text in it.
Result<PaDeviceIndex> find_device(const std::string& wanted, Direction direction) {
  const std::string_view kind = direction == Direction::input ? "microphone" : "speaker";
  if (wanted.empty()) {
    const PaDeviceIndex index =
        direction == Direction::input ? Pa_GetDefaultInputDevice() : Pa_GetDefaultOutputDevice();
    if (index != paNoDevice) return index;
    return fail(ErrorCode::not_found,
                "there is no {}; plug one in, or choose one in the sound settings of the system", kind);
  }
  PaDeviceIndex found = paNoDevice;
  int n_found = 0;
  std::string names;
  for (PaDeviceIndex index = 0; index < Pa_GetDeviceCount(); ++index) {
    const PaDeviceInfo& info = *Pa_GetDeviceInfo(index);
    if (n_channels(info, direction) < 1) continue;
    if (info.name == wanted) return index;
    if (ascii::lower(info.name).find(ascii::lower(wanted)) != std::string::npos) {
      found = index;
      ++n_found;
    }
    names += (names.empty() ? "" : ", ") + std::string(info.name);
  }
  if (n_found == 1) return found;
  return fail(ErrorCode::not_found, "{} {} called \"{}\"; there are: {}",
              n_found == 0 ? "no" : "more than one", kind, wanted, names.empty() ? "none" : names);
}

// An open stream of one channel of floats, and the library under it.
class PortAudioStream {
 public:
  explicit PortAudioStream(Library library) : library_(std::move(library)) {}
  PortAudioStream(const PortAudioStream&) = delete;
  PortAudioStream& operator=(const PortAudioStream&) = delete;
  ~PortAudioStream() {
    if (!stream_) return;
    const std::scoped_lock lock(library_mutex());
    Pa_AbortStream(stream_);
    Pa_CloseStream(stream_);
  }

  // Chooses device and rate; nothing runs yet.
  Result<void> choose(const std::string& wanted, int sample_rate_hz, Direction direction) {
    PARLANCE_CHECK(check_sample_rate("the sound", sample_rate_hz));
    const std::scoped_lock lock(library_mutex());
    direction_ = direction;
    PARLANCE_TRY(parameters_.device, find_device(wanted, direction));
    const PaDeviceInfo& info = *Pa_GetDeviceInfo(parameters_.device);
    name_ = info.name;
    parameters_.channelCount = 1;
    parameters_.sampleFormat = paFloat32;
    parameters_.suggestedLatency =
        direction == Direction::input ? info.defaultLowInputLatency : info.defaultLowOutputLatency;
    const bool is_possible = Pa_IsFormatSupported(input(), output(), sample_rate_hz) == paFormatIsSupported;
    sample_rate_hz_ = is_possible ? sample_rate_hz : static_cast<int>(std::lround(info.defaultSampleRate));
    return check_sample_rate(name_, sample_rate_hz_);
  }

  // `callback` is called with `user`, in a thread of PortAudio's.
  Result<void> start(PaStreamCallback* callback, void* user) {
    callback_ = callback;
    user_ = user;
    const std::scoped_lock lock(library_mutex());
    const auto period = static_cast<unsigned long>(sample_rate_hz_ / 100);
    PaError error =
        Pa_OpenStream(&stream_, input(), output(), sample_rate_hz_, period, paNoFlag, on_period, this);
    if (error == paNoError) error = Pa_SetStreamFinishedCallback(stream_, on_finished);
    if (error == paNoError) error = Pa_StartStream(stream_);
    if (error == paNoError) {
      latency_seconds_ = Pa_GetStreamInfo(stream_)->outputLatency;
      return {};
    }
    return fail(ErrorCode::device_failed,
                "cannot open {} at {} Hz: {}; check that no other program uses it alone", name_,
                sample_rate_hz_, reason_of(error));
  }

  Result<void> check_active() const {
    if (!has_finished_.load(std::memory_order_relaxed)) return {};
    return fail(ErrorCode::device_failed,
                "{} has stopped working; check that it is plugged in and open it again", name_);
  }

  const std::string& name() const { return name_; }
  int sample_rate_hz() const { return sample_rate_hz_; }
  double output_latency_seconds() const { return latency_seconds_; }

 private:
  static int on_period(const void* input, void* output, unsigned long n, const PaStreamCallbackTimeInfo* time,
                       PaStreamCallbackFlags flags, void* self) {
    const auto& stream = *static_cast<PortAudioStream*>(self);
    return stream.callback_(input, output, n, time, flags, stream.user_);
  }
  static void on_finished(void* self) {
    static_cast<PortAudioStream*>(self)->has_finished_.store(true, std::memory_order_relaxed);
  }
  const PaStreamParameters* input() const { return direction_ == Direction::input ? &parameters_ : nullptr; }
  const PaStreamParameters* output() const {
    return direction_ == Direction::output ? &parameters_ : nullptr;
  }

  Library library_;  // goes after the stream
  Direction direction_ = Direction::input;
  PaStreamParameters parameters_{};
  std::string name_;
  int sample_rate_hz_ = 0;
  PaStreamCallback* callback_ = nullptr;
  void* user_ = nullptr;
  double latency_seconds_ = 0;
  std::atomic<bool> has_finished_{false};  // the device works no more
  PaStream* stream_ = nullptr;
};

size_t ring_size(double seconds, int sample_rate_hz) {
  return static_cast<size_t>(std::clamp(seconds, 0.1, 600.0) * sample_rate_hz);
}

class PortAudioMicrophone : public Microphone {
 public:
  static Result<std::unique_ptr<Microphone>> open(const MicrophoneOptions& options) {
    PARLANCE_TRY(Library library, Library::start());
    auto microphone = std::make_unique<PortAudioMicrophone>(std::move(library));
    PARLANCE_CHECK(microphone->stream_.choose(options.device, options.sample_rate_hz, Direction::input));
    microphone->ring_ =
        std::make_unique<SampleRing>(ring_size(options.buffer_seconds, microphone->sample_rate_hz()));
    PARLANCE_CHECK(microphone->stream_.start(on_samples, microphone.get()));
    return microphone;
  }
  explicit PortAudioMicrophone(Library library) : stream_(std::move(library)) {}

  const std::string& name() const override { return stream_.name(); }
  int sample_rate_hz() const override { return stream_.sample_rate_hz(); }
  int64_t overruns() const override { return overruns_.load(std::memory_order_relaxed); }

  Result<int64_t> read(std::span<float> out) override {
    const size_t n = ring_->read(out);
    if (n == 0 && !out.empty()) PARLANCE_CHECK(stream_.check_active());
    return static_cast<int64_t>(n);
  }

 private:
  static int on_samples(const void* input, void*, unsigned long n, const PaStreamCallbackTimeInfo*,
                        PaStreamCallbackFlags flags, void* user) {
    auto& self = *static_cast<PortAudioMicrophone*>(user);
    const size_t n_kept = input ? self.ring_->write({static_cast<const float*>(input), n}) : n;
    if (n_kept < n || (flags & paInputOverflow)) self.overruns_.fetch_add(1, std::memory_order_relaxed);
    return paContinue;
  }

  std::unique_ptr<SampleRing> ring_;
  std::atomic<int64_t> overruns_{0};
  PortAudioStream stream_;  // closed before what its call-back uses goes
};

class PortAudioSpeaker : public Speaker {
 public:
  static Result<std::unique_ptr<Speaker>> open(const SpeakerOptions& options) {
    PARLANCE_TRY(Library library, Library::start());
    auto speaker = std::make_unique<PortAudioSpeaker>(std::move(library));
    PARLANCE_CHECK(speaker->stream_.choose(options.device, options.sample_rate_hz, Direction::output));
    speaker->ring_ =
        std::make_unique<SampleRing>(ring_size(options.buffer_seconds, speaker->sample_rate_hz()));
    if (options.played_seconds > 0) {
      speaker->played_ring_ =
          std::make_unique<SampleRing>(ring_size(options.played_seconds, speaker->sample_rate_hz()));
    }
    PARLANCE_CHECK(speaker->stream_.start(on_period, speaker.get()));
    return speaker;
  }
  explicit PortAudioSpeaker(Library library) : stream_(std::move(library)) {}

  const std::string& name() const override { return stream_.name(); }
  int sample_rate_hz() const override { return stream_.sample_rate_hz(); }
  int64_t played_frames() const override { return played_.load(std::memory_order_relaxed); }

  Result<int64_t> write(std::span<const float> samples) override {
    PARLANCE_CHECK(stream_.check_active());
    return static_cast<int64_t>(ring_->write(samples));
  }

  Result<void> drain() override {
    while (ring_->taken() < ring_->written()) {
      PARLANCE_CHECK(stream_.check_active());
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    std::this_thread::sleep_for(std::chrono::duration<double>(stream_.output_latency_seconds()));
    return {};
  }

  size_t read_played(std::span<float> out) override { return played_ring_ ? played_ring_->read(out) : 0; }

  void stop() override { drop_before_.store(ring_->written(), std::memory_order_release); }

 private:
  static int on_period(const void*, void* output, unsigned long n, const PaStreamCallbackTimeInfo*,
                       PaStreamCallbackFlags, void* user) {
    auto& self = *static_cast<PortAudioSpeaker*>(user);
    auto* const samples = static_cast<float*>(output);
    self.ring_->skip_to(self.drop_before_.load(std::memory_order_acquire));
    const size_t n_played = self.ring_->read({samples, n});
    std::fill(samples + n_played, samples + n, 0.0f);
    self.played_.fetch_add(static_cast<int64_t>(n_played), std::memory_order_relaxed);
    if (self.played_ring_) self.played_ring_->write({samples, n});
    return paContinue;
  }

  std::unique_ptr<SampleRing> ring_;
  std::unique_ptr<SampleRing> played_ring_;  // null: nobody wants to know
  std::atomic<uint64_t> drop_before_{0};  // position in the ring
  std::atomic<int64_t> played_{0};
  PortAudioStream stream_;  // closed before what its call-back uses goes
};

}  // namespace

Result<std::vector<AudioDevice>> list_audio_devices() {
  PARLANCE_TRY(const Library library, Library::start());
  const std::scoped_lock lock(library_mutex());
  std::vector<AudioDevice> devices;
  for (PaDeviceIndex index = 0; index < Pa_GetDeviceCount(); ++index) {
    const PaDeviceInfo& info = *Pa_GetDeviceInfo(index);
    devices.push_back({.name = info.name,
                       .system = Pa_GetHostApiInfo(info.hostApi)->name,
                       .n_inputs = info.maxInputChannels,
                       .n_outputs = info.maxOutputChannels,
                       .sample_rate_hz = static_cast<int>(std::lround(info.defaultSampleRate)),
                       .is_default_input = index == Pa_GetDefaultInputDevice(),
                       .is_default_output = index == Pa_GetDefaultOutputDevice()});
  }
  return devices;
}

Result<std::unique_ptr<Microphone>> open_microphone(const MicrophoneOptions& options) {
  return PortAudioMicrophone::open(options);
}

Result<std::unique_ptr<Speaker>> open_speaker(const SpeakerOptions& options) {
  return PortAudioSpeaker::open(options);
}

}  // namespace parlance
