#include "tts/files/voice_preset.h"

#include <array>
#include <bit>
#include <cstring>
#include <limits>

#include "audio/limits.h"
#include "base/checked.h"
#include "base/os/file.h"
#include "text/unicode.h"

namespace parlance {

namespace {

static_assert(std::endian::native == std::endian::little, "numbers of the file are copied as they are");

constexpr uint32_t kMagic = 0x315a4c45;  // "ELZ1"

// How a file begins: magic, version, then offset and length of each section, and in version 2 two reserved
// words.
enum Section { kEmbedding, kPhrases, kReference, kReferenceText, kInstruct, kMetadata, kSections };
constexpr std::array<const char*, kSections> kSectionNames{"speaker embedding", "phrases",  "reference codes",
                                                           "reference text",    "instruct", "metadata"};

constexpr size_t n_sections(uint32_t version) {
  return version == 1 ? kReference : kSections;
}

constexpr size_t head_words(uint32_t version) {
  return 2 + 2 * n_sections(version) + (version == 1 ? 0 : 2);
}
static_assert(head_words(1) * sizeof(uint32_t) == 24 && head_words(2) * sizeof(uint32_t) == 64);

// Takes values from the front; what lies past the end is not there.
class Cursor {
 public:
  explicit Cursor(std::span<const std::byte> bytes) : rest_(bytes) {}

  bool at_end() const { return rest_.empty(); }
  std::span<const std::byte> rest() const { return rest_; }

  template <class T>
  bool take(T& value) {
    return take_into(std::as_writable_bytes(std::span(&value, 1)));
  }
  // The container's size is set to n; memory is asked for only if there are as many bytes.
  template <class Container>
  bool take(Container& values, uint64_t n) {
    if (n > rest_.size() / sizeof(values[0])) return false;
    values.resize(static_cast<size_t>(n));
    return take_into(std::as_writable_bytes(std::span(values)));
  }

 private:
  bool take_into(std::span<std::byte> out) {
    if (out.size() > rest_.size()) return false;
    if (!out.empty()) std::memcpy(out.data(), rest_.data(), out.size());
    rest_ = rest_.subspan(out.size());
    return true;
  }

  std::span<const std::byte> rest_;
};

tl::unexpected<Error> damaged(std::string_view name, const std::string& what) {
  return fail(ErrorCode::corrupt_file, "{}: {}; make the voice preset again", name, what);
}

bool is_utf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const uint32_t n_bytes = utf8_sequence(text, at);
    if (n_bytes == 0) return false;
    at += n_bytes;
  }
  return true;
}

Result<std::vector<SpokenPhrase>> parse_phrases(Cursor cursor, std::string_view name) {
  std::vector<SpokenPhrase> phrases;
  uint32_t n_phrases = 0;
  if (!cursor.take(n_phrases)) return damaged(name, "its phrases end within their number");
  for (uint32_t i = 0; i < n_phrases; ++i) {
    SpokenPhrase phrase;
    uint16_t n_text = 0;
    uint32_t rate_hz = 0, n_bytes = 0;
    if (!cursor.take(n_text) || !cursor.take(phrase.text, n_text) || !cursor.take(rate_hz) ||
        !cursor.take(n_bytes) || n_bytes % sizeof(float) != 0 ||
        !cursor.take(phrase.samples, n_bytes / sizeof(float))) {
      return damaged(name, fmt::format("phrase {} of {} is not whole", i + 1, n_phrases));
    }
    if (!is_utf8(phrase.text)) return damaged(name, fmt::format("the text of phrase {} is not UTF-8", i + 1));
    PARLANCE_CHECK(check_sample_rate(fmt::format("{}: phrase {}", name, i + 1), rate_hz));
    phrase.sample_rate_hz = static_cast<int>(rate_hz);
    phrases.push_back(std::move(phrase));
  }
  if (!cursor.at_end()) return damaged(name, "there are bytes behind its last phrase");
  return phrases;
}

Result<AudioCodes> parse_reference(Cursor cursor, std::string_view name) {
  uint32_t n_codebook = 0, n_frames = 0;
  AudioCodes reference;
  if (!cursor.take(n_codebook) || !cursor.take(n_frames) || n_codebook == 0 || n_frames == 0 ||
      !cursor.take(reference.codes, uint64_t{n_codebook} * n_frames) || !cursor.at_end()) {
    return damaged(name, fmt::format("its reference codes are not those of {} codebooks and {} frames",
                                     n_codebook, n_frames));
  }
  reference.n_codebook = n_codebook;
  for (const int32_t code : reference.codes) {
    if (code < 0) return damaged(name, fmt::format("its reference codes have {} among them", code));
  }
  return reference;
}

Result<std::string> parse_text(Cursor cursor, Section section, std::string_view name) {
  std::string text;
  cursor.take(text, cursor.rest().size());
  if (!is_utf8(text)) return damaged(name, fmt::format("its {} is not UTF-8", kSectionNames[section]));
  return text;
}

Result<void> parse_section(Section section, Cursor cursor, std::string_view name, VoicePreset& preset) {
  switch (section) {
    case kEmbedding:
      if (!cursor.take(preset.speaker_embedding, cursor.rest().size() / sizeof(float)) || !cursor.at_end())
        return damaged(name, "its speaker embedding is not made of whole numbers of 4 bytes");
      return {};
    case kPhrases: {
      PARLANCE_TRY(preset.phrases, parse_phrases(cursor, name));
      return {};
    }
    case kReference: {
      PARLANCE_TRY(preset.reference, parse_reference(cursor, name));
      return {};
    }
    case kReferenceText: {
      PARLANCE_TRY(preset.reference_text, parse_text(cursor, section, name));
      return {};
    }
    case kInstruct: {
      PARLANCE_TRY(preset.instruct, parse_text(cursor, section, name));
      return {};
    }
    case kMetadata: {
      PARLANCE_TRY(preset.metadata, parse_text(cursor, section, name));
      return {};
    }
    case kSections:
      break;
  }
  return {};
}

