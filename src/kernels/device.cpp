#include "kernels/device.h"

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
