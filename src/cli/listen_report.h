// What was heard, as text, JSON or subtitles.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "assistant/events.h"
#include "assistant/transcriber.h"
#include "cli/listen_options.h"
#include "cli/terminal/console.h"
#include "json/json.h"

namespace parlance {

// "1:02:03.4", "0:07.1"
std::string clock_time(double seconds);

// `names` are further members of the JSON object: which models it was.
void print_heard(const Console& io, ListenFormat format, const Heard& heard,
                 std::initializer_list<std::pair<std::string_view, std::string>> names);

}  // namespace parlance
