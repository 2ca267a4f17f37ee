#include "kernels/device.h"

#include <cassert>

#include "base/os/thread.h"
#include "base/thread_pool.h"

namespace parlance {

Stream::Stream(Device& device) : device_(device) {}
Stream::~Stream() = default;

void Stream::on_host(int64_t n_tasks, FunctionRef<void(int64_t task)> task) {
  constexpr size_t kMostThreads = 8;  // beside a GPU, for milliseconds of work
  if (!host_threads_) {
    const auto n = std::min(usable_processors().size(), kMostThreads);
    host_threads_ = std::make_unique<ThreadPool>(static_cast<int>(n), /*pin=*/false);
  }
  host_threads_->run(n_tasks, [&](int64_t i, int) { task(i); });
}

// For devices that have nothing to do meanwhile.
void Stream::begin_download(const Tensor& src, const Tensor& second) {
  const size_t n_first = src.size(), n_second = second ? second.size() : 0;
  assert(n_first + n_second <= kMostLater);
  std::vector<std::byte> bytes(n_first + n_second);
  Result<void> done = download(std::span(bytes).first(n_first), src);
  if (done && second) done = download(std::span(bytes).subspan(n_first), second);
  done ? downloaded_.emplace_back(std::move(bytes)) : downloaded_.emplace_back(tl::unexpected(done.error()));
}

Result<void> Stream::end_download(std::span<std::byte> bytes) {
  const Result<std::vector<std::byte>> begun = std::move(downloaded_.front());
  downloaded_.pop_front();
  if (!begun) return tl::unexpected(begun.error());
  assert(begun->size() == bytes.size());
  std::ranges::copy(*begun, bytes.begin());
  return {};
}

Plan Stream::dry_run(FunctionRef<void()> record) {
  Plan plan;
  const Arena kept = workspace_;
  workspace_ = Arena();
  plan_ = &plan;
  record();
  plan_ = nullptr;
  plan.workspace_bytes = workspace_.peak();
  workspace_ = kept;
  return plan;
}

Result<void> Stream::reserve(const Plan& plan) {
  forget_recordings();
  if (!workspace_buffer_ || workspace_buffer_->size() < plan.workspace_bytes) {
    PARLANCE_TRY(workspace_buffer_, device_.allocate(plan.workspace_bytes));
  }
  if (!scratch_ || scratch_->size() < plan.scratch_bytes) {
    PARLANCE_TRY(scratch_, device_.allocate(plan.scratch_bytes));
  }
  workspace_ = Arena(*workspace_buffer_);
  return {};
}

}  // namespace parlance
