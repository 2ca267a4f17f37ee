#include "kernels/device.h"

namespace parlance {

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
