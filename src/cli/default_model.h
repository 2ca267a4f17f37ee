// Which model runs when none is named.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"

namespace parlance {

// `given`, else the environment variable PARLANCE_MODEL, else a GGUF file of models/demo/text, looked for
// from the current folder upwards and from the folder of the program (source tree and installation). The
// error says how to name one.
Result<std::filesystem::path> find_model(const std::string& given);

}  // namespace parlance
