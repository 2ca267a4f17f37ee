#include "server/build_info.h"

namespace parlance {

std::string_view program_version() {
  return PARLANCE_VERSION;
}

}  // namespace parlance
