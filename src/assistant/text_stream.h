// A sequence of an assistant's language model, which keeps the model for as long as it is open.
#pragma once

#include <memory>

#include "assistant/text_region.h"
#include "base/result.h"
#include "engine/session.h"

namespace parlance {

class TextStream {
 public:
  // Errors: as many are open as the region has sequences.
  static Result<std::unique_ptr<TextStream>> open(std::shared_ptr<const TextRegion> region);

  const TextRegion& region() const { return *region_; }
  const TextModel& model() const { return region_->model(); }
  Session& session() { return *session_; }

 private:
  TextStream(std::shared_ptr<const TextRegion> region, std::unique_ptr<Session> session)
      : region_(std::move(region)), session_(std::move(session)) {}

  std::shared_ptr<const TextRegion> region_;
  std::unique_ptr<Session> session_;
};

}  // namespace parlance
