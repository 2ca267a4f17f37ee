// Models from a hub, into the cache that programs share.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/cancellation.h"
#include "base/result.h"
#include "hub/local_model.h"
#include "hub/patience.h"
#include "hub/transport.h"

namespace parlance {

struct PulledFile {
  std::string path;             // in the repository; of an address, the file's name
  std::filesystem::path place;  // here
  uint64_t n_bytes = 0;
  uint64_t n_fetched = 0;   // over the network, now
  std::string digest = {};  // SHA-256, or git's SHA-1 of small files; empty: not known
};

struct Pulled {
  ModelName name;
  std::string commit;  // empty: of an address, or offline
  LocalModel model;
  std::vector<PulledFile> files;
};

// What is told while it goes on.
struct PullProgress {
  std::string path;  // of the file at hand
  size_t n_done = 0, n_files = 1;
  uint64_t bytes_done = 0;                   // of all files; those that were there already count
  std::optional<uint64_t> bytes_total = {};  // none: the server does not say
};

struct PullOptions {
  Patience patience;
  std::string sha256;            // of an address: what its file must be; empty: not known
  std::filesystem::path target;  // of an address: another place for it; empty: the usual
  std::function<void(const PullProgress&)> on_progress;  // may be null
  std::function<void(const std::string&)> on_news;       // a line for people; may be null
  std::function<std::optional<uint64_t>(const std::filesystem::path&)> free_bytes;  // null: of the disk
};

// Asks the hub which files the name means, and fetches those that are not here. Where the settings say
// offline, only looks for them. Errors: the name, the server's refusal, a disk without room for all of it
// (before anything is fetched), a wrong checksum; what has come of a file is kept for the next call.
Result<Pulled> pull(const ModelName& name, const HubSettings& settings, const PullOptions& options,
                    Transport& transport, const Cancellation& cancellation);

}  // namespace parlance
