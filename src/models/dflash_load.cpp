// Finds a block drafter's parameters and weights in a file, in the names of either kind of file.
#include <algorithm>
#include <string>

#include "base/parameter.h"
#include "models/common_weights.h"
#include "models/dflash.h"
#include "models/layers/rope.h"

namespace parlance {

namespace {

// What files of the two kinds call the same things.
struct Names {
  std::string_view architecture, block_size, target_layers, fc, hidden_norm;
};
constexpr Names kNames[] = {
    {"dflash-draft", "dflash.block_size", "dflash.target_layer_ids", "dflash_fc", "dflash_hidden_norm"},
    {"dflash", "block_size", "target_layers", "fc", "enc.output_norm"},
};

constexpr int64_t kMostTargetLayers = 64;
constexpr int64_t kMostSlots = 256;
constexpr int64_t kUsualSlots = 16;

const Names* names_of(const GgufFile& file) {
  const auto architecture = file.find_string("general.architecture");
  if (!architecture || !*architecture) return nullptr;
  const auto* const found = std::ranges::find(kNames, **architecture, &Names::architecture);
  return found == std::end(kNames) ? nullptr : found;
}

Result<void> check_same(const GgufFile& file, const std::string& key, int64_t found, int64_t wanted) {
  if (found == wanted) return {};
  return fail(ErrorCode::invalid_argument,
              "{}: {} is {}, the model that it is to draft for has {}; use the drafter that was made for it",
              file.name(), key, found, wanted);
}

Result<std::vector<int64_t>> read_target_layers(const GgufFile& file, const ModelKeys& keys,
                                                const Names& names, const HyperParameters& target) {
  std::string key = keys.key(names.target_layers);
  if (!file.find(key)) key = names.target_layers;  // some files have it without the architecture
  PARLANCE_TRY(const auto layers, file.find_ints(key, 0, kMaxLayers));
  if (!layers || layers->empty() || std::ssize(*layers) > kMostTargetLayers) {
    return fail(
        ErrorCode::corrupt_file,
        "{}: {} must list 1 to {} layers of the model that it drafts for, the file has {}; export the "
        "drafter again",
        file.name(), keys.key(names.target_layers), kMostTargetLayers,
        layers ? std::to_string(layers->size()) : "no such key");
  }
  for (const int64_t layer : *layers) {
    if (layer >= target.n_layer) {
      return fail(
          ErrorCode::invalid_argument,
          "{}: {} names layer {}, the model that it is to draft for has {} (from 0); use the drafter that "
          "was made for it",
          file.name(), key, layer, target.n_layer);
    }
    if (std::ranges::count(*layers, layer) > 1) {
      return fail(ErrorCode::corrupt_file, "{}: {} names layer {} twice; export the drafter again",
                  file.name(), key, layer);
    }
  }
  return *layers;
}

// A window is of the layers that the pattern names, or of all of them.
Result<void> read_window(const GgufFile& file, const ModelKeys& keys, DflashParameters& p) {
  PARLANCE_TRY(p.window, keys.integer_or("attention.sliding_window", 0, 0, kMaxContext));
  const std::string key = keys.key("attention.sliding_window_pattern");
  PARLANCE_TRY(const auto pattern, file.find_bools(key));
  p.is_windowed = pattern.value_or(std::vector<bool>(static_cast<size_t>(p.layers.n_layer), true));
  if (std::ssize(p.is_windowed) != p.layers.n_layer) {
    return fail(ErrorCode::corrupt_file, "{}: {} has {} values for {} layers; export the drafter again",
                file.name(), key, p.is_windowed.size(), p.layers.n_layer);
  }
  if (p.window == 0) p.is_windowed.assign(p.is_windowed.size(), false);
  return {};
}

// A matrix of another model, which lies on `from`, where a loader places what it loads.
Result<Tensor> copy_to(WeightLoader& weights, Device& from, const Tensor& matrix) {
  std::vector<std::byte> bytes(matrix.size());
  PARLANCE_CHECK(from.make_stream()->download(bytes, matrix));
  return weights.constant(matrix, bytes);
}

}  // namespace

bool is_dflash(const GgufFile& file) {
  return names_of(file) != nullptr;
}

Result<DflashParameters> read_dflash_parameters(const GgufFile& file, const Model& target) {
  const Names* const names = names_of(file);
  if (!names) {
    return fail(ErrorCode::unsupported,
                "{}: general.architecture is not dflash-draft or dflash: this is no block "
                "drafter",
                file.name());
  }
  DflashParameters p;
  PARLANCE_TRY(p.layers, read_common_parameters(file));
  const ModelKeys keys(file, p.layers.architecture);
  PARLANCE_CHECK(
      check_same(file, keys.key("embedding_length"), p.layers.n_embd, target.hyper_parameters().n_embd));
  PARLANCE_TRY(const int64_t n_vocab, keys.integer_or("vocab_size", target.n_vocab(), 1, kMaxSize));
  PARLANCE_CHECK(check_same(file, keys.key("vocab_size"), n_vocab, target.n_vocab()));
  PARLANCE_TRY(p.block_size, keys.integer_or(names->block_size, kUsualSlots, 2, kMostSlots));
  const std::string mask_key = keys.key("dflash.mask_token_id");
  PARLANCE_TRY(const auto own_mask, file.find_int(mask_key, 0, target.n_vocab() - 1));
  PARLANCE_TRY(const auto vocabulary_mask,
               file.find_int("tokenizer.ggml.mask_token_id", 0, target.n_vocab() - 1));
  p.mask_token = static_cast<int32_t>(own_mask.value_or(vocabulary_mask.value_or(0)));
  PARLANCE_TRY(p.target_layers, read_target_layers(file, keys, *names, target.hyper_parameters()));
  PARLANCE_CHECK(read_window(file, keys, p));
  if (p.layers.head_dim_k != p.layers.head_dim_v) {
    return fail(ErrorCode::unsupported, "{}: {} is {} and {} is {}; only equal ones are supported",
                file.name(), keys.key("attention.key_length"), p.layers.head_dim_k,
                keys.key("attention.value_length"), p.layers.head_dim_v);
  }
  return p;
}

Result<std::unique_ptr<Dflash>> Dflash::load(const GgufFile& file, const Model& target) {
  PARLANCE_TRY(DflashParameters parameters, read_dflash_parameters(file, target));
  std::unique_ptr<Dflash> drafter(new Dflash(std::move(parameters)));
  const Names& names = *names_of(file);
  const HyperParameters& hp = drafter->p_.layers;
  DflashWeights& w = drafter->w_;
  PARLANCE_TRY(auto weights, WeightLoader::create(file));
  weights.place_on(*target.placement().last().device);

  std::vector<Device*> of_layers;
  for (const int64_t layer : drafter->p_.target_layers)
    of_layers.push_back(target.placement().part_of(layer).device);
  PARLANCE_TRY(w.fc, weights.column_blocks(std::string(names.fc), hp.n_embd, of_layers, hp.n_embd));
  PARLANCE_TRY(w.hidden_norm, weights.vector(std::string(names.hidden_norm) + ".weight", hp.n_embd));
  for (int64_t layer = 0; layer < hp.n_layer; ++layer) {
    const std::string block = fmt::format("blk.{}.", layer);
    DflashLayer l;
    PARLANCE_TRY(l.attn_norm, weights.vector(block + "attn_norm.weight", hp.n_embd));
    PARLANCE_TRY(l.attention, load_attention(weights, hp, true, block));
    const bool is_named_by_place = weights.has(block + "post_attention_norm.weight");
    PARLANCE_TRY(l.ffn_norm,
                 weights.vector(block + (is_named_by_place ? "post_attention_norm" : "ffn_norm") + ".weight",
                                hp.n_embd));
    PARLANCE_TRY(l.mlp, load_mlp(weights, hp, block));
    w.layers.push_back(l);
  }
  PARLANCE_TRY(w.output_norm, weights.vector("output_norm.weight", hp.n_embd));
  w.token_embd = target.token_embd();
  if (weights.has("token_embd.weight")) {
    PARLANCE_TRY(w.token_embd, weights.matrix("token_embd.weight", hp.n_embd, target.n_vocab()));
  } else if (target.output().weight.name == w.token_embd.name) {
    w.token_embd = target.output().weight;  // the same matrix, and on the last device
  } else if (target.placement().parts().size() > 1) {
    PARLANCE_TRY(w.token_embd, copy_to(weights, *target.placement().first().device, w.token_embd));
  }
  w.output = target.output();
  if (weights.has("output.weight")) {
    PARLANCE_TRY(w.output, weights.linear("output", hp.n_embd, target.n_vocab()));
  }
  PARLANCE_TRY(w.rope, load_rope(weights, hp.rope, rope_frequencies(hp.rope, {})));
  PARLANCE_TRY(drafter->buffers_, std::move(weights).finish());
  return drafter;
}

}  // namespace parlance
