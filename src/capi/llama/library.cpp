// The part of llama.cpp's interface that concerns the library as a whole: what it is and can do, its clock
// and its log.
#include <algorithm>
#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>

#include "assistant/wording.h"
#include "capi/answer.h"
#include "capi/llama/abi.h"
#include "capi/llama/report.h"
#include "devices/devices.h"
#include "kernels/cpu/cpu_device.h"

#define SIZE(type, bytes) static_assert(sizeof(struct type) == (bytes), #type);
#define AT(type, field, bytes) static_assert(offsetof(struct type, field) == (bytes), #type "." #field);
#define IS(name, value) static_assert(static_cast<int64_t>(name) == (value), #name);
#include "capi/llama/layout.def"
#undef SIZE
#undef AT
#undef IS

namespace parlance::capi {

namespace {

struct LogTarget {
  std::mutex mutex;
  ggml_log_callback callback = nullptr;
  void* user_data = nullptr;
};

LogTarget& log_target() {
  static LogTarget& target = *new LogTarget;  // never destroyed, like the log
  return target;
}

ggml_log_level ggml_level_of(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return GGML_LOG_LEVEL_DEBUG;
    case LogLevel::info:
      return GGML_LOG_LEVEL_INFO;
    case LogLevel::warning:
      return GGML_LOG_LEVEL_WARN;
    default:
      return GGML_LOG_LEVEL_ERROR;
  }
}

}  // namespace

void llama_say(LogLevel level, std::string_view text) {
  const std::string line = std::string(text) + "\n";
  LogTarget& target = log_target();
  const std::lock_guard lock(target.mutex);
  if (target.callback) {
    target.callback(ggml_level_of(level), line.c_str(), target.user_data);
  } else {
    std::fputs(line.c_str(), stderr);
  }
}

void llama_log_error(const char* function, const Error& error) noexcept {
  quietly([&] { log_line(LogLevel::error, fmt::format("{}: {}", function, error.message)); });
}

}  // namespace parlance::capi

using namespace parlance;
using namespace parlance::capi;

// Devices are opened by whoever first needs one.
void llama_backend_init() {}

void llama_backend_free() {}

void ggml_backend_load_all() {}

// Memory lies where the threads that read it put it.
void llama_numa_init(ggml_numa_strategy strategy) {
  if (strategy == GGML_NUMA_STRATEGY_DISABLED) return;
  llama_log_error(__func__,
                  {ErrorCode::unsupported, "there are no strategies for NUMA; the system's is used"});
}

const char* llama_version() {
  return PARLANCE_VERSION;
}

const char* llama_print_system_info() {
  static const std::string info = [] {
    std::string sets;
    for (const Isa isa : available_isas())
      sets += fmt::format("{}{} = 1", sets.empty() ? "" : " | ", name_of(isa));
    return fmt::format("CPU : {}", sets);
  }();
  return info.c_str();
}

void llama_log_get(ggml_log_callback* log_callback, void** user_data) {
  const std::lock_guard lock(log_target().mutex);
  if (log_callback) *log_callback = log_target().callback;
  if (user_data) *user_data = log_target().user_data;
}

// Null: standard error, as there.
void llama_log_set(ggml_log_callback log_callback, void* user_data) {
  quietly([&] {
    {
      const std::lock_guard lock(log_target().mutex);
      log_target().callback = log_callback;
      log_target().user_data = user_data;
    }
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

int64_t ggml_time_us() {
  return llama_time_us();
}

// What programs call where they cannot go on.
void ggml_abort(const char* file, int line, const char* fmt, ...) {
  std::fprintf(stderr, "%s:%d: ", file ? file : "?", line);
  if (fmt) {
    va_list arguments;
    va_start(arguments, fmt);
    std::vfprintf(stderr, fmt, arguments);
    va_end(arguments);
  }
  std::fputc('\n', stderr);
  std::abort();
}

size_t llama_max_devices() {
  return 1;  // that a model's layers are spread over, beside the CPU
}

size_t llama_max_parallel_sequences() {
  return 64;
}

size_t llama_max_tensor_buft_overrides() {
  return 0;
}

bool llama_supports_mmap() {
  return true;
}

bool llama_supports_mlock() {
  return false;
}

bool llama_supports_rpc() {
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
