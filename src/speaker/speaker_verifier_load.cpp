// Finds the sizes and weights of a speaker verifier in a file.
#include <algorithm>
#include <cmath>
#include <string>

#include "audio/mel.h"
#include "models/weight_loader.h"
#include "speaker/speaker_verifier.h"

namespace parlance {

namespace {

constexpr std::string_view kArchitecture = "parlance-speaker-verifier";
constexpr int64_t kMaxLayers = 16;
constexpr int64_t kMaxSize = 4096;
constexpr int64_t kMaxKernel = 63, kMaxStride = 16;

Result<SpeakerVerifierParameters> read_parameters(const GgufFile& file) {
  PARLANCE_TRY(const std::string_view architecture, file.get_string("general.architecture"));
  if (architecture != kArchitecture) {
    return fail(
        ErrorCode::unsupported,
        "{}: expected a speaker verifier (architecture {}), the file has {}; give the verifier's file",
        file.name(), kArchitecture, architecture);
  }
  const auto get = [&](const char* key, int64_t min, int64_t max) {
    return file.get_int(fmt::format("{}.{}", kArchitecture, key), min, max);
  };
  SpeakerVerifierParameters hp;
  PARLANCE_TRY(hp.n_layer, get("block_count", 1, kMaxLayers));
  PARLANCE_TRY(hp.n_channel, get("channel_count", 1, kMaxSize));
  PARLANCE_TRY(hp.n_embd, get("embedding_length", 1, kMaxSize));
  PARLANCE_TRY(hp.kernel, get("kernel_size", 1, kMaxKernel));
  PARLANCE_TRY(hp.stride, get("stride", 1, kMaxStride));
  PARLANCE_CHECK(get("mel_count", kMelBands, kMelBands));
  PARLANCE_CHECK(get("sample_rate_hz", kMelSampleRateHz, kMelSampleRateHz));
  PARLANCE_TRY(hp.threshold, file.get_float(fmt::format("{}.threshold", kArchitecture)));
  if (hp.kernel % 2 == 0 || !(std::fabs(hp.threshold) <= 1)) {
    return fail(
        ErrorCode::corrupt_file,
        "{}: convolutions over {} frames and a threshold of {} cannot be: expected an odd number, and "
        "one from -1 to 1; export the file again",
        file.name(), hp.kernel, hp.threshold);
  }
  return hp;
}

// Values that are all finite, so that every embedding is.
Result<std::vector<float>> take(WeightLoader& weights, const std::string& name,
                                std::initializer_list<int64_t> ne) {
  PARLANCE_TRY(std::vector<float> values, weights.values(name, ne));
  if (std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); }))
    return values;
  return fail(ErrorCode::corrupt_file, "{}: {} holds what is no number; export the file again",
              weights.file().name(), name);
}

Result<SpeakerLayer> load_layer(WeightLoader& weights, const SpeakerVerifierParameters& hp, int64_t i) {
  const std::string conv = fmt::format("conv.{}.", i), norm = fmt::format("norm.{}.", i);
  SpeakerLayer layer;
  layer.n_in = i == 0 ? kMelBands : hp.n_channel;
  PARLANCE_TRY(layer.weight, take(weights, conv + "weight", {hp.kernel, layer.n_in, hp.n_channel}));
  PARLANCE_TRY(layer.bias, take(weights, conv + "bias", {hp.n_channel}));
  PARLANCE_TRY(layer.norm_weight, take(weights, norm + "weight", {hp.n_channel}));
  PARLANCE_TRY(layer.norm_bias, take(weights, norm + "bias", {hp.n_channel}));
  return layer;
}

}  // namespace

Result<SpeakerVerifier> SpeakerVerifier::load(const GgufFile& file) {
  SpeakerVerifier verifier;
  PARLANCE_TRY(verifier.hp_, read_parameters(file));
  const SpeakerVerifierParameters& hp = verifier.hp_;
  SpeakerVerifierWeights& w = verifier.w_;
  PARLANCE_TRY(auto weights, WeightLoader::create(file));
  for (int64_t i = 0; i < hp.n_layer; ++i) {
    PARLANCE_TRY(w.layers.emplace_back(), load_layer(weights, hp, i));
  }
  PARLANCE_TRY(w.attention_weight, take(weights, "attention.weight", {hp.n_channel, 1}));
  PARLANCE_TRY(w.attention_bias, take(weights, "attention.bias", {1}));
  PARLANCE_TRY(w.embedding_weight, take(weights, "embedding.weight", {2 * hp.n_channel, hp.n_embd}));
  PARLANCE_TRY(w.embedding_bias, take(weights, "embedding.bias", {hp.n_embd}));
  PARLANCE_CHECK(std::move(weights).finish());
  return verifier;
}

Result<SpeakerVerifier> SpeakerVerifier::load(const std::filesystem::path& path) {
  PARLANCE_TRY(const GgufFile file, GgufFile::open(path));
  return load(file);
}

}  // namespace parlance
