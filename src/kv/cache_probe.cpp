#include "kv/cache_probe.h"

#define XXH_INLINE_ALL  // nothing is linked
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

namespace parlance {

bool CacheProbe::tried(KvFormat format) const {
  return std::ranges::find(formats, format) != formats.end();
}

std::span<const HeadLoss> CacheProbe::losses(KvFormat format, int64_t layer, bool is_equalised) const {
  const auto found = std::ranges::find(formats, format);
  if (found == formats.end()) return {};
  const int64_t at = (found - formats.begin()) * n_layer + layer;
  return std::span(is_equalised ? equalised : plain)
      .subspan(static_cast<size_t>(at * n_head_kv), static_cast<size_t>(n_head_kv));
}

namespace {

constexpr std::string_view kProbeMagic("PARLKVP\0", 8);
// Goes up with every change of what is measured and how, so that it is measured again.
constexpr uint32_t kProbeVersion = 4;
// What a file may say at most: more is damage.
constexpr int64_t kMostProbeLayers = 4096, kMostProbeHeads = 4096, kMostProbeHeadDim = 4096;

// How a file begins. Then follow the formats (u8), plain and equalised losses, first keys, of each layer
// shift and scale (all f32), and a checksum of all that (u64). All little-endian.
struct ProbeHead {
  char magic[8];
  uint32_t version;
  uint32_t n_formats;
  ModelHash model;
  int64_t n_layer, n_head_kv, head_dim_k;
};
static_assert(sizeof(ProbeHead) == 56 && std::has_unique_object_representations_v<ProbeHead>);
static_assert(sizeof(HeadLoss) == 20);

uint64_t checksum_of(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

class ProbeBytes {
 public:
  template <class T>
  void add(const std::vector<T>& values) {
    static_assert(std::is_trivially_copyable_v<T>);
    const auto raw = std::as_bytes(std::span(values));
    bytes.insert(bytes.end(), raw.begin(), raw.end());
  }

  std::vector<std::byte> bytes;
};

// Takes values off the front of bytes that are long enough.
class ProbeReader {
 public:
  explicit ProbeReader(std::span<const std::byte> bytes) : rest_(bytes) {}

  template <class T>
  void take(std::vector<T>& values, size_t n) {
    values.resize(n);
    std::memcpy(values.data(), rest_.data(), n * sizeof(T));
    rest_ = rest_.subspan(n * sizeof(T));
  }

 private:
  std::span<const std::byte> rest_;
};

tl::unexpected<Error> not_a_probe(std::string_view name, std::string_view why) {
  return fail(ErrorCode::corrupt_file, "{}: {}; the cache's formats are tried again", name, why);
}

bool are_numbers(const std::vector<float>& values) {
  return std::ranges::all_of(values, [](float x) { return std::isfinite(x); });
}

bool are_losses(const std::vector<HeadLoss>& losses) {
  const auto is_loss = [](float x) { return std::isfinite(x) && x >= 0; };
  return std::ranges::all_of(losses, [&](const HeadLoss& l) {
    return is_loss(l.scores) && is_loss(l.from_keys) && is_loss(l.from_values) &&
           is_loss(l.from_later_keys) && is_loss(l.from_later_values);
  });
}

}  // namespace

std::vector<std::byte> bytes_of(const CacheProbe& probe, const ModelHash& model) {
  ProbeHead head{};
  std::copy(kProbeMagic.begin(), kProbeMagic.end(), head.magic);
  head.version = kProbeVersion;
  head.n_formats = static_cast<uint32_t>(probe.formats.size());
  head.model = model;
  head.n_layer = probe.n_layer;
  head.n_head_kv = probe.n_head_kv;
  head.head_dim_k = probe.head_dim_k;
  ProbeBytes out;
  out.add(std::vector<ProbeHead>{head});
  out.add(probe.formats);
  out.add(probe.plain);
  out.add(probe.equalised);
  out.add(probe.first_keys);
  for (const KeyEqualiser& layer : probe.equaliser.layers) {
    out.add(layer.shift);
    out.add(layer.scale);
  }
  out.add(std::vector<uint64_t>{checksum_of(out.bytes)});
  return std::move(out.bytes);
}

Result<CacheProbe> parse_probe(std::span<const std::byte> bytes, std::string_view name,
                               const ModelHash& model) {
  ProbeHead head;
  if (bytes.size() < sizeof head + sizeof(uint64_t)) return not_a_probe(name, "the file is cut");
  std::memcpy(&head, bytes.data(), sizeof head);
  if (std::string_view(head.magic, sizeof head.magic) != kProbeMagic)
    return not_a_probe(name, "this is no probe of a cache");
  if (head.version != kProbeVersion) return not_a_probe(name, "it is of another version of this program");
  if (head.model != model) return not_a_probe(name, "it is of another model");
  const auto within = [](int64_t n, int64_t most) { return n > 0 && n <= most; };
  if (!within(head.n_layer, kMostProbeLayers) || !within(head.n_head_kv, kMostProbeHeads) ||
      !within(head.head_dim_k, kMostProbeHeadDim) || head.n_formats > kKvFormatCount)
    return not_a_probe(name, "its sizes are damaged");
  const auto n_layer = static_cast<size_t>(head.n_layer), n_head = static_cast<size_t>(head.n_head_kv);
  const size_t n_elements = n_head * static_cast<size_t>(head.head_dim_k);
  const size_t n_losses = n_layer * n_head * head.n_formats;
  const size_t n_floats = n_layer * (1 + 2 * n_elements);
  const size_t expected = sizeof head + head.n_formats + 2 * n_losses * sizeof(HeadLoss) +
                          n_floats * sizeof(float) + sizeof(uint64_t);
  if (bytes.size() != expected) return not_a_probe(name, "its length does not fit its sizes");
  uint64_t checksum = 0;
  const auto covered = bytes.first(bytes.size() - sizeof checksum);
  std::memcpy(&checksum, bytes.data() + covered.size(), sizeof checksum);
  if (checksum != checksum_of(covered)) return not_a_probe(name, "its checksum is wrong");

  CacheProbe probe;
  probe.n_layer = head.n_layer;
  probe.n_head_kv = head.n_head_kv;
  probe.head_dim_k = head.head_dim_k;
  ProbeReader in(covered.subspan(sizeof head));
  std::vector<uint8_t> formats;
  in.take(formats, head.n_formats);
  for (const uint8_t format : formats) {
    if (format >= kKvFormatCount || probe.tried(static_cast<KvFormat>(format)))
      return not_a_probe(name, "its formats are damaged");
    probe.formats.push_back(static_cast<KvFormat>(format));
  }
  in.take(probe.plain, n_losses);
  in.take(probe.equalised, n_losses);
  in.take(probe.first_keys, n_layer);
  bool is_whole = are_losses(probe.plain) && are_losses(probe.equalised) && are_numbers(probe.first_keys);
  for (size_t layer = 0; layer < n_layer; ++layer) {
    KeyEqualiser& equaliser = probe.equaliser.layers.emplace_back();
    in.take(equaliser.shift, n_elements);
    in.take(equaliser.scale, n_elements);
    is_whole = is_whole && are_numbers(equaliser.shift) &&
               std::ranges::all_of(equaliser.scale, [](float x) { return std::isnormal(x) && x > 0; });
  }
  if (!is_whole) return not_a_probe(name, "it holds values that cannot be");
  return probe;
}

}  // namespace parlance
