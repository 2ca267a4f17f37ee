#include "support/json_file.h"

#include "support/fixtures.h"

namespace parlance::test {

nlohmann::json read_json(const std::filesystem::path& path) {
  return nlohmann::json::parse(read_text(path));
}

}  // namespace parlance::test
