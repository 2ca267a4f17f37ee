// Which type each tensor of a quantised file has. A mixture is a name that people know from llama-quantize;
// its rules give more bits to the tensors that suffer most. For dense models, without importance matrix.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "gguf/reader.h"

namespace parlance {

// Where a tensor stands among the n of its kind, in the order of layers.
struct TensorRank {
  int64_t i;
  int64_t n;
  int64_t n_head_per_kv;  // query heads that share a key/value head
};

struct Mixture {
  using Rule = DType (*)(const TensorRank& rank, DType base);

  std::string_view name;
  DType base;                  // of every matrix that no rule names
  uint32_t file_type;          // value of general.file_type
  Rule attn_v = nullptr;       // null: base. Also for attn_qkv and attn_kv_b, which hold the values too
  Rule ffn_down = nullptr;     // null: base
  Rule attn_output = nullptr;  // null: base
};

// The mixture of this name, in any case; null when there is none.
const Mixture* find_mixture(std::string_view name);

// Every name, "F32, F16, …", for help texts and errors.
std::string mixture_names();

struct TargetType {
  DType dtype;
  bool is_fallback;  // the rows do not divide into blocks of the type that the mixture wants
};

// Types under the mixture, in the order of the file's tensors. A tensor that stays as it is has its own type.
std::vector<TargetType> target_types(const GgufFile& file, const Mixture& mixture);

}  // namespace parlance
