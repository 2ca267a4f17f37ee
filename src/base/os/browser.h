// The person's web browser.
#pragma once

#include <string>

#include "base/result.h"

namespace parlance {

// Shows an address in the browser that the desktop says is the person's (xdg-open). Errors: there is no
// desktop, or it has none.
Result<void> open_in_browser(const std::string& address);

}  // namespace parlance
