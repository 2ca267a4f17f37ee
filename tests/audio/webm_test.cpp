#include "audio/webm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "audio/audio_file.h"
#include "audio/support/recordings.h"

namespace parlance {
namespace {

using Bytes = std::vector<std::byte>;

constexpr int kOpusRateHz = 48000;
constexpr uint64_t kUnknown = ~uint64_t{0};

// The packets of an Ogg file, and how many samples it has.
struct OggPackets {
  std::vector<Bytes> packets;
  int64_t n_samples = 0;
};

OggPackets packets_of(const Bytes& ogg) {
  OggPackets found;
  Bytes packet;
  for (size_t at = 0; at + 27 <= ogg.size();) {
    const auto byte = [&](size_t i) { return std::to_integer<uint8_t>(ogg[at + i]); };
    found.n_samples = 0;
    for (size_t i = 8; i > 0; --i) found.n_samples = found.n_samples << 8 | byte(5 + i);
    const size_t n_segments = byte(26);
    size_t from = at + 27 + n_segments;
    for (size_t i = 0; i < n_segments; ++i) {
      const size_t n = byte(27 + i);
      packet.insert(packet.end(), ogg.begin() + static_cast<ptrdiff_t>(from),
                    ogg.begin() + static_cast<ptrdiff_t>(from + n));
      from += n;
      if (n < 255) found.packets.push_back(std::exchange(packet, {}));
    }
    at = from;
  }
  return found;
}

// A file of elements, the highest byte of numbers first.
struct WebmWriter {
  Bytes bytes;

  WebmWriter& number(uint64_t value, int n) {
    while (n-- > 0) bytes.push_back(static_cast<std::byte>(value >> 8 * n));
    return *this;
  }
  WebmWriter& head(uint32_t id, uint64_t length) {
    number(id, id > 0xffffff ? 4 : id > 0xffff ? 3 : id > 0xff ? 2 : 1);
    if (length == kUnknown) return number(0x01ffffffffffffff, 8);
    return length < 0x7f ? number(0x80 | length, 1) : number(0x10000000 | length, 4);
  }
  WebmWriter& element(uint32_t id, std::span<const std::byte> content) {
    head(id, content.size());
    bytes.insert(bytes.end(), content.begin(), content.end());
    return *this;
  }
  WebmWriter& element(uint32_t id, const WebmWriter& inside) { return element(id, inside.bytes); }
  WebmWriter& text(uint32_t id, std::string_view text) { return element(id, std::as_bytes(std::span(text))); }
};

struct Manner {
  bool has_lengths = true, has_groups = false, has_picture = false, is_laced = false;
};

WebmWriter track(uint64_t number, std::string_view codec, const Bytes& head) {
  WebmWriter entry;
  entry.element(0xd7, WebmWriter().number(number, 1)).text(0x86, codec).element(0x63a2, head);
  return WebmWriter().element(0xae, entry);
}

Bytes block(uint64_t track, const Bytes& packet, bool is_laced = false) {
  Bytes bytes = WebmWriter().number(0x80 | track, 1).number(is_laced ? 2 : 0, 3).bytes;
  bytes.insert(bytes.end(), packet.begin(), packet.end());
  return bytes;
}

// At 48 kHz, of a packet with one frame.
int64_t samples_of(const Bytes& packet) {
  const int config = std::to_integer<int>(packet[0]) >> 3;
  if (config < 12) return std::array{480, 960, 1920, 2880}[static_cast<size_t>(config & 3)];
  return config < 16 ? 480 << (config & 1) : 120 << (config & 3);
}

Bytes webm_of(const OggPackets& ogg, const Manner& manner) {
  WebmWriter tracks;
  if (manner.has_picture) tracks = track(7, "V_VP8", {});
  const Bytes sound = track(2, "A_OPUS", ogg.packets[0]).bytes;
  tracks.bytes.insert(tracks.bytes.end(), sound.begin(), sound.end());
  WebmWriter inside;
  inside.element(0x1654ae6b, tracks);
  int64_t n_samples = 0;
  for (size_t first = 2; first < ogg.packets.size(); first += 20) {
    WebmWriter cluster;
    for (size_t i = first; i < std::min(first + 20, ogg.packets.size()); ++i) {
      n_samples += samples_of(ogg.packets[i]);
      const bool is_last = i + 1 == ogg.packets.size();
      if (manner.has_picture) cluster.element(0xa3, block(7, Bytes(100)));
      if (!manner.has_groups && !is_last) {
        cluster.element(0xa3, block(2, ogg.packets[i], manner.is_laced));
        continue;
      }
      WebmWriter group;
      group.element(0xa1, block(2, ogg.packets[i]));
      if (is_last)
        group.element(
            0x75a2,
            WebmWriter().number(static_cast<uint64_t>((n_samples - ogg.n_samples) * 1'000'000 / 48 + 1), 4));
      cluster.element(0xa0, group);
    }
    if (manner.has_lengths) {
      inside.element(0x1f43b675, cluster);
    } else {
      inside.head(0x1f43b675, kUnknown);
      inside.bytes.insert(inside.bytes.end(), cluster.bytes.begin(), cluster.bytes.end());
    }
  }
  WebmWriter file;
  file.element(0x1a45dfa3, WebmWriter().text(0x4282, "webm"));
  file.head(0x18538067, manner.has_lengths ? inside.bytes.size() : kUnknown);
  file.bytes.insert(file.bytes.end(), inside.bytes.begin(), inside.bytes.end());
  return file.bytes;
}

class Webm : public testing::Test {
 protected:
  void SetUp() override {
    ogg_bytes_ =
        test::encode(SF_FORMAT_OGG | SF_FORMAT_OPUS, test::sine(440, kOpusRateHz, 50000), 1, kOpusRateHz);
    if (ogg_bytes_.empty()) GTEST_SKIP() << "the library was built without Opus";
    ogg_ = packets_of(ogg_bytes_);
    ASSERT_GT(ogg_.packets.size(), 40u);
  }

