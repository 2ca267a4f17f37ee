#include "echo/canceller.h"

#include <vector>

#include "echo/libraries.h"

namespace parlance {

std::string_view name_of(EchoLibrary library) {
  return library == EchoLibrary::webrtc ? "webrtc" : "speex";
}

std::span<const EchoLibrary> echo_libraries() {
  static const std::vector<EchoLibrary> libraries = {
#ifdef PARLANCE_HAS_WEBRTC_AUDIO
      EchoLibrary::webrtc,
#endif
#ifdef PARLANCE_HAS_SPEEXDSP
      EchoLibrary::speex,
#endif
  };
  return libraries;
}

std::unique_ptr<EchoCanceller> make_echo_canceller([[maybe_unused]] EchoLibrary library) {
#ifdef PARLANCE_HAS_WEBRTC_AUDIO
  if (library == EchoLibrary::webrtc) {
#ifdef PARLANCE_HAS_SPEEXDSP
    // WebRTC's own filter is shorter than many a room sounds.
    return make_webrtc_canceller(make_speex_filter());
#else
    return make_webrtc_canceller(nullptr);
#endif
  }
#endif
#ifdef PARLANCE_HAS_SPEEXDSP
  if (library == EchoLibrary::speex) return make_speex_canceller();
#endif
  return nullptr;
}

}  // namespace parlance
