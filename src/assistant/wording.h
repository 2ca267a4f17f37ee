// What the parameters that messages name (base/parameter.h) are called at each door.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/parameter.h"
#include "base/result.h"

namespace parlance {

enum class Door {
  command_line,  // --ctx-size
  request,       // "max_tokens" of a request in JSON; what only the program's start sets, as its flag
  c_library,     // max_tokens, an argument or a field of a struct; what the library does not have, by its id
};

// The message as the users of a door read it. Text without marks stays as it is.
std::string worded(std::string_view message, Door door);

// What the door calls the first parameter that the error names, such as the `param` of a server's errors;
// none where it names none, or one that requests do not have.
std::optional<std::string> named_parameter(const Error& error, Door door);

}  // namespace parlance
