// What streams of answers hold.
#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace parlance::test {

// Events with data, [DONE] as the text "DONE".
inline std::vector<nlohmann::json> events_of(const std::string& body) {
  std::vector<nlohmann::json> events;
  for (size_t at = 0; at < body.size();) {
    const size_t end = std::min(body.find("\n\n", at), body.size());
    std::string event = body.substr(at, end - at);
    at = end + 2;
    if (event.starts_with("event: ")) event.erase(0, event.find('\n') + 1);
    if (!event.starts_with("data: ")) continue;
    events.push_back(event == "data: [DONE]" ? nlohmann::json("DONE")
                                             : nlohmann::json::parse(event.substr(6)));
  }
  return events;
}

// Objects, one a line.
inline std::vector<nlohmann::json> lines_of(const std::string& body) {
  std::vector<nlohmann::json> lines;
  for (size_t at = 0; at < body.size();) {
    const size_t end = std::min(body.find('\n', at), body.size());
    lines.push_back(nlohmann::json::parse(body.substr(at, end - at)));
    at = end + 1;
  }
  return lines;
}

}  // namespace parlance::test
