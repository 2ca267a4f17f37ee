// The part of llama.h that concerns the library as a whole, for programs that use it beside ov_* and
// eliza_inference_*. Declared here as in that header, of which nothing is copied.
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "assistant/wording.h"
#include "base/log.h"
#include "capi/answer.h"
#include "devices/devices.h"

#define PARLANCE_LLAMA_API __attribute__((visibility("default")))

extern "C" {

// Levels as ggml numbers them.
using ggml_log_callback = void (*)(int level, const char* text, void* user_data);

PARLANCE_LLAMA_API void llama_backend_init();
PARLANCE_LLAMA_API void llama_backend_free();
PARLANCE_LLAMA_API void llama_log_set(ggml_log_callback log_callback, void* user_data);
PARLANCE_LLAMA_API int64_t llama_time_us();
PARLANCE_LLAMA_API size_t llama_max_devices();
PARLANCE_LLAMA_API bool llama_supports_mmap();
PARLANCE_LLAMA_API bool llama_supports_mlock();
PARLANCE_LLAMA_API bool llama_supports_gpu_offload();

}  // extern "C"

namespace parlance::capi {

namespace {

int ggml_level_of(LogLevel level) {
  constexpr int kDebug = 1, kInfo = 2, kWarn = 3, kError = 4;
  switch (level) {
    case LogLevel::debug:
      return kDebug;
    case LogLevel::info:
      return kInfo;
    case LogLevel::warning:
      return kWarn;
    default:
      return kError;
  }
}

}  // namespace

}  // namespace parlance::capi

using namespace parlance;
using namespace parlance::capi;

// Devices are opened by whoever first needs one.
void llama_backend_init() {}

void llama_backend_free() {}

// Null: standard error, as there.
void llama_log_set(ggml_log_callback log_callback, void* user_data) {
  quietly([&] {
    set_log_level(LogLevel::warning);
    if (!log_callback) {
      set_log_sink({});
      return;
    }
    set_log_sink([log_callback, user_data](LogLevel level, std::string_view message) {
      log_callback(ggml_level_of(level), (worded(message, Door::c_library) + "\n").c_str(), user_data);
    });
  });
}

int64_t llama_time_us() {
  using namespace std::chrono;
  return duration_cast<microseconds>(steady_clock::now().time_since_epoch()).count();
}

size_t llama_max_devices() {
  return 1;  // that a model's layers are spread over, beside the CPU
}

bool llama_supports_mmap() {
  return true;
}

bool llama_supports_mlock() {
  return false;
}

bool llama_supports_gpu_offload() {
  bool has_gpu = false;
  quietly([&] {
    for (const Backend& backend : list_backends()) {
      const bool has_devices = backend.devices && !backend.devices->empty();
      has_gpu = has_gpu || (backend.name != "cpu" && has_devices);
    }
  });
  return has_gpu;
}
