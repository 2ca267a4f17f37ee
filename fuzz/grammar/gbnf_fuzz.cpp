// Any bytes as a grammar in llama.cpp's format: an error or a grammar that can be followed, in bounded
// memory.
#include <cstdint>
#include <string_view>

#include "grammar/grammar.h"
#include "grammar/texts.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::shared_ptr<const parlance::Grammar> grammar;
  {
    const parlance::fuzz::AllocationLimit limit(size_t{32} << 20);
    auto compiled = parlance::Grammar::from_gbnf({reinterpret_cast<const char*>(data), size});
    if (!compiled) return 0;
    grammar = *std::move(compiled);
  }
  parlance::fuzz::follow_some(grammar);
  return 0;
}
