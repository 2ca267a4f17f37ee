// What thinks for Realtime sessions: answers to chats, made at once and before anybody who only reads.
#pragma once

#include <memory>

#include "realtime/model_parts.h"
#include "server/site.h"

namespace parlance {

// The parts of one session. `caller` may be null; the site outlives the parts.
std::unique_ptr<RealtimeParts> make_realtime_parts(Site& site, Caller caller, SessionModels models);

}  // namespace parlance
