// Any bytes as the header of published weights: refused with one line, or tensors that fill the bytes behind
// it without gaps. The same bytes as a tokenizer's object: a known name, or none.
#include <cstdint>
#include <string_view>

#include "allocations.h"
#include "convert/safetensors.h"
#include "convert/vocabulary_source.h"
#include "json/json.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace parlance;
  using fuzz::require;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const fuzz::AllocationLimit limit((size_t{1} << 20) + 2000 * size);
  constexpr uint64_t kBegin = 1000;
  for (const uint64_t n_data : {uint64_t{0}, uint64_t{16}, uint64_t{28}}) {
    const auto tensors = parse_safetensors_header(text, kBegin, n_data, "input");
    if (!tensors) {
      require(tensors.error().message.find('\n') == std::string::npos, "messages are one line");
      continue;
    }
    uint64_t at = kBegin;
    for (const SafeTensor& tensor : *tensors) {
      require(tensor.offset == at, "tensors lie behind each other");
      if (tensor.dtype) {
        require(row_bytes(*tensor.dtype, tensor.n_values()) == tensor.n_bytes,
                "sizes are those of the shape");
      }
      at += tensor.n_bytes;
    }
    require(at == kBegin + n_data, "tensors fill the file");
  }
  if (const auto json = Json::parse(text)) {
    const std::string name = pre_tokenizer_name(*json);
    require(name.empty() || name == "qwen2" || name == "qwen35" || name == "llama-bpe" || name == "gpt-2",
            "names are known");
  }
  return 0;
}
