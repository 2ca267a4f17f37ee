#include "tts/files/rvq_file.h"

#include <cassert>

#include "base/checked.h"
#include "base/os/file.h"

namespace parlance {

namespace {

constexpr size_t kCodeBits = 11;

}  // namespace

Result<AudioCodes> parse_rvq(std::span<const std::byte> bytes, std::string_view name, int64_t n_codebook) {
  assert(n_codebook > 0);
  const size_t n_codes = 8 * bytes.size() / kCodeBits;
  if (n_codes == 0 || n_codes % static_cast<size_t>(n_codebook) != 0 ||
      div_up(n_codes * kCodeBits, size_t{8}) != bytes.size()) {
    return fail(ErrorCode::corrupt_file,
                "{}: {} bytes are not whole frames of {} codes with {} bits each; encode the reference again",
                name, bytes.size(), n_codebook, kCodeBits);
  }
  AudioCodes codes{.n_codebook = n_codebook, .codes = {}};
  codes.codes.reserve(n_codes);
  uint32_t bits = 0;
  size_t n_bits = 0;
  for (const std::byte byte : bytes) {
    bits |= static_cast<uint32_t>(byte) << n_bits;
    n_bits += 8;
    if (n_bits < kCodeBits) continue;
    codes.codes.push_back(static_cast<int32_t>(bits & ((1u << kCodeBits) - 1)));
    bits >>= kCodeBits;
    n_bits -= kCodeBits;
  }
  if (bits != 0) {
    return fail(ErrorCode::corrupt_file, "{}: has bits behind the last code; encode the reference again",
                name);
  }
  return codes;
}

std::vector<std::byte> rvq_bytes(const AudioCodes& codes) {
  std::vector<std::byte> bytes;
  uint32_t bits = 0;
  size_t n_bits = 0;
  for (const int32_t code : codes.codes) {
    assert(code >= 0 && code < 1 << kCodeBits);
    bits |= static_cast<uint32_t>(code) << n_bits;
    for (n_bits += kCodeBits; n_bits >= 8; n_bits -= 8) {
      bytes.push_back(static_cast<std::byte>(bits));
      bits >>= 8;
    }
  }
  if (n_bits > 0) bytes.push_back(static_cast<std::byte>(bits));
  return bytes;
}

Result<AudioCodes> read_rvq(const std::filesystem::path& path, int64_t n_codebook) {
  PARLANCE_TRY(const MappedFile file, MappedFile::open(path));
  return parse_rvq(file.bytes(), path.string(), n_codebook);
}

Result<void> write_rvq(const std::filesystem::path& path, const AudioCodes& codes) {
  PARLANCE_TRY(AtomicFile file, AtomicFile::create(path));
  PARLANCE_CHECK(file.write(rvq_bytes(codes)));
  return file.commit();
}

}  // namespace parlance
