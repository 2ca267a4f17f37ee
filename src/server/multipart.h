// Bodies of forms with files: multipart/form-data.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "server/api_error.h"

namespace parlance {

struct FormPart {
  std::string name;
  std::string file_name;  // as the client calls it: for messages only
  bool is_file = false;
  std::string_view content;  // of the body
};

// The parts of a body, which must outlive them. Errors: no boundary, a part that does not end, more parts or
// longer heads than any client sends.
ApiResult<std::vector<FormPart>> parse_multipart(std::string_view content_type, std::string_view body);

}  // namespace parlance