template <class T>
void append(std::vector<std::byte>& bytes, std::span<const T> values) {
  const auto more = std::as_bytes(values);
  bytes.insert(bytes.end(), more.begin(), more.end());
}

template <class T>
void append_value(std::vector<std::byte>& bytes, T value) {
  append(bytes, std::span<const T>(&value, 1));
}

void append_section(std::vector<std::byte>& bytes, Section section, const VoicePreset& preset) {
  switch (section) {
    case kEmbedding:
      return append<float>(bytes, preset.speaker_embedding);
    case kPhrases:
      if (preset.phrases.empty()) return;
      append_value(bytes, static_cast<uint32_t>(preset.phrases.size()));
      for (const SpokenPhrase& phrase : preset.phrases) {
        append_value(bytes, static_cast<uint16_t>(phrase.text.size()));
        append<char>(bytes, phrase.text);
        append_value(bytes, static_cast<uint32_t>(phrase.sample_rate_hz));
        append_value(bytes, static_cast<uint32_t>(phrase.samples.size() * sizeof(float)));
        append<float>(bytes, phrase.samples);
      }
      return;
    case kReference:
      if (preset.reference.empty()) return;
      append_value(bytes, static_cast<uint32_t>(preset.reference.n_codebook));
      append_value(bytes, static_cast<uint32_t>(preset.reference.n_frames()));
      return append<int32_t>(bytes, preset.reference.codes);
    case kReferenceText:
      return append<char>(bytes, preset.reference_text);
    case kInstruct:
      return append<char>(bytes, preset.instruct);
    case kMetadata:
      return append<char>(bytes, preset.metadata);
    case kSections:
      return;
  }
}

}  // namespace

Result<VoicePreset> parse_voice_preset(std::span<const std::byte> bytes, std::string_view name) {
  Cursor cursor(bytes);
  uint32_t magic = 0, version = 0;
  if (!cursor.take(magic) || !cursor.take(version) || magic != kMagic)
    return fail(ErrorCode::corrupt_file, "{}: is no voice preset; it does not begin with \"ELZ1\"", name);
  if (version != 1 && version != 2) {
    return fail(ErrorCode::unsupported,
                "{}: is a voice preset of version {}, this program reads 1 and 2; use a newer program", name,
                version);
  }
  std::vector<uint32_t> head;
  if (!cursor.take(head, head_words(version) - 2)) return damaged(name, "it ends within its head");
  VoicePreset preset;
  preset.version = static_cast<int>(version);
  for (size_t section = 0; section < n_sections(version); ++section) {
    const uint32_t offset = head[2 * section], length = head[2 * section + 1];
    if (length == 0) continue;
    if (offset < head_words(version) * sizeof(uint32_t) || uint64_t{offset} + length > bytes.size()) {
      return damaged(name, fmt::format("its {} should be at bytes {} to {} of {}", kSectionNames[section],
                                       offset, uint64_t{offset} + length, bytes.size()));
    }
    PARLANCE_CHECK(
        parse_section(static_cast<Section>(section), Cursor(bytes.subspan(offset, length)), name, preset));
  }
  for (size_t i = 2 * n_sections(version); i < head.size(); ++i) {
    if (head[i] != 0) return damaged(name, "its reserved bytes are not zero");
  }
  return preset;
}

Result<std::vector<std::byte>> voice_preset_bytes(const VoicePreset& preset) {
  const auto version = static_cast<uint32_t>(preset.version);
  if (version == 1 && !(preset.reference.empty() && preset.reference_text.empty() &&
                        preset.instruct.empty() && preset.metadata.empty())) {
    return fail(ErrorCode::invalid_argument,
                "a voice preset of version 1 has no place for a voice; write version 2");
  }
  for (const SpokenPhrase& phrase : preset.phrases) {
    if (phrase.text.size() > std::numeric_limits<uint16_t>::max()) {
      return fail(ErrorCode::invalid_argument,
                  "a phrase of {} bytes does not fit into a voice preset; it may have {}", phrase.text.size(),
                  std::numeric_limits<uint16_t>::max());
    }
  }
  std::vector<uint32_t> head{kMagic, version};
  head.resize(head_words(version));
  std::vector<std::byte> bytes(head.size() * sizeof(uint32_t));
  for (size_t section = 0; section < n_sections(version); ++section) {
    const size_t offset = bytes.size();
    append_section(bytes, static_cast<Section>(section), preset);
    if (bytes.size() > std::numeric_limits<uint32_t>::max()) {
      return fail(ErrorCode::invalid_argument,
                  "the voice preset would be longer than the 4 GiB that its format holds; shorten its {}",
                  kSectionNames[section]);
    }
    head[2 + 2 * section] = static_cast<uint32_t>(offset);
    head[3 + 2 * section] = static_cast<uint32_t>(bytes.size() - offset);
  }
  std::memcpy(bytes.data(), head.data(), head.size() * sizeof(uint32_t));
  return bytes;
}

Result<VoicePreset> read_voice_preset(const std::filesystem::path& path) {
  PARLANCE_TRY(const MappedFile file, MappedFile::open(path));
  return parse_voice_preset(file.bytes(), path.string());
}

Result<void> write_voice_preset(const std::filesystem::path& path, const VoicePreset& preset) {
  PARLANCE_TRY(const std::vector<std::byte> bytes, voice_preset_bytes(preset));
  PARLANCE_TRY(AtomicFile file, AtomicFile::create(path));
  PARLANCE_CHECK(file.write(bytes));
  return file.commit();
}

}  // namespace parlance
