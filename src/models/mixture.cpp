#include "models/mixture.h"

#include <algorithm>
#include <array>
#include <limits>
#include <tuple>

#include "base/ascii.h"
#include "models/tensor_names.h"

namespace parlance {

namespace {

bool deserves_more(const TensorRank& rank) {
  const int64_t eighth = rank.n / 8;
  return rank.i < eighth || rank.i >= 7 * rank.n / 8 || (rank.i - eighth) % 3 == 2;
}

DType q6_where_it_matters(const TensorRank& rank, DType base) {
  return deserves_more(rank) ? DType::q6_k : base;
}
DType q5_first_four(const TensorRank& rank, DType base) {
  return rank.i < 4 ? DType::q5_k : base;
}
DType q5_first_eighth(const TensorRank& rank, DType base) {
  return rank.i < rank.n / 8 ? DType::q5_k : base;
}
DType q5_first_two_else_q4(const TensorRank& rank, DType) {
  return rank.i < 2 ? DType::q5_k : DType::q4_k;
}
DType q5_first_sixteenth_else_q4(const TensorRank& rank, DType) {
  return rank.i < rank.n / 16 ? DType::q5_k : DType::q4_k;
}
DType q5_if_much_shared(const TensorRank& rank, DType base) {
  return rank.n_head_per_kv >= 4 ? DType::q5_k : base;
}
DType q4_if_much_shared_else_q3(const TensorRank& rank, DType) {
  return rank.n_head_per_kv >= 4 ? DType::q4_k : DType::q3_k;
}
DType always_q3(const TensorRank&, DType) {
  return DType::q3_k;
}
DType always_q4(const TensorRank&, DType) {
  return DType::q4_k;
}

constexpr std::array kMixtures = {
    Mixture{"F32", DType::f32, 0},
    Mixture{"F16", DType::f16, 1},
    Mixture{"BF16", DType::bf16, 32},
    Mixture{"Q8_0", DType::q8_0, 7},
    Mixture{"Q6_K", DType::q6_k, 18},
    Mixture{"Q5_K_M", DType::q5_k, 17, q6_where_it_matters, q6_where_it_matters},
    Mixture{"Q5_K_S", DType::q5_k, 16},
    Mixture{"Q5_1", DType::q5_1, 9},
    Mixture{"Q5_0", DType::q5_0, 8},
    Mixture{"Q4_K_M", DType::q4_k, 15, q6_where_it_matters, q6_where_it_matters},
    Mixture{"Q4_K_S", DType::q4_k, 14, q5_first_four, q5_first_eighth},
    Mixture{"Q4_1", DType::q4_1, 3},
    Mixture{"Q4_0", DType::q4_0, 2},
    Mixture{"IQ4_NL", DType::iq4_nl, 25, q5_if_much_shared, q5_first_eighth},
    Mixture{"IQ4_XS", DType::iq4_xs, 30, q5_if_much_shared, q5_first_eighth},
    Mixture{"Q3_K_M", DType::q3_k, 12, q5_first_two_else_q4, q5_first_sixteenth_else_q4, always_q4},
    Mixture{"Q2_K", DType::q2_k, 10, q4_if_much_shared_else_q3, always_q3, always_q3},
};

bool is_plain_float(DType dtype) {
  return traits(dtype).block_elements == 1;
}

bool contains(std::string_view name, std::string_view part) {
  return name.find(part) != std::string_view::npos;
}

// Vectors, norms and a few small matrices keep their type: they cost little and the model is sensitive to
// them. So do convolutions, tables of positions, and what speech is chosen by: heads and codebooks.
bool stays_as_it_is(const GgufTensor& tensor) {
  const bool is_matrix = tensor.ne[1] * tensor.ne[2] * tensor.ne[3] > 1;
  return !is_matrix || !tensor.name.ends_with("weight") || contains(tensor.name, "_norm.weight") ||
         contains(tensor.name, "ffn_gate_inp.weight") || contains(tensor.name, "ssm_conv1d") ||
         contains(tensor.name, "a.conv") || contains(tensor.name, "a.position_embd") ||
         contains(tensor.name, "audio_heads") || contains(tensor.name, "quantizer.quantizers");
}

bool holds_values(std::string_view name) {
  return contains(name, "attn_v.weight") || contains(name, "attn_qkv.weight") ||
         contains(name, "attn_kv_b.weight");
}

// The matrix that yields the logits: its own, or the embedding when there is no other.
bool is_output(const GgufFile& file, std::string_view name) {
  if (name == "output.weight") return true;
  return name == "token_embd.weight" && !file.find_tensor("output.weight");
}

DType wanted_type(const GgufFile& file, const GgufTensor& tensor, const Mixture& mixture, TensorRank& values,
                  TensorRank& downs) {
  if (is_plain_float(mixture.base)) return mixture.base;
  if (is_output(file, tensor.name)) {
    const bool divides = tensor.ne[0] % traits(mixture.base).block_elements == 0;
    return divides && mixture.base != DType::q8_0 ? DType::q6_k : DType::q8_0;
  }
  if (tensor.name == "token_embd.weight") return mixture.base;
  if (holds_values(tensor.name)) {
    const DType dtype = mixture.attn_v ? mixture.attn_v(values, mixture.base) : mixture.base;
    ++values.i;
    return dtype;
  }
  if (contains(tensor.name, "ffn_down")) {
    const DType dtype = mixture.ffn_down ? mixture.ffn_down(downs, mixture.base) : mixture.base;
    ++downs.i;
    return dtype;
  }
  if (contains(tensor.name, "attn_output.weight") && mixture.attn_output) {
    return mixture.attn_output({}, mixture.base);
  }
  return mixture.base;
}

// A type of similar accuracy with blocks of 32 in place of 256; half floats where even these do not fit.
DType type_for_rows_of(int64_t n, DType wanted) {
  const auto divides = [n](DType dtype) { return n % traits(dtype).block_elements == 0; };
  if (divides(wanted)) return wanted;
  DType smaller = DType::f16;
  switch (wanted) {
    case DType::q2_k:
    case DType::q3_k:
      smaller = DType::q4_0;
      break;
    case DType::q4_k:
      smaller = DType::q5_0;
      break;
    case DType::q5_k:
      smaller = DType::q5_1;
      break;
    case DType::q6_k:
      smaller = DType::q8_0;
      break;
    case DType::iq4_xs:
      smaller = DType::iq4_nl;
      break;
    default:
      break;
  }
  return divides(smaller) ? smaller : DType::f16;
}

// How many query heads share a key/value head, in the first layer that has them; 1 when the file does not
// say.
int64_t heads_per_kv(const GgufFile& file) {
  const auto architecture = file.find_string("general.architecture");
  if (!architecture || !*architecture) return 1;
  const auto first_of = [&](const char* key) -> int64_t {
    const auto values = file.find_ints(std::string(**architecture) + ".attention." + key, 0,
                                       std::numeric_limits<int32_t>::max());
    if (!values || !*values) return 0;
    for (const int64_t value : **values) {
      if (value > 0) return value;
    }
    return 0;
  };
  const int64_t n_head = first_of("head_count");
  const int64_t n_head_kv = first_of("head_count_kv");
  return n_head_kv > 0 ? std::max<int64_t>(1, n_head / n_head_kv) : 1;
}

}  // namespace

const Mixture* find_mixture(std::string_view name) {
  const auto equal = [name](const Mixture& mixture) { return ascii::are_equal(mixture.name, name); };
  const auto found = std::ranges::find_if(kMixtures, equal);
  return found == kMixtures.end() ? nullptr : &*found;
}

std::string mixture_names() {
  std::string names;
  for (const Mixture& mixture : kMixtures) {
    if (!names.empty()) names += ", ";
    names += mixture.name;
  }
  return names;
}

std::vector<TargetType> target_types(const GgufFile& file, const Mixture& mixture) {
  const std::vector<GgufTensor>& tensors = file.tensors();
  // Ranks count in the order of layers, whatever the order in the file.
  std::vector<size_t> order(tensors.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::sort(order, {},
                    [&](size_t i) { return std::tuple(layer_of(tensors[i].name), tensors[i].name); });

  const int64_t shared = heads_per_kv(file);
  TensorRank values{0, 0, shared};
  TensorRank downs{0, 0, shared};
  for (const GgufTensor& tensor : tensors) {
    if (stays_as_it_is(tensor)) continue;
    values.n += holds_values(tensor.name);
    downs.n += contains(tensor.name, "ffn_down");
  }
  std::vector<TargetType> types(tensors.size());
  for (const size_t i : order) {
    const GgufTensor& tensor = tensors[i];
    if (stays_as_it_is(tensor)) {
      types[i] = {tensor.dtype, false};
      continue;
    }
    const DType wanted = wanted_type(file, tensor, mixture, values, downs);
    const DType dtype = type_for_rows_of(tensor.ne[0], wanted);
    types[i] = {dtype, dtype != wanted};
  }
  return types;
}

}  // namespace parlance
