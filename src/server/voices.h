// Which voices a server speaks with, and what else they are called.
#pragma once

#include <string>
#include <vector>

#include "server/fields.h"
#include "server/site.h"

namespace parlance {

// "default" and the presets of the bundle. None where nothing speaks.
std::vector<std::string> offered_voices(const Site& site);

// The voice that a request means: one of these, or another name of one. Errors list what there is.
ApiResult<std::string> find_offered_voice(const Site& site, const Body& body);

}  // namespace parlance
