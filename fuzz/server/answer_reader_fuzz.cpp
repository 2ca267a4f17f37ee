// Any text as a model's answer: read to the same end however it is cut.
#include <cstdint>
#include <string>
#include <string_view>

#include "allocations.h"
#include "chat/answer_reader.h"

namespace {

std::string read_in_pieces(const parlance::AnswerReaderOptions& options, std::string_view text, size_t n) {
  parlance::AnswerReader reader(options);
  std::string all;
  int last = -1;
  const auto take = [&](const std::vector<parlance::ReadPiece>& pieces) {
    for (const auto& piece : pieces) {
      const int kind = static_cast<int>(piece.kind);
      const bool is_call = piece.kind == parlance::ReadPiece::Kind::call;
      if (kind != last || is_call) all += "\x01" + std::to_string(kind);
      last = kind;
      all += piece.text;
    }
  };
  for (size_t at = 0; at < text.size(); at += n) take(reader.push(text.substr(at, n)));
  take(reader.finish());
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace parlance;
  if (size < 2 || size > 4096) return 0;
  const AnswerReaderOptions options{.family = static_cast<ToolFamily>(data[0] % 4),
                                    .tools = {{"now", {}}, {"f", {"a"}}},
                                    .begins_in_thoughts = (data[0] & 64) != 0};
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string whole = read_in_pieces(options, text, text.size());
  for (const size_t n : {size_t{1}, size_t{3}, size_t{7}}) {
    fuzz::require(read_in_pieces(options, text, n) == whole, "cuts make no difference");
  }
  return 0;
}
