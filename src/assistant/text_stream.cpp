#include "assistant/text_stream.h"

namespace parlance {

Result<std::unique_ptr<TextStream>> TextStream::open(std::shared_ptr<const TextRegion> region) {
  PARLANCE_TRY(auto session, Session::create(region->context()));
  return std::unique_ptr<TextStream>(new TextStream(std::move(region), std::move(session)));
}

}  // namespace parlance
