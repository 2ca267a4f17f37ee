// Of a build without PortAudio.
#include "audio_devices/device_list.h"
#include "audio_devices/microphone.h"
#include "audio_devices/speaker.h"

namespace parlance {

namespace {

tl::unexpected<Error> absent() {
  return fail(ErrorCode::unsupported, "this build has no PortAudio; install portaudio19-dev and build again");
}

}  // namespace

Result<std::vector<AudioDevice>> list_audio_devices() {
  return absent();
}

Result<std::unique_ptr<Microphone>> open_microphone(const MicrophoneOptions&) {
  return absent();
}

Result<std::unique_ptr<Speaker>> open_speaker(const SpeakerOptions&) {
  return absent();
}

}  // namespace parlance
