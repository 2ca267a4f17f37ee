// GGUF files of the detector: the product's own, whose keys are checked, and others that have the same
// tensors under other names.
#include <cstring>

#include "gguf/reader.h"
#include "vad/silero_weights.h"
#include "vad/weight_file.h"

namespace parlance::vad {

namespace {

constexpr std::string_view kArchitecture = "silero_vad";

// The four keys that every reader of the product's files insists on. A later variant of the network has the
// same shapes, which are checked with the tensors, so only the beginning of its name is asked for.
Result<void> check_keys(const GgufFile& file) {
  PARLANCE_TRY(const std::string_view variant, file.get_string("silero_vad.variant"));
  if (!variant.starts_with("silero_vad_v")) {
    return fail(ErrorCode::unsupported, "{}: silero_vad.variant is \"{}\", expected \"silero_vad_v5\"",
                file.name(), printable(variant));
  }
  const std::pair<std::string_view, int64_t> numbers[] = {
      {"silero_vad.window_samples", kSileroWindow},
      {"silero_vad.sample_rate_hz", kSileroSampleRateHz},
      {"silero_vad.state_hidden_dim", kSileroHidden},
  };
  for (const auto& [key, expected] : numbers) {
    PARLANCE_TRY(const int64_t value, file.get_int(key, INT64_MIN, INT64_MAX));
    if (value != expected) {
      return fail(ErrorCode::unsupported,
                  "{}: {} is {}, expected {}: not the 16 kHz Silero VAD of version 5 or 6", file.name(), key,
                  value, expected);
    }
  }
  return {};
}

}  // namespace

bool is_gguf(std::span<const std::byte> bytes) {
  return bytes.size() >= kGgufMagic.size() &&
         std::memcmp(bytes.data(), kGgufMagic.data(), kGgufMagic.size()) == 0;
}

Result<FileTensors> read_gguf_tensors(std::span<const std::byte> bytes, const std::string& name) {
  PARLANCE_TRY(const GgufFile file, GgufFile::parse(bytes, name));
  PARLANCE_TRY(const auto architecture, file.find_string("general.architecture"));
  if (architecture == kArchitecture) PARLANCE_CHECK(check_keys(file));
  FileTensors tensors;
  for (const GgufTensor& tensor : file.tensors()) {
    if (tensor.dtype != DType::f32 && tensor.dtype != DType::f16) {
      return fail(ErrorCode::unsupported, "{}: tensor {} is {}, expected f16 or f32", name,
                  printable(tensor.name), name_of(tensor.dtype));
    }
    FileTensor read{printable(tensor.name), tensor.dtype, {}, tensor.bytes};
    for (uint32_t i = tensor.n_dims; i > 0; --i) read.shape.push_back(tensor.ne[i - 1]);
    tensors.push_back(std::move(read));
  }
  return tensors;
}

}  // namespace parlance::vad
