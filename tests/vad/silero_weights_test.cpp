// The detector's files: what each container holds, and what is said about broken ones.
#include "support/json_file.h"
#include "vad/silero_weights.h"

#include <cstdlib>
#include <fstream>

#include "base/half.h"
#include "gguf/writer.h"
#include "support/temporary_folder.h"
#include "vad/support/vad_fixtures.h"

namespace parlance::test {
namespace {

Result<SileroWeights> parse(const std::string& bytes) {
  return parse_silero_weights(std::as_bytes(std::span(bytes)), "input");
}

std::string error_of(const std::string& bytes) {
  const auto weights = parse(bytes);
  return weights ? "loaded" : weights.error().message;
}

// Tensors in the order and with the shapes that every file has, by the names of safetensors.
struct Part {
  std::string name;
  std::vector<int64_t> shape;
  const std::vector<float>* values;
};
std::vector<Part> parts_of(const SileroWeights& weights) {
  std::vector<Part> parts = {{"stft_conv.weight", {258, 1, 256}, &weights.basis}};
  for (size_t i = 0; i < 4; ++i) {
    const std::string name = "conv" + std::to_string(i + 1);
    const auto& [n_in, n_out, stride] = kSileroConvs[i];
    parts.push_back({name + ".weight", {n_out, n_in, 3}, &weights.conv_weight[i]});
    parts.push_back({name + ".bias", {n_out}, &weights.conv_bias[i]});
  }
  parts.push_back({"lstm_cell.weight_ih", {512, 128}, &weights.lstm_weight_ih});
  parts.push_back({"lstm_cell.weight_hh", {512, 128}, &weights.lstm_weight_hh});
  parts.push_back({"lstm_cell.bias_ih", {512}, &weights.lstm_bias_ih});
  parts.push_back({"lstm_cell.bias_hh", {512}, &weights.lstm_bias_hh});
  parts.push_back({"final_conv.weight", {1, 128, 1}, &weights.head_weight});
  parts.push_back({"final_conv.bias", {1}, &weights.head_bias});
  return parts;
}

std::string f16_bytes(const std::vector<float>& values) {
  std::string bytes;
  for (const float value : values) {
    const f16_bits half = f16_from_f32(value);
    bytes.append(reinterpret_cast<const char*>(&half), sizeof half);
  }
  return bytes;
}

std::string f32_bytes(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

// A safetensors file; `header` may change the description of the tensors.
std::string safetensors_of(
    const std::vector<Part>& parts, bool is_f16,
    FunctionRef<void(nlohmann::json&)> change_header = [](nlohmann::json&) {}) {
  nlohmann::json header = {{"__metadata__", {{"format", "pt"}}}};
  std::string data;
  for (const Part& part : parts) {
    const size_t begin = data.size();
    data += is_f16 ? f16_bytes(*part.values) : f32_bytes(*part.values);
    header[part.name] = {
        {"dtype", is_f16 ? "F16" : "F32"}, {"shape", part.shape}, {"data_offsets", {begin, data.size()}}};
  }
  change_header(header);
  const std::string text = header.dump();
  const uint64_t n = text.size();
  return std::string(reinterpret_cast<const char*>(&n), sizeof n) + text + data;
}

class SileroWeightsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    PARLANCE_REQUIRE_VAD_FIXTURES();
    const std::pair<std::string, std::filesystem::path> files[] = {
        {"v6.2", vad_file("v6.2")},
        {"v5.1.2", vad_file("v5.1.2")},
        {"bin", vad_data() / "silero-vad-v5.1.2.ggml.bin"},
        {"gguf", vad_file(kVadRoundedSet)}};
    for (const auto& [kind, path] : files) {
      ASSERT_TRUE(std::filesystem::exists(path)) << path << " is missing";
      files_[kind] = read_text(path);
    }
    auto weights = parse(files_["v6.2"]);
    ASSERT_TRUE(weights) << weights.error().message;
    v6_ = *std::move(weights);
  }

  std::string gguf_of(std::string_view architecture, FunctionRef<std::string(const std::string&)> renamed,
                      DType dtype, FunctionRef<void(GgufWriter&)> add) {
    GgufWriter writer;
    writer.set_string("general.architecture", architecture);
    add(writer);
    const std::vector<Part> parts = parts_of(v6_);
    for (const Part& part : parts) {
      const std::vector<int64_t> ne(part.shape.rbegin(), part.shape.rend());
      writer.add_tensor(renamed(part.name), dtype, ne);
    }
    const auto path = folder_ / "weights.gguf";
    EXPECT_TRUE(writer.begin(path).has_value());
    for (const Part& part : parts) {
      const std::string bytes = dtype == DType::f16 ? f16_bytes(*part.values) : f32_bytes(*part.values);
      EXPECT_TRUE(writer.write_tensor(std::as_bytes(std::span(bytes))).has_value());
    }
    EXPECT_TRUE(writer.finish().has_value());
    return read_text(path);
  }

