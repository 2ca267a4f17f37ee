#include "audio/webm.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

#include "audio/ogg_pages.h"

namespace parlance {

namespace {

// Ids of elements, with the bits that tell their length.
enum Id : uint32_t {
  kEbml = 0x1a45dfa3,
  kSegment = 0x18538067,
  kTracks = 0x1654ae6b,
  kTrackEntry = 0xae,
  kTrackNumber = 0xd7,
  kCodecId = 0x86,
  kCodecPrivate = 0x63a2,
  kContentEncodings = 0x6d80,
  kCluster = 0x1f43b675,
  kSimpleBlock = 0xa3,
  kBlockGroup = 0xa0,
  kBlock = 0xa1,
  kDiscardPadding = 0x75a2,
};

constexpr size_t kMostTracks = 64;
constexpr size_t kLeastHead = 19;  // of an identification header

using Bytes = std::span<const std::byte>;

uint8_t byte_at(Bytes bytes, size_t i) {
  return std::to_integer<uint8_t>(bytes[i]);
}

// Reads one element after the other; those that only hold others can be entered instead of skipped, so that
// it does not matter whether their length is known.
class Elements {
 public:
  explicit Elements(Bytes bytes) : left_(bytes) {}

  struct Element {
    uint32_t id;
    Bytes content;    // as much of it as is there
    bool is_whole;    // all of it is
    bool has_length;  // else it ends where something begins that does not belong into it
  };

  // None at the end, and where no element can begin.
  std::optional<Element> next() {
    const auto id = number(/*with_marker=*/true, 4);
    if (!id) return std::nullopt;
    const size_t before = left_.size();
    const auto length = number(/*with_marker=*/false, 8);
    if (!length) return std::nullopt;
    const size_t n_length = before - left_.size();
    const bool has_length = *length != (uint64_t{1} << (7 * n_length)) - 1;
    const size_t n = has_length ? std::min<uint64_t>(*length, left_.size()) : left_.size();
    const Element element{.id = static_cast<uint32_t>(*id),
                          .content = left_.first(n),
                          .is_whole = has_length && *length == n,
                          .has_length = has_length};
    inside_ = left_;
    left_ = left_.subspan(n);
    return element;
  }
  // The elements inside the last one come next, then those behind it.
  void enter() { left_ = inside_; }

  // A number of 1 to n_most bytes, whose first set bit tells how many.
  std::optional<uint64_t> number(bool with_marker, int n_most) {
    if (left_.empty()) return std::nullopt;
    const uint8_t first = byte_at(left_, 0);
    const int n = std::countl_zero(first) + 1;
    if (n > n_most) is_broken_ = true;
    if (n > n_most || left_.size() < static_cast<size_t>(n)) return std::nullopt;
    uint64_t value = with_marker ? first : first & ((1u << (8 - n)) - 1);
    for (int i = 1; i < n; ++i) value = value << 8 | byte_at(left_, static_cast<size_t>(i));
    left_ = left_.subspan(static_cast<size_t>(n));
    return value;
  }
  Bytes left() const { return left_; }
  bool is_broken() const { return is_broken_; }  // something was no number

 private:
  Bytes left_, inside_;
  bool is_broken_ = false;
};

uint64_t unsigned_of(Bytes content) {
  uint64_t value = 0;
  for (const std::byte byte : content.first(std::min<size_t>(content.size(), 8)))
    value = value << 8 | std::to_integer<uint8_t>(byte);
  return value;
}

struct Track {
  uint64_t number = 0;
  std::string codec;
  Bytes head;               // of the codec
  bool is_encoded = false;  // compressed or encrypted once more
};

Track read_track(Bytes content) {
  Track track;
  Elements elements(content);
  while (const auto one = elements.next()) {
    if (one->id == kTrackNumber) track.number = unsigned_of(one->content);
    if (one->id == kCodecId) {
      const Bytes name = one->content.first(std::min<size_t>(one->content.size(), 32));
      track.codec.assign(reinterpret_cast<const char*>(name.data()), name.size());
    }
    if (one->id == kCodecPrivate && one->is_whole) track.head = one->content;
    if (one->id == kContentEncodings) track.is_encoded = true;
  }
  return track;
}

// Samples at 48 kHz of an Opus packet; none: it is not one.
std::optional<int64_t> samples_of(Bytes packet) {
  if (packet.empty()) return std::nullopt;
  constexpr std::array<int64_t, 4> kSilk = {480, 960, 1920, 2880}, kCelt = {120, 240, 480, 960};
  const uint8_t toc = byte_at(packet, 0);
  const int config = toc >> 3;
  const auto step = static_cast<size_t>(config & 3);
  const int64_t n_frame = config < 12 ? kSilk[step] : config < 16 ? kSilk[step & 1] : kCelt[step];
  int64_t n_frames = (toc & 3) == 0 ? 1 : 2;
  if ((toc & 3) == 3) {
    if (packet.size() < 2) return std::nullopt;
    n_frames = byte_at(packet, 1) & 63;
  }
  const int64_t n = n_frames * n_frame;
  if (n <= 0 || n > 5760) return std::nullopt;  // 120 ms at most
  return n;
}

class OggOfWebm {
 public:
  explicit OggOfWebm(const std::string& name) : name_(name) {}

