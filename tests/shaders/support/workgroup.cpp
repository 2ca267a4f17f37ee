#include "shaders/support/workgroup.h"

#include <fmt/format.h>
#include <setjmp.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>
#include <vector>

namespace parlance::test {

namespace {

constexpr size_t kStackBytes = size_t{256} << 10;
constexpr uint32_t kMostThreads = 1024;
constexpr uint32_t kPoison = 0x7fa0dead;  // a signalling NaN

enum class State { ready, at_barrier, in_simdgroup, done };

struct Fiber {
  State state = State::ready;
  bool has_started = false;
  ucontext_t
      first;  // how it starts; then it is left and entered by longjmp, which asks nothing of the system
  jmp_buf here;
  metal_shim::Position position;
  size_t memory_used = 0;  // of the workgroup's, by declarations so far
  // Of an operation of its simdgroup:
  int line = 0;
  char kind = 0;
  float value = 0;
  bool is_first = false;
};

// For the threads of any workgroup, as long as the process runs: the system gives a page when it is first
// used.
std::byte* stacks() {
  static std::byte* const all = [] {
    void* const bytes = mmap(nullptr, kStackBytes * kMostThreads, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (bytes == MAP_FAILED) throw std::runtime_error("no memory for the stacks of a workgroup");
    return static_cast<std::byte*>(bytes);
  }();
  return all;
}

// One at a time in a process.
class Workgroup {
 public:
  Workgroup(const MetalKernel& kernel, const MetalLimits& limits, std::mt19937& random)
      : kernel_(kernel),
        limits_(limits),
        random_(random),
        fibers_(kernel.n_threads),
        memory_(limits.threadgroup_bytes / 4) {
    if (kernel.n_threads > kMostThreads)
      throw std::runtime_error(
          fmt::format("Metal has {} threads in a workgroup, not {}", kMostThreads, kernel.n_threads));
    current_ = this;
  }
  ~Workgroup() { current_ = nullptr; }
  Workgroup(const Workgroup&) = delete;
  Workgroup& operator=(const Workgroup&) = delete;

  void run(const uint32_t (&group)[3], const uint32_t (&n_groups)[3]) {
    std::fill(memory_.begin(), memory_.end(), kPoison);
    const auto n = static_cast<uint32_t>(fibers_.size());
    for (uint32_t i = 0; i < n; ++i) {
      Fiber& fiber = fibers_[i];
      fiber.state = State::ready;
      fiber.has_started = false;
      fiber.memory_used = 0;
      fiber.position = {.thread = {i, 0, 0},
                        .group = {group[0], group[1], group[2]},
                        .n_groups = {n_groups[0], n_groups[1], n_groups[2]},
                        .simdgroup = i / limits_.simd_width,
                        .n_simdgroups = (n + limits_.simd_width - 1) / limits_.simd_width};
    }
    std::vector<uint32_t> ready(n);
    while (true) {
      ready.clear();
      for (uint32_t i = 0; i < n; ++i)
        if (fibers_[i].state == State::ready) ready.push_back(i);
      if (ready.empty()) {
        if (release()) continue;
        return;
      }
      std::shuffle(ready.begin(), ready.end(), random_);
      for (const uint32_t i : ready) enter(i);
      if (error_) throw std::runtime_error(*error_);
    }
  }

  static const metal_shim::Host kHost;

 private:
  // Lets those go on that have all come to the same place; false when all are done.
  bool release() {
    bool any = false;
    const auto n = static_cast<uint32_t>(fibers_.size());
    for (uint32_t first = 0; first < n; first += limits_.simd_width) {
      const std::span lanes(fibers_.data() + first, std::min(limits_.simd_width, n - first));
      if (lanes[0].state != State::in_simdgroup &&
          std::ranges::none_of(lanes, [](const Fiber& f) { return f.state == State::in_simdgroup; }))
        continue;
      for (const Fiber& lane : lanes) {
        if (lane.state != State::in_simdgroup || lane.line != lanes[0].line || lane.kind != lanes[0].kind)
          throw std::runtime_error(
              fmt::format("threads of a simdgroup are at different operations, one at line {}",
                          std::max(lane.line, lanes[0].line)));
      }
      complete(lanes);
      any = true;
    }
    if (any) return true;
    const auto n_waiting = std::ranges::count(fibers_, State::at_barrier, &Fiber::state);
    if (n_waiting == 0) return false;
    for (Fiber& fiber : fibers_) {
      if (fiber.state != State::at_barrier || fiber.line != fibers_[0].line)
        throw std::runtime_error(fmt::format("not all threads come to the barrier of line {}",
                                             std::max(fiber.line, fibers_[0].line)));
    }
    for (Fiber& fiber : fibers_) fiber.state = State::ready;
    return true;
  }

  // In an order that is not the lanes': sums may come in any.
  void complete(std::span<Fiber> lanes) {
    float result = lanes.back().value;
    for (size_t i = lanes.size() - 1; i-- > 0;)
      result = lanes[0].kind == '+' ? result + lanes[i].value : std::max(result, lanes[i].value);
    for (Fiber& lane : lanes) {
      lane.is_first = &lane == &lanes[0];
      lane.value = result;
      lane.state = State::ready;
    }
  }

  void enter(uint32_t i) {
    running_ = &fibers_[i];
    if (_setjmp(scheduler_) != 0) return;
    if (running_->has_started) _longjmp(running_->here, 1);
    running_->has_started = true;
    getcontext(&running_->first);
    running_->first.uc_stack = {.ss_sp = stacks() + kStackBytes * i, .ss_flags = 0, .ss_size = kStackBytes};
    running_->first.uc_link = nullptr;
    makecontext(
        &running_->first,
        [] {
          current_->kernel_.run(current_->running_->position);
          current_->running_->state = State::done;
          _longjmp(current_->scheduler_, 1);
        },
        0);
    setcontext(&running_->first);
  }

  static Fiber& leave(State state, int line, char kind) {
    Fiber& fiber = *current_->running_;
    fiber.state = state;
    fiber.line = line;
    fiber.kind = kind;
    if (_setjmp(fiber.here) == 0) _longjmp(current_->scheduler_, 1);
    return *current_->running_;
  }

  static void barrier(int line) { leave(State::at_barrier, line, 0); }
  static float simd_reduce(float value, bool is_sum, int line) {
    current_->running_->value = value;
    return leave(State::in_simdgroup, line, is_sum ? '+' : '>').value;
  }
  static bool simd_is_first(int line) {
    current_->running_->value = 0;
    return leave(State::in_simdgroup, line, '+').is_first;
  }
  static void* threadgroup_memory(size_t bytes, size_t alignment) {
    Fiber& fiber = *current_->running_;
    const size_t first = (fiber.memory_used + alignment - 1) / alignment * alignment;
    fiber.memory_used = first + bytes;
    if (fiber.memory_used > current_->limits_.threadgroup_bytes) {
      current_->fail(fmt::format("Metal has {} bytes for a workgroup, fewer than {}",
                                 current_->limits_.threadgroup_bytes, fiber.memory_used));
    }
    return reinterpret_cast<std::byte*>(current_->memory_.data()) + first;
  }
  static void out_of_bounds(const void*, size_t end) {
    current_->fail(fmt::format("byte {} lies beyond the end of an array", end));
  }

  // Ends the thread; exceptions do not pass from stack to stack.
  [[noreturn]] void fail(std::string message) {
    if (!error_) error_ = std::move(message);
    running_->state = State::done;
    _longjmp(scheduler_, 1);
  }

  inline static Workgroup* current_ = nullptr;

  const MetalKernel& kernel_;
  const MetalLimits& limits_;
  std::mt19937& random_;
  std::vector<Fiber> fibers_;
  std::vector<uint32_t> memory_;
  jmp_buf scheduler_;
  Fiber* running_ = nullptr;
  std::optional<std::string> error_;
};

const metal_shim::Host Workgroup::kHost = {barrier, simd_reduce, simd_is_first, threadgroup_memory,
                                           out_of_bounds};

}  // namespace

void run_workgroups(const MetalKernel& kernel, std::span<const metal_shim::Binding> bindings,
                    const uint32_t (&n_groups)[3], const MetalLimits& limits, std::mt19937& random) {
  Workgroup workgroup(kernel, limits, random);
  kernel.set(&Workgroup::kHost, bindings.data(), static_cast<int>(bindings.size()));
  for (uint32_t z = 0; z < n_groups[2]; ++z) {
    for (uint32_t y = 0; y < n_groups[1]; ++y) {
      for (uint32_t x = 0; x < n_groups[0]; ++x) workgroup.run({x, y, z}, n_groups);
    }
  }
}

}  // namespace parlance::test
