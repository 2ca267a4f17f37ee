// The body of POST /slots/{id}: which file a slot's text goes to, or comes from.
#pragma once

#include <string>
#include <string_view>

#include "server/api_error.h"

namespace parlance {

// A name without a path, which check_file_name() has let through. Errors: no JSON, no name, a path.
ApiResult<std::string> read_slot_file(std::string_view body);

}  // namespace parlance
