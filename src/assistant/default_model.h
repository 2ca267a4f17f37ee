// Which model runs when none is named.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace parlance {

// A file or a folder as it is; of a model that is named as hubs name it (hub/model_name.h), its file or its
// bundle's folder on this machine. The error says how to fetch it.
Result<std::filesystem::path> on_this_machine(const std::string& named);

// `given`, else the environment variable PARLANCE_MODEL, else the model of models/demo, looked for from the
// current folder upwards and from the folder of the program (source tree and installation). Of a bundle, its
// language model, checked if it has a manifest. The error says how to name one.
Result<std::filesystem::path> find_model(const std::string& given);

// models/demo/`name` if it is there and holds a GGUF file, looked for in the same places; else empty.
std::filesystem::path find_demo_folder(std::string_view name);

// models/demo if it is there and has a manifest or a language model; else empty.
std::filesystem::path find_demo_bundle();

// models/demo-eval/`name`, beside models/demo: what the demo models are measured with; else empty.
std::filesystem::path find_demo_set(std::string_view name);

// Puts that in `set` where none is given. The error says what --set is to name.
Result<void> choose_set(std::string& set, std::string_view name);

}  // namespace parlance
