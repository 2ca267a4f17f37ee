// Models of hubs that are on this machine already.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "hub/choose.h"
#include "hub/model_name.h"
#include "hub/settings.h"

namespace parlance {

struct LocalModel {
  RepoKind kind = RepoKind::model;
  std::filesystem::path folder = {};  // with the tree of the repository; of an address, its file's
  std::filesystem::path model = {}, mmproj = {}, codec = {};  // as in ChosenFiles
};

// Asks nobody. The error, with the code not_found where something is not there, says how to fetch it.
Result<LocalModel> find_local_model(const ModelName& name, const HubSettings& settings);
Result<LocalModel> find_local_model(std::string_view name);

// What was chosen, below a folder.
LocalModel local_model(const std::filesystem::path& folder, const ChosenFiles& chosen);

// Where the file of an address is kept, or will be.
Result<std::filesystem::path> place_of_address(const std::string& url, const HubSettings& settings);

}  // namespace parlance
