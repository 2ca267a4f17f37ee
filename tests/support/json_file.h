// JSON documents that tests read; apart from fixtures.h, because nlohmann's header costs more than most tests.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>

namespace parlance::test {

// A missing or unreadable file fails the running test; one that is not JSON ends it.
nlohmann::json read_json(const std::filesystem::path& path);

}  // namespace parlance::test