  Result<std::vector<std::byte>> convert(Bytes bytes) {
    Elements elements(bytes);
    size_t n_tracks = 0;
    while (const auto one = elements.next()) {
      if (one->id == kSegment || one->id == kTracks || one->id == kCluster || one->id == kBlockGroup) {
        elements.enter();
      } else if (one->id == kTrackEntry && !track_ && ++n_tracks <= kMostTracks) {
        PARLANCE_CHECK(take_track(read_track(one->content)));
      } else if (one->id == kSimpleBlock || one->id == kBlock) {
        if (one->is_whole) PARLANCE_CHECK(take_block(one->content));
      } else if (one->id == kDiscardPadding && one->is_whole && one->content.size() <= 8) {
        // Nanoseconds of the block before that are not to be heard.
        n_padding_ =
            static_cast<int64_t>(std::min<uint64_t>(unsigned_of(one->content), 120'000'000)) * 48 / 1'000'000;
      } else if (!one->has_length && one->id != kEbml) {
        return corrupt("has an element of unknown length that cannot have one");
      }
    }
    if (elements.is_broken()) return corrupt("has something in it that is no element");
    if (!track_) return corrupt("has no sound in Opus");
    if (packet_.empty()) return corrupt("has no sound in it");
    flush(/*is_last=*/true);
    return std::move(pages_).bytes();
  }

 private:
  tl::unexpected<Error> corrupt(std::string_view what) const {
    return fail(ErrorCode::corrupt_file,
                "{} is WebM or Matroska and {}; record it as Opus, or convert it to WAV", name_, what);
  }

  Result<void> take_track(const Track& track) {
    if (track.codec != "A_OPUS") return {};
    if (track.is_encoded) return corrupt("its sound is compressed or encrypted once more");
    const std::string_view head(reinterpret_cast<const char*>(track.head.data()), track.head.size());
    if (head.size() < kLeastHead || !head.starts_with("OpusHead"))
      return corrupt("its Opus track has no head");
    track_ = track.number;
    pages_.add(track.head, 0);
    // Comments: whose program it was, and none of the user's.
    constexpr std::string_view kTags("OpusTags\x08\0\0\0parlance\0\0\0\0", 24);
    pages_.add(std::as_bytes(std::span(kTags)), 0);
    return {};
  }

  Result<void> take_block(Bytes block) {
    Elements head(block);
    const auto track = head.number(/*with_marker=*/false, 8);
    constexpr size_t kTimeAndFlags = 3;
    if (!track || head.left().size() < kTimeAndFlags) return corrupt("has a block without a head");
    if (!track_ || *track != *track_) return {};
    const uint8_t flags = byte_at(head.left(), 2);
    if (flags & 0x06) return corrupt("puts several packets of sound into one block");
    const Bytes packet = head.left().subspan(kTimeAndFlags);
    const auto n_samples = samples_of(packet);
    if (!n_samples || packet.size() > OggPages::kMostPacket)
      return corrupt("has a block that is no Opus packet");
    flush(/*is_last=*/false);
    packet_ = packet;
    n_samples_ += *n_samples;
    n_padding_ = 0;
    return {};
  }

  // The packet that was read last: what stands behind it may shorten it.
  void flush(bool is_last) {
    if (packet_.empty()) return;
    pages_.add(packet_, n_samples_ - (is_last ? std::min(n_padding_, n_samples_) : 0), is_last);
  }

  const std::string& name_;
  OggPages pages_;
  std::optional<uint64_t> track_;
  Bytes packet_;
  int64_t n_samples_ = 0, n_padding_ = 0;
};

}  // namespace

bool is_webm(Bytes bytes) {
  return bytes.size() >= 4 && unsigned_of(bytes.first(4)) == kEbml;
}

Result<std::vector<std::byte>> ogg_of_webm(Bytes bytes, const std::string& name) {
  return OggOfWebm(name).convert(bytes);
}

}  // namespace parlance
