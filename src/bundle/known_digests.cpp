#include "bundle/known_digests.h"

namespace parlance {

std::vector<Result<FileDigest>> KnownDigests::of(std::span<const std::filesystem::path> paths) {
  constexpr size_t kMost = 1024;
  std::vector<std::optional<FileStamp>> stamps;
  std::vector<Result<FileDigest>> digests(paths.size());
  std::vector<std::filesystem::path> changed;
  std::vector<size_t> places;  // of `changed` among `paths`
  {
    const std::lock_guard lock(mutex_);
    for (size_t i = 0; i < paths.size(); ++i) {
      stamps.push_back(stamp_of_(paths[i]));
      const auto known = stamps[i] ? digests_.find(*stamps[i]) : digests_.end();
      if (known != digests_.end()) {
        digests[i] = known->second;
      } else {
        changed.push_back(paths[i]);
        places.push_back(i);
      }
    }
  }
  std::vector<Result<FileDigest>> computed = digests_of_files(changed);
  const std::lock_guard lock(mutex_);
  n_computed_ += changed.size();
  if (digests_.size() + changed.size() > kMost) digests_.clear();
  for (size_t i = 0; i < changed.size(); ++i) {
    const std::optional<FileStamp>& before = stamps[places[i]];
    // One that was written to while it was read has another stamp now.
    if (computed[i] && before && stamp_of_(changed[i]) == before) digests_[*before] = *computed[i];
    digests[places[i]] = std::move(computed[i]);
  }
  return digests;
}

size_t KnownDigests::n_computed() const {
  const std::lock_guard lock(mutex_);
  return n_computed_;
}

}  // namespace parlance
