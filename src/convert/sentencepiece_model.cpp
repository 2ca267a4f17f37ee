// Protocol buffers: fields with a number and a kind of length. Only what is needed of
// sentencepiece_model.proto.
#include <bit>
#include <cstring>

#include "convert/vocabulary_source.h"

namespace parlance {

namespace {

constexpr size_t kMostPieces = size_t{1} << 22;

struct Field {
  uint64_t number = 0;
  uint64_t value = 0;      // of a varint or of four bytes
  std::string_view bytes;  // of what has a length
};

class Fields {
 public:
  explicit Fields(std::string_view bytes) : rest_(bytes) {}

  // Nothing at the end, and where the bytes are no fields (is_broken()).
  std::optional<Field> next() {
    if (rest_.empty()) return std::nullopt;
    Field field;
    const auto key = varint();
    if (!key) return broken();
    field.number = *key >> 3;
    switch (*key & 7) {
      case 0: {
        const auto value = varint();
        if (!value) return broken();
        field.value = *value;
        return field;
      }
      case 1:
        return take(8, field);
      case 2: {
        const auto length = varint();
        return length ? take(*length, field) : broken();
      }
      case 5: {
        auto taken = take(4, field);
        if (!taken) return broken();
        uint32_t word = 0;
        std::memcpy(&word, taken->bytes.data(), sizeof word);
        taken->value = word;
        return taken;
      }
      default:
        return broken();
    }
  }
  bool is_broken() const { return is_broken_; }

 private:
  std::optional<uint64_t> varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    return std::nullopt;
  }
  std::optional<Field> take(uint64_t length, Field field) {
    if (length > rest_.size()) return broken();
    field.bytes = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return field;
  }
  std::optional<Field> broken() {
    is_broken_ = true;
    return std::nullopt;
  }

  std::string_view rest_;
  bool is_broken_ = false;
};

}  // namespace

Result<std::vector<VocabularyPiece>> parse_sentencepiece_model(std::string_view bytes,
                                                               std::string_view name) {
  constexpr uint64_t kPieces = 1, kText = 1, kScore = 2, kType = 3;
  std::vector<VocabularyPiece> pieces;
  Fields fields(bytes);
  bool is_broken = false;
  while (const auto field = fields.next()) {
    if (field->number != kPieces || pieces.size() == kMostPieces) continue;
    VocabularyPiece piece;
    Fields inner(field->bytes);
    while (const auto part = inner.next()) {
      if (part->number == kText) piece.text = part->bytes;
      if (part->number == kScore) piece.score = std::bit_cast<float>(static_cast<uint32_t>(part->value));
      if (part->number == kType && part->value >= 1 && part->value <= 6) {
        piece.type = static_cast<TokenType>(part->value);
      }
    }
    is_broken |= inner.is_broken();
    pieces.push_back(std::move(piece));
  }
  if (!is_broken && !fields.is_broken() && !pieces.empty()) return pieces;
  return fail(ErrorCode::corrupt_file,
              "{}: expected a model of SentencePiece, its pieces cannot be read; fetch it again", name);
}

}  // namespace parlance
