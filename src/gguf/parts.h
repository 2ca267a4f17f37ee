// Models that were split over several files: keys split.no, split.count and split.tensors.count, and files
// named NAME-00001-of-00003.gguf. Source: the format's specification.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "base/result.h"
#include "gguf/reader.h"

namespace parlance {

// Which part of how many a file is.
struct GgufPart {
  int64_t index = 0;  // from 0
  int64_t count = 1;
};

// What a file says of itself; a whole one is the only part.
Result<GgufPart> part_of(const GgufFile& file);

// The name of another part of the same model; none where a name does not say which part it is.
std::optional<std::filesystem::path> path_of_part(const std::filesystem::path& path, const GgufPart& part,
                                                  int64_t index);

}  // namespace parlance
