// What a hub says of a repository: its commit, and its files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace parlance {

inline constexpr size_t kMostListedFiles = 100000;            // of a repository, in all pages together
inline constexpr size_t kMostAnswerBytes = size_t{32} << 20;  // of a page

struct HubFile {
  std::string path;  // safe to be one below a folder
  uint64_t n_bytes = 0;
  // Of its content, in lower-case hexadecimal digits: SHA-256 of large files, else the SHA-1 that git has.
  // It is also the name of the file in the cache.
  std::string digest;

  bool has_sha256() const { return digest.size() == 64; }
};

// Of answers to /api/models/ORG/NAME/revision/REVISION: the commit, 40 hexadecimal digits. Any text is
// accepted.
Result<std::string> parse_commit(std::string_view json);

// Of answers to /api/models/ORG/NAME/tree/REVISION: what is there beside folders. Files whose names cannot be
// paths, or whose size or checksum does not say what it should, are left out.
Result<std::vector<HubFile>> parse_tree(std::string_view json);

// Of a head's field Link: where the next page is, as a path and what follows it; empty: there is none. Which
// host it names does not matter: mirrors pass on what they got.
std::string next_page(std::string_view link);

}  // namespace parlance