  std::map<std::string, std::string> files_;
  SileroWeights v6_;
  TemporaryFolder folder_;
};

TEST_F(SileroWeightsTest, EveryContainerHoldsTheSameNumbers) {
  const auto v5 = parse(files_["v5.1.2"]), bin = parse(files_["bin"]), gguf = parse(files_["gguf"]);
  ASSERT_TRUE(v5 && bin && gguf);
  EXPECT_EQ(v5->lstm_weight_ih, bin->lstm_weight_ih);  // f32 in the .bin
  EXPECT_EQ(v5->lstm_bias_hh, bin->lstm_bias_hh);
  EXPECT_EQ(v5->head_bias, bin->head_bias);
  EXPECT_EQ(f16_bytes(v5->conv_weight[2]), f16_bytes(bin->conv_weight[2]));
  EXPECT_EQ(f16_bytes(v5->basis), f16_bytes(bin->basis));
  const auto expected = parts_of(v6_), got = parts_of(*gguf);
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(f16_bytes(*expected[i].values), f16_bytes(*got[i].values)) << expected[i].name;
  }
}

TEST_F(SileroWeightsTest, TensorsMayBeOfEitherType) {
  const auto weights = parse(safetensors_of(parts_of(v6_), true));
  ASSERT_TRUE(weights) << weights.error().message;
  EXPECT_EQ(f16_bytes(weights->lstm_weight_hh), f16_bytes(v6_.lstm_weight_hh));
  EXPECT_TRUE(parse(safetensors_of(parts_of(v6_), false)));
}

// The order of sizes and of records in whisper.cpp's file does not matter.
TEST_F(SileroWeightsTest, WhisperFilesMayListSizesEitherWay) {
  std::string bin = files_["bin"];
  const size_t name = bin.find("_model.encoder.1.reparam_conv.weight");
  ASSERT_NE(name, std::string::npos);
  const int32_t reversed[] = {64, 128, 3};
  bin.replace(name - sizeof reversed, sizeof reversed, reinterpret_cast<const char*>(reversed),
              sizeof reversed);
  const auto weights = parse(bin);
  ASSERT_TRUE(weights) << weights.error().message;
  EXPECT_EQ(weights->conv_weight[1], parse(files_["bin"])->conv_weight[1]);

  const size_t basis = bin.find("_model.stft.forward_basis_buffer") - 6 * sizeof(int32_t);
  const size_t first = bin.find("_model.encoder.0.reparam_conv.weight") - 6 * sizeof(int32_t);
  const std::string moved = bin.substr(0, first) + bin.substr(basis) + bin.substr(first, basis - first);
  EXPECT_EQ(parse(moved)->basis, weights->basis);
}

