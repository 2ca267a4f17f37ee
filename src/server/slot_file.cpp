#include "server/slot_file.h"

#include "assistant/conversation_files.h"
#include "server/fields.h"

namespace parlance {

ApiResult<std::string> read_slot_file(std::string_view body) {
  PARLANCE_API_TRY(const Json json, parse_body(body));
  const Body fields(json);
  if (!fields.has("filename"))
    return refuse("missing_required_parameter", "filename",
                  "there is no filename; give a name without a path");
  auto name = fields.text("filename");
  if (!name) return refuse("invalid_type", "filename", "filename must be a string: a name without a path");
  if (const auto is_name = check_file_name(*name); !is_name)
    return refuse("invalid_value", "filename", "filename: {}", is_name.error().message);
  return *std::move(name);
}

}  // namespace parlance
