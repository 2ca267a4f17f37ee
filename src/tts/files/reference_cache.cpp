#include "tts/files/reference_cache.h"

#define XXH_INLINE_ALL  // compiled in: one library less to find at run time
#include <xxhash.h>

#include <array>
#include <cstring>
#include <utility>

#include "base/os/file.h"

namespace parlance {

namespace {

// How a file begins; then follow the codes (i32) and a checksum of all before it (u64). Little-endian.
struct Head {
  std::array<char, 8> magic{'P', 'A', 'R', 'L', 'R', 'E', 'F', '1'};
  uint64_t key_low = 0, key_high = 0;
  uint64_t n_codebook = 0, n_frames = 0;
  float rms = 0;
  uint32_t reserved = 0;
};
static_assert(sizeof(Head) == 48);

constexpr size_t kEntryBytes = 128;  // of the containers, about

size_t bytes_of(const EncodedReference& reference) {
  return reference.codes.codes.size() * sizeof(int32_t) + kEntryBytes;
}

}  // namespace

ReferenceKey reference_key(std::span<const float> samples, std::string_view made_with) {
  const uint64_t seed = XXH3_64bits(made_with.data(), made_with.size());
  const XXH128_hash_t hash = XXH3_128bits_withSeed(samples.data(), samples.size_bytes(), seed);
  return {.low = hash.low64, .high = hash.high64};
}

std::string encoded_reference_bytes(const ReferenceKey& key, const EncodedReference& reference) {
  Head head;
  head.key_low = key.low;
  head.key_high = key.high;
  head.n_codebook = static_cast<uint64_t>(reference.codes.n_codebook);
  head.n_frames = static_cast<uint64_t>(reference.codes.n_frames());
  head.rms = reference.rms;
  std::string bytes(reinterpret_cast<const char*>(&head), sizeof head);
  const auto codes = std::as_bytes(std::span(reference.codes.codes));
  bytes.append(reinterpret_cast<const char*>(codes.data()), codes.size());
  const uint64_t checksum = XXH3_64bits(bytes.data(), bytes.size());
  bytes.append(reinterpret_cast<const char*>(&checksum), sizeof checksum);
  return bytes;
}

std::optional<EncodedReference> parse_encoded_reference(std::span<const std::byte> bytes,
                                                        const ReferenceKey& key) {
  Head head;
  uint64_t checksum = 0;
  if (bytes.size() < sizeof head + sizeof checksum) return std::nullopt;
  std::memcpy(&head, bytes.data(), sizeof head);
  std::memcpy(&checksum, bytes.data() + bytes.size() - sizeof checksum, sizeof checksum);
  if (checksum != XXH3_64bits(bytes.data(), bytes.size() - sizeof checksum)) return std::nullopt;
  const auto codes = bytes.subspan(sizeof head, bytes.size() - sizeof head - sizeof checksum);
  const size_t n_codes = codes.size() / sizeof(int32_t);
  if (head.magic != Head().magic || head.key_low != key.low || head.key_high != key.high ||
      codes.size() % sizeof(int32_t) != 0 || head.n_codebook == 0 || head.n_frames == 0 ||
      n_codes / head.n_codebook != head.n_frames || n_codes % head.n_codebook != 0) {
    return std::nullopt;
  }
  EncodedReference reference;
  reference.codes.n_codebook = static_cast<int64_t>(head.n_codebook);
  reference.codes.codes.resize(n_codes);
  std::memcpy(reference.codes.codes.data(), codes.data(), codes.size());
  reference.rms = head.rms;
  return reference;
}

ReferenceCache::ReferenceCache(size_t max_bytes, std::optional<std::filesystem::path> folder)
    : max_bytes_(max_bytes), folder_(std::move(folder)) {}

std::filesystem::path ReferenceCache::path_of(const ReferenceKey& key) const {
  return *folder_ / fmt::format("reference-{:016x}{:016x}.bin", key.high, key.low);
}

size_t ReferenceCache::bytes_in_memory() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

// Room is made by forgetting what was not used for the longest time.
void ReferenceCache::keep(const ReferenceKey& key, const EncodedReference& reference) {
  if (const auto found = by_key_.find(key); found != by_key_.end()) {
    bytes_ -= bytes_of(found->second->reference);
    entries_.erase(found->second);
    by_key_.erase(found);
  }
  if (bytes_of(reference) > max_bytes_) return;
  entries_.push_front({key, reference});
  by_key_[key] = entries_.begin();
  bytes_ += bytes_of(reference);
  while (bytes_ > max_bytes_) {
    bytes_ -= bytes_of(entries_.back().reference);
    by_key_.erase(entries_.back().key);
    entries_.pop_back();
  }
}

std::optional<EncodedReference> ReferenceCache::find(const ReferenceKey& key) {
  const std::lock_guard lock(mutex_);
  if (const auto found = by_key_.find(key); found != by_key_.end()) {
    entries_.splice(entries_.begin(), entries_, found->second);
    return found->second->reference;
  }
  if (!folder_) return std::nullopt;
  const auto file = MappedFile::open(path_of(key));
  if (!file) return std::nullopt;
  std::optional<EncodedReference> reference = parse_encoded_reference(file->bytes(), key);
  if (reference) keep(key, *reference);
  return reference;
}

Result<void> ReferenceCache::insert(const ReferenceKey& key, const EncodedReference& reference) {
  const std::lock_guard lock(mutex_);
  keep(key, reference);
  if (!folder_) return {};
  std::error_code ignored;  // creating the file says what is wrong
  std::filesystem::create_directories(*folder_, ignored);
  PARLANCE_TRY(AtomicFile file, AtomicFile::create(path_of(key)));
  PARLANCE_CHECK(file.write(encoded_reference_bytes(key, reference)));
  return file.commit();
}

}  // namespace parlance