void set_product_keys(GgufWriter& writer) {
  writer.set_string("silero_vad.variant", "silero_vad_v5");
  writer.set_u32("silero_vad.window_samples", 512);
  writer.set_u32("silero_vad.sample_rate_hz", 16000);
  writer.set_u32("silero_vad.state_hidden_dim", 128);
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

// "conv2.weight" as "encoder.1" + middle + "weight".
std::string as_encoder(const std::string& name, const std::string& middle) {
  if (!name.starts_with("conv")) return name;
  return "encoder." + std::to_string(name[4] - '1') + middle + name.substr(6);
}

TEST_F(SileroWeightsTest, OtherNamesInGguf) {
  const auto community = [](const std::string& name) {
    return "silero_vad." +
           replaced(replaced(replaced(as_encoder(name, "."), "stft_conv.weight", "stft.basis"), "lstm_cell",
                             "rnn"),
                    "final_conv", "decoder");
  };
  const auto onnx_stems = [](const std::string& name) {
    return "vad16k." + replaced(replaced(replaced(as_encoder(name, ".reparam_conv."), "stft_conv.weight",
                                                  "stft.forward_basis_buffer"),
                                         "lstm_cell", "decoder.rnn"),
                                "final_conv", "decoder.decoder.2");
  };
  const auto nothing = [](GgufWriter&) {};
  const auto one = parse(gguf_of("silero-vad", community, DType::f32, nothing));
  ASSERT_TRUE(one) << one.error().message;
  EXPECT_EQ(one->conv_weight[3], v6_.conv_weight[3]);
  const auto other = parse(gguf_of("vad", onnx_stems, DType::f16, nothing));
  ASSERT_TRUE(other) << other.error().message;
  EXPECT_EQ(f16_bytes(other->head_weight), f16_bytes(v6_.head_weight));
}

TEST_F(SileroWeightsTest, TheProductsKeysAreChecked) {
  const auto same = [](const std::string& name) { return name; };
  const auto load = [&](FunctionRef<void(GgufWriter&)> change) {
    return error_of(gguf_of("silero_vad", same, DType::f32, [&](GgufWriter& writer) {
      set_product_keys(writer);
      change(writer);
    }));
  };
  EXPECT_EQ(load([](GgufWriter&) {}), "loaded");
  EXPECT_EQ(load([](GgufWriter& w) { w.set_string("silero_vad.variant", "silero_vad_v6"); }), "loaded");
  EXPECT_EQ(load([](GgufWriter& w) { w.set_string("silero_vad.variant", "other"); }),
            "input: silero_vad.variant is \"other\", expected \"silero_vad_v5\"");
  EXPECT_EQ(
      load([](GgufWriter& w) { w.set_u32("silero_vad.window_samples", 256); }),
      "input: silero_vad.window_samples is 256, expected 512: not the 16 kHz Silero VAD of version 5 or 6");
  EXPECT_NE(load([](GgufWriter& w) { w.set_u32("silero_vad.sample_rate_hz", 8000); }), "loaded");
  EXPECT_NE(load([](GgufWriter& w) { w.set_u32("silero_vad.state_hidden_dim", 64); }), "loaded");
  const auto without_keys = error_of(gguf_of("silero_vad", same, DType::f32, [](GgufWriter&) {}));
  EXPECT_NE(without_keys.find("silero_vad.variant"), std::string::npos) << without_keys;
}

TEST_F(SileroWeightsTest, ErrorsNameTheTensorAndBothShapes) {
  std::vector<Part> parts = parts_of(v6_);
  parts[3].shape = {128, 64, 3};  // conv2.weight
  EXPECT_EQ(
      error_of(safetensors_of(parts, false)),
      "input: conv2.weight: expected f32 or f16 [64, 128, 3], file has f32 [128, 64, 3]; use the weights of "
      "the 16 kHz Silero VAD, version 5 or 6");
  parts = parts_of(v6_);
  parts.erase(parts.begin() + 12);
  EXPECT_EQ(
      error_of(safetensors_of(parts, false)),
      "input: no tensor lstm_cell.bias_hh of shape [512]; expected the weights of the 16 kHz Silero VAD, "
      "version 5 or 6");
  parts = parts_of(v6_);
  parts.push_back({"classifier.weight", {1}, &v6_.head_bias});
  EXPECT_EQ(error_of(safetensors_of(parts, false)),
            "input: tensor classifier.weight is not part of the 16 kHz Silero VAD, version 5 or 6");
  parts = parts_of(v6_);
  parts.push_back({"vad8k.encoder.0.weight", {1}, &v6_.head_bias});
  EXPECT_EQ(error_of(safetensors_of(parts, false)), "loaded");  // the network for 8 kHz beside it
  parts.push_back({"head.bias", {1}, &v6_.head_bias});
  EXPECT_NE(error_of(safetensors_of(parts, false)).find("are both final_conv.bias"), std::string::npos);

  SileroWeights broken = v6_;
  broken.conv_bias[1][7] = std::nanf("");
  EXPECT_NE(error_of(safetensors_of(parts_of(broken), false)).find("conv2.bias holds nan"),
            std::string::npos);
  broken = v6_;
  broken.basis[1000] += 0.01f;
  EXPECT_NE(error_of(safetensors_of(parts_of(broken), false)).find("basis"), std::string::npos);
}

TEST_F(SileroWeightsTest, BrokenSafetensorsHeads) {
  const auto change = [&](const std::string& tensor, const std::string& key, const nlohmann::json& value) {
    return error_of(
        safetensors_of(parts_of(v6_), false, [&](nlohmann::json& header) { header[tensor][key] = value; }));
  };
  EXPECT_NE(change("conv1.bias", "dtype", "BF16").find("neither F32 nor F16"), std::string::npos);
  for (const nlohmann::json& offsets :
       {nlohmann::json{0, 1}, nlohmann::json{512, 0}, nlohmann::json{-512, 0}, nlohmann::json{0, 1u << 31},
        nlohmann::json{0}, nlohmann::json("x")}) {
    EXPECT_NE(change("conv1.bias", "data_offsets", offsets).find("conv1.bias"), std::string::npos) << offsets;
  }
  for (const nlohmann::json& shape : {nlohmann::json{-128}, nlohmann::json{1e9}, nlohmann::json("x"),
                                      nlohmann::json{2147483647, 2147483647, 2147483647, 4}}) {
    EXPECT_NE(change("conv1.bias", "shape", shape).find("conv1.bias"), std::string::npos) << shape;
  }
  EXPECT_NE(error_of(std::string("\xff\xff\xff\xff\xff\xff\xff\xff{", 9)).find("header"), std::string::npos);
  EXPECT_NE(error_of(std::string("\x03\0\0\0\0\0\0\0{]}", 11)).find("JSON"), std::string::npos);
  EXPECT_NE(error_of("").find("neither GGUF"), std::string::npos);
  EXPECT_NE(error_of("a text").find("neither GGUF"), std::string::npos);
}

TEST_F(SileroWeightsTest, EveryTruncationIsRefused) {
  for (const std::string kind : {"v6.2", "bin", "gguf"}) {
    const std::string& bytes = files_[kind];
    for (size_t n = 0; n < bytes.size(); n += n < 6000 ? 1 : 9973) {
      const auto weights = parse(bytes.substr(0, n));
      ASSERT_FALSE(weights) << kind << " of " << n << " bytes";
      ASSERT_LT(weights.error().message.size(), 600u);
    }
  }
}

TEST_F(SileroWeightsTest, FlippedBitsAreRefusedOrLoaded) {
  for (const std::string kind : {"v6.2", "bin", "gguf"}) {
    std::string bytes = files_[kind];
    int n_refused = 0;
    for (size_t at = 0; at < bytes.size(); at += at < 2500 ? 7 : 60013) {
      const char before = bytes[at];
      bytes[at] = static_cast<char>(before ^ (1 << at % 8));
      n_refused += !parse(bytes).has_value();
      bytes[at] = before;
    }
    EXPECT_GT(n_refused, 10) << kind;
    EXPECT_TRUE(parse(bytes)) << kind;
  }
}

TEST_F(SileroWeightsTest, AMissingFileIsNamed) {
  const auto weights = read_silero_weights(folder_ / "none.gguf");
  ASSERT_FALSE(weights);
  EXPECT_NE(weights.error().message.find("none.gguf"), std::string::npos);
}

TEST(FindVadTest, LooksWhereTheProductDoes) {
  const TemporaryFolder bundle, user;
  ::unsetenv("ELIZA_VAD_MODEL_PATH");
  const auto touch = [](const std::filesystem::path& path) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << "x";
    return path;
  };
  const auto missing = find_vad(bundle.path(), user.path());
  ASSERT_FALSE(missing);
  for (const auto& folder : {bundle.path(), user.path()}) {
    for (const std::string name : {"silero-vad-v5.1.2.ggml.bin", "silero-vad-v5.gguf"}) {
      EXPECT_NE(missing.error().message.find((folder / "vad" / name).string()), std::string::npos);
    }
  }
  EXPECT_NE(missing.error().message.find("ELIZA_VAD_MODEL_PATH"), std::string::npos);

  const auto named = touch(bundle / "elsewhere.gguf");
  ::setenv("ELIZA_VAD_MODEL_PATH", named.c_str(), 1);
  EXPECT_EQ(*find_vad(bundle.path(), user.path()), named);
  const auto of_user = touch(user / "vad/silero-vad-v5.gguf");
  EXPECT_EQ(*find_vad(bundle.path(), user.path()), of_user);
  EXPECT_EQ(*find_vad(bundle.path()), named);
  const auto second = touch(bundle / "vad/silero-vad-v5.gguf");
  EXPECT_EQ(*find_vad(bundle.path(), user.path()), second);
  const auto first = touch(bundle / "vad/silero-vad-v5.1.2.ggml.bin");
  EXPECT_EQ(*find_vad(bundle.path(), user.path()), first);
  ::unsetenv("ELIZA_VAD_MODEL_PATH");
}

}  // namespace
}  // namespace parlance::test
