// Codes of reference recordings that were encoded before: encoding one takes seconds, and a voice is used
// again and again. What is in memory is bounded; a folder, where one is given, keeps everything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "tts/audio_codes.h"

namespace parlance {

struct EncodedReference {
  AudioCodes codes;
  float rms = 0;  // of the recording as it was

  bool operator==(const EncodedReference&) const = default;
};

struct ReferenceKey {
  uint64_t low = 0, high = 0;

  auto operator<=>(const ReferenceKey&) const = default;
};

// A hash of everything that the codes depend on: `made_with` names codec and options.
ReferenceKey reference_key(std::span<const float> samples, std::string_view made_with);

// May be used by several threads.
class ReferenceCache {
 public:
  explicit ReferenceCache(size_t max_bytes, std::optional<std::filesystem::path> folder = std::nullopt);

  // A file that is damaged or another's counts as absent.
  std::optional<EncodedReference> find(const ReferenceKey& key);

  // Fails when the file cannot be written; in memory the codes are kept then, too.
  Result<void> insert(const ReferenceKey& key, const EncodedReference& reference);

  size_t bytes_in_memory() const;

 private:
  struct Entry {
    ReferenceKey key;
    EncodedReference reference;
  };

  void keep(const ReferenceKey& key, const EncodedReference& reference);
  std::filesystem::path path_of(const ReferenceKey& key) const;

  const size_t max_bytes_;
  const std::optional<std::filesystem::path> folder_;
  mutable std::mutex mutex_;
  std::list<Entry> entries_;  // the one that was used last comes first
  std::map<ReferenceKey, std::list<Entry>::iterator> by_key_;
  size_t bytes_ = 0;
};

// The file of one reference; nothing when the bytes are not exactly what was written for the key.
std::string encoded_reference_bytes(const ReferenceKey& key, const EncodedReference& reference);
std::optional<EncodedReference> parse_encoded_reference(std::span<const std::byte> bytes,
                                                        const ReferenceKey& key);

}  // namespace parlance
