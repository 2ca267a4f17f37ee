// The hub's cache folder, which programs in many languages share. Of each repository (models--ORG--NAME) it
// has the contents under their checksums (blobs), trees of links to these for each commit (snapshots), and
// which commit a branch was last seen at (refs). Source: the documentation of huggingface_hub, "Understand
// caching".
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace parlance {

class HubCache {
 public:
  HubCache(std::filesystem::path root, const std::string& repo);

  // What is being fetched has a name of its own, and goes on from where it was left.
  std::filesystem::path blob(const std::string& digest) const;
  std::filesystem::path incomplete(const std::string& digest) const;
  std::filesystem::path lock(const std::string& digest) const;
  std::filesystem::path snapshot(const std::string& commit) const;

  // The commit that `revision` is, or was when it was last asked for; empty: nobody has.
  std::string commit_of(const std::string& revision) const;
  Result<void> set_commit(const std::string& revision, const std::string& commit) const;

  // Whether a file of a commit is there, in its whole length.
  bool has(const std::string& commit, const std::string& path, uint64_t n_bytes) const;
  // Lets the file of a commit be what the blob holds.
  Result<void> link(const std::string& commit, const std::string& path, const std::string& digest) const;

  // Paths of the files of a commit that are there, sorted.
  std::vector<std::string> files_of(const std::string& commit) const;

 private:
  std::filesystem::path locks_, folder_;
};

}  // namespace parlance
