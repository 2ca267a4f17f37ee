// What realtime sessions of this server may be set to.
#pragma once

#include "realtime/settings.h"
#include "server/api_error.h"
#include "server/site.h"

namespace parlance {

// Once the models are loaded. It looks at the site when it is asked for voices and models.
SessionOffer realtime_offer(const Site& site);

// A mistake in a setting, as an answer of HTTP.
ApiError api_error(const RealtimeError& error);

}  // namespace parlance
