// Where the hub is and where its files are kept, as other programs have it: by environment variables.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"

namespace parlance {

struct HubSettings {
  std::string endpoint = {};         // HF_ENDPOINT, without a slash at its end; else https://huggingface.co
  std::filesystem::path cache = {};  // HF_HUB_CACHE, HUGGINGFACE_HUB_CACHE, or hub/ in HF_HOME
  std::filesystem::path own_cache = {};  // of files that come from no hub: parlance/ in XDG_CACHE_HOME
  std::string token = {};   // HF_TOKEN, else of the file that HF_TOKEN_PATH or HF_HOME has; may be empty
  bool is_offline = false;  // HF_HUB_OFFLINE
};

// Errors: a variable that says something that it cannot.
Result<HubSettings> hub_settings();

// Whether the token may go to an address: it is on the hub, and nobody on the way can read along.
bool may_know_token(const HubSettings& settings, std::string_view url);

}  // namespace parlance
