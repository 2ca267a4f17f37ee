#include "cli/open_text.h"

#include "assistant/regions.h"

namespace parlance {

OnRemark warnings_to(const Console& io) {
  return [&io](const std::string& remark) { io.warn(remark); };
}

Result<std::unique_ptr<TextStream>> open_text(const Choice& choice, const Console& io) {
  Regions regions(choice, warnings_to(io));
  PARLANCE_TRY(auto region, regions.text.acquire());
  return TextStream::open(std::move(region));
}

}  // namespace parlance
