#include "vad/silero_weights.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>
#include <string_view>

#include "base/half.h"
#include "base/os/file.h"
#include "vad/weight_file.h"

namespace parlance {

namespace {

using vad::FileTensor;
using vad::FileTensors;
using vad::text_of;
using Shape = std::vector<int64_t>;

// No weight of a trained network comes near it, and with none above it no sum of the network overflows.
constexpr float kLargestWeight = 1024;
// The basis in f16 is off by 2.4e-4; another window or sign by far more.
constexpr double kBasisTolerance = 1e-3;

// What the network wants: a tensor that any of these names ends in, with this shape.
struct Wanted {
  std::vector<std::string> names;  // the first is what messages call it
  Shape shape;
  std::vector<float>* values;
};

std::vector<Wanted> wanted_tensors(SileroWeights& weights) {
  std::vector<Wanted> wanted = {{{"stft_conv.weight", "stft.basis", "stft.forward_basis_buffer"},
                                 {2 * kSileroBins, 1, kSileroFrame},
                                 &weights.basis}};
  for (size_t i = 0; i < kSileroConvs.size(); ++i) {
    const SileroConv& conv = kSileroConvs[i];
    const std::string plain = "conv" + std::to_string(i + 1), encoder = "encoder." + std::to_string(i);
    wanted.push_back({{plain + ".weight", encoder + ".weight", encoder + ".reparam_conv.weight"},
                      {conv.n_out, conv.n_in, kSileroTaps},
                      &weights.conv_weight[i]});
    wanted.push_back({{plain + ".bias", encoder + ".bias", encoder + ".reparam_conv.bias"},
                      {conv.n_out},
                      &weights.conv_bias[i]});
  }
  const auto lstm = [&](const std::string& part, Shape shape, std::vector<float>& values) {
    wanted.push_back({{"lstm_cell." + part, "lstm." + part, "rnn." + part}, std::move(shape), &values});
  };
  lstm("weight_ih", {kSileroGates, kSileroHidden}, weights.lstm_weight_ih);
  lstm("weight_hh", {kSileroGates, kSileroHidden}, weights.lstm_weight_hh);
  lstm("bias_ih", {kSileroGates}, weights.lstm_bias_ih);
  lstm("bias_hh", {kSileroGates}, weights.lstm_bias_hh);
  const auto head = [&](const std::string& part, Shape shape, std::vector<float>& values) {
    wanted.push_back({{"final_conv." + part, "head." + part, "decoder.2." + part, "decoder." + part},
                      std::move(shape),
                      &values});
  };
  head("weight", {1, kSileroHidden, 1}, weights.head_weight);
  head("bias", {1}, weights.head_bias);
  return wanted;
}

bool ends_in(std::string_view name, std::string_view suffix) {
  return name == suffix || (name.size() > suffix.size() && name.ends_with(suffix) &&
                            name[name.size() - suffix.size() - 1] == '.');
}

bool matches(const FileTensor& tensor, const Wanted& wanted) {
  return std::any_of(wanted.names.begin(), wanted.names.end(),
                     [&](const std::string& name) { return ends_in(tensor.name, name); });
}

// Some files carry a second network for 8 kHz beside this one.
bool is_of_8_khz(const FileTensor& tensor) {
  return tensor.name.starts_with("vad8k.") || tensor.name.starts_with("_model_8k.");
}

Shape without_ones(Shape shape) {
  std::erase(shape, 1);
  return shape;
}

// Sizes of one say nothing about the order of values, and writers differ in whether they list them.
bool fits(const FileTensor& tensor, const Wanted& wanted) {
  const Shape shape = without_ones(tensor.shape);
  Shape expected = without_ones(wanted.shape);
  if (shape == expected) return true;
  std::reverse(expected.begin(), expected.end());
  return tensor.is_order_open && shape == expected;
}

std::vector<float> values_of(const FileTensor& tensor) {
  std::vector<float> values(tensor.bytes.size() / row_bytes(tensor.dtype, 1));
  if (tensor.dtype == DType::f32) {
    std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
    return values;
  }
  for (size_t i = 0; i < values.size(); ++i) {
    f16_bits half;
    std::memcpy(&half, tensor.bytes.data() + i * sizeof half, sizeof half);
    values[i] = f32_from_f16(half);
  }
  return values;
}

Result<void> take(const Wanted& wanted, const FileTensors& tensors, const std::string& file) {
  const FileTensor* found = nullptr;
  for (const FileTensor& tensor : tensors) {
    if (is_of_8_khz(tensor) || !matches(tensor, wanted)) continue;
    if (found) {
      return fail(ErrorCode::corrupt_file, "{}: tensors {} and {} are both {}; use a file of one network",
                  file, found->name, tensor.name, wanted.names[0]);
    }
    found = &tensor;
  }
  if (!found) {
    return fail(ErrorCode::not_found,
                "{}: no tensor {} of shape {}; expected the weights of the 16 kHz Silero VAD, version 5 or 6",
                file, wanted.names[0], text_of(wanted.shape));
  }
  if (!fits(*found, wanted)) {
    return fail(ErrorCode::corrupt_file,
                "{}: {}: expected f32 or f16 {}, file has {} {}; use the weights of the 16 kHz Silero VAD, "
                "version 5 or 6",
                file, found->name, text_of(wanted.shape), name_of(found->dtype), text_of(found->shape));
  }
  *wanted.values = values_of(*found);
  for (const float value : *wanted.values) {
    if (!(std::fabs(value) <= kLargestWeight)) {
      return fail(ErrorCode::corrupt_file,
                  "{}: {} holds {}, expected numbers of at most {}; download the file again", file,
                  found->name, value, kLargestWeight);
    }
  }
  return {};
}

Result<void> check_basis(const std::vector<float>& basis, const std::string& file) {
  std::array<double, kSileroFrame> cosines;
  for (size_t n = 0; n < cosines.size(); ++n)
    cosines[n] = std::cos(2 * std::numbers::pi * static_cast<double>(n) / kSileroFrame);
  for (int64_t row = 0; row < 2 * kSileroBins; ++row) {
    const int64_t quarter = row < kSileroBins ? 0 : kSileroFrame / 4;  // -sin(x) = cos(x + pi / 2)
    for (int64_t n = 0; n < kSileroFrame; ++n) {
      const int64_t turn = (row % kSileroBins * n + quarter) % kSileroFrame;
      const double window = 0.5 * (1 - cosines[static_cast<size_t>(n)]);
      const double expected = window * cosines[static_cast<size_t>(turn)];
      const float found = basis[static_cast<size_t>(row * kSileroFrame + n)];
      if (std::fabs(static_cast<double>(found) - expected) > kBasisTolerance) {
        return fail(ErrorCode::corrupt_file,
                    "{}: row {} of the transform's basis holds {} at {}, expected {:.6f}, as of a Fourier "
                    "transform of 256 samples; download the file again",
                    file, row, found, n, expected);
      }
    }
  }
  return {};
}

Result<FileTensors> read_tensors(std::span<const std::byte> bytes, const std::string& name) {
  if (vad::is_gguf(bytes)) return vad::read_gguf_tensors(bytes, name);
  if (vad::is_whisper_bin(bytes)) return vad::read_whisper_bin_tensors(bytes, name);
  if (vad::is_safetensors(bytes)) return vad::read_safetensors(bytes, name);
  return fail(
      ErrorCode::unsupported,
      "{}: neither GGUF, nor safetensors, nor a .bin of whisper.cpp; expected a file of Silero VAD weights",
      name);
}

}  // namespace

std::string vad::printable(std::string_view text) {
  constexpr size_t kMost = 100;
  std::string shown(text.substr(0, kMost));
  for (char& c : shown) {
    if (c < ' ' || c > '~') c = '?';
  }
  return shown;
}

std::string vad::text_of(std::span<const int64_t> shape) {
  std::string text = "[";
  for (const int64_t size : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  return text + "]";
}

Result<SileroWeights> parse_silero_weights(std::span<const std::byte> bytes, const std::string& name) {
  PARLANCE_TRY(const FileTensors tensors, read_tensors(bytes, name));
  SileroWeights weights;
  const std::vector<Wanted> wanted = wanted_tensors(weights);
  for (const Wanted& one : wanted) PARLANCE_CHECK(take(one, tensors, name));
  for (const FileTensor& tensor : tensors) {
    const bool is_known =
        is_of_8_khz(tensor) ||
        std::any_of(wanted.begin(), wanted.end(), [&](const Wanted& one) { return matches(tensor, one); });
    if (!is_known) {
      return fail(ErrorCode::unsupported,
                  "{}: tensor {} is not part of the 16 kHz Silero VAD, version 5 or 6", name, tensor.name);
    }
  }
  PARLANCE_CHECK(check_basis(weights.basis, name));
  return weights;
}

Result<SileroWeights> read_silero_weights(const std::filesystem::path& path) {
  PARLANCE_TRY(const MappedFile file, MappedFile::open(path));
  return parse_silero_weights(file.bytes(), path.string());
}

}  // namespace parlance