  Bytes ogg_bytes_;
  OggPackets ogg_;
};

TEST_F(Webm, IsHeardAsTheSamePacketsInOggAre) {
  const auto expected = read_audio(ogg_bytes_, "input", kOpusRateHz);
  ASSERT_TRUE(expected);
  for (int manner = 0; manner < 8; ++manner) {
    const Bytes webm = webm_of(ogg_, {.has_lengths = (manner & 1) != 0,
                                      .has_groups = (manner & 2) != 0,
                                      .has_picture = (manner & 4) != 0});
    const auto clip = read_audio(webm, "input", kOpusRateHz);
    ASSERT_TRUE(clip) << clip.error().message;
    ASSERT_EQ(clip->samples.size(), expected->samples.size()) << manner;
    EXPECT_TRUE(std::ranges::equal(clip->samples, expected->samples)) << manner;
  }
}

TEST_F(Webm, CutAnywhereItIsHeardUpToThere) {
  const Bytes webm = webm_of(ogg_, {.has_lengths = false});
  const auto whole = read_audio(webm, "input", kOpusRateHz);
  size_t n_longest = 0, n_errors = 0;
  for (size_t n = 1; n < webm.size(); n += n < 400 ? 1 : 37) {
    const auto clip = read_audio(std::span(webm).first(n), "input", kOpusRateHz);
    if (!clip) {
      ++n_errors;
      EXPECT_EQ(n_longest, 0u) << "what was heard of less is heard of more: " << clip.error().message;
      continue;
    }
    EXPECT_GE(clip->samples.size(), n_longest);
    n_longest = clip->samples.size();
  }
  EXPECT_GT(n_errors, 0u);
  EXPECT_NEAR(static_cast<double>(n_longest), static_cast<double>(whole->samples.size()), 2000);
}

TEST_F(Webm, WhatIsNotOpusIsRefusedByName) {
  const auto error_of = [](const Bytes& bytes) {
    const auto clip = read_audio(bytes, "input", kOpusRateHz);
    return clip ? "no error" : clip.error().message;
  };
  const auto replaced = [&](std::string_view from, std::string_view to) {
    Bytes webm = webm_of(ogg_, {});
    const auto at = std::ranges::search(webm, std::as_bytes(std::span(from)));
    EXPECT_FALSE(at.empty());
    std::ranges::copy(std::as_bytes(std::span(to)), at.begin());
    return webm;
  };
  EXPECT_NE(error_of(replaced("A_OPUS", "A_FLAC")).find("input is WebM or Matroska and has no sound in Opus"),
            std::string::npos);
  EXPECT_NE(error_of(replaced("OpusHead", "OpusTail")).find("its Opus track has no head"), std::string::npos);
  EXPECT_NE(error_of(webm_of(ogg_, {.is_laced = true})).find("several packets of sound into one block"),
            std::string::npos);
  OggPackets broken = ogg_;
  broken.packets[7] = {std::byte{3}};  // so many frames, and does not say how many
  EXPECT_NE(error_of(webm_of(broken, {})).find("has a block that is no Opus packet"), std::string::npos);
}

}  // namespace
}  // namespace parlance
