// Which tensor gets which type, on files of tensor records alone.
#include "models/mixture.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "gguf/writer.h"
#include "gtest/gtest.h"
#include "support/temporary_folder.h"

namespace parlance {
namespace {

struct Record {
  std::string name;
  std::vector<int64_t> ne;
  DType dtype = DType::f16;
};

using Types = std::map<std::string, std::string>;  // tensor to type name, "*" after a fallback

Types types_of(const std::vector<Record>& records, const std::string& mixture_name, uint32_t n_head = 1,
               uint32_t n_head_kv = 1) {
  GgufWriter writer;
  writer.set_string("general.architecture", "llama");
  writer.set_u32("llama.attention.head_count", n_head);
  writer.set_u32("llama.attention.head_count_kv", n_head_kv);
  for (const Record& record : records) writer.add_tensor(record.name, record.dtype, record.ne);
  const test::TemporaryFolder folder;
  const std::filesystem::path path = folder / "mixture.gguf";
  EXPECT_TRUE(writer.begin(path));
  for (const Record& record : records) {
    int64_t n_rows = 1;
    for (size_t i = 1; i < record.ne.size(); ++i) n_rows *= record.ne[i];
    EXPECT_TRUE(writer.write_tensor(
        std::vector<std::byte>(row_bytes(record.dtype, record.ne[0]) * static_cast<size_t>(n_rows))));
  }
  EXPECT_TRUE(writer.finish());
  const auto file = GgufFile::open(path);
  EXPECT_TRUE(file) << file.error().message;
  const Mixture* mixture = find_mixture(mixture_name);
  EXPECT_TRUE(mixture) << mixture_name;
  Types types;
  const std::vector<TargetType> targets = target_types(*file, *mixture);
  for (size_t i = 0; i < targets.size(); ++i) {
    types[std::string(file->tensors()[i].name)] =
        std::string(name_of(targets[i].dtype)) + (targets[i].is_fallback ? "*" : "");
  }
  return types;
}

std::vector<Record> layers(const std::string& tensor, int n_layer) {
  std::vector<Record> records;
  for (int i = n_layer - 1; i >= 0; --i) {  // a file need not be in the order of layers
    records.push_back({"blk." + std::to_string(i) + "." + tensor, {256, 2}});
  }
  return records;
}

std::set<int> layers_with(const Types& types, const std::string& tensor, const std::string& type) {
  std::set<int> found;
  for (int i = 0; types.contains("blk." + std::to_string(i) + "." + tensor); ++i) {
    if (types.at("blk." + std::to_string(i) + "." + tensor) == type) found.insert(i);
  }
  return found;
}

TEST(Mixture, NamesAreFoundInAnyCase) {
  ASSERT_TRUE(find_mixture("q4_k_m"));
  EXPECT_EQ(find_mixture("q4_k_m"), find_mixture("Q4_K_M"));
  EXPECT_EQ(find_mixture("Q4_K_M")->file_type, 15u);
  EXPECT_EQ(find_mixture("Q4_K"), nullptr);
  EXPECT_EQ(find_mixture(""), nullptr);
  for (const char* name : {"F16", "BF16", "Q8_0", "Q4_0", "Q4_K_M", "Q4_K_S", "Q5_K_M", "Q6_K"}) {
    EXPECT_NE(mixture_names().find(name), std::string::npos) << name;
    EXPECT_TRUE(find_mixture(name)) << name;
  }
}

TEST(Mixture, SmallAndSensitiveTensorsStay) {
  const std::vector<Record> kept = {
      {"blk.0.attn_norm.weight", {256}, DType::f32},       {"blk.0.attn_q.bias", {256}, DType::f32},
      {"blk.0.ssm_conv1d.weight", {4, 256}, DType::f32},   {"blk.0.ssm_a", {2, 2}, DType::f32},
      {"blk.0.ffn_gate_inp.weight", {256, 8}, DType::f32}, {"rows_norm.weight", {256, 2}, DType::f16},
      {"one_row.weight", {256, 1}, DType::bf16},
  };
  for (const char* mixture : {"F16", "Q8_0", "Q4_K_M"}) {
    for (const auto& [name, type] : types_of(kept, mixture)) {
      const auto record = std::ranges::find(kept, name, &Record::name);
      EXPECT_EQ(type, name_of(record->dtype)) << name << " as " << mixture;
    }
  }
}

TEST(Mixture, OutputAndEmbedding) {
  const std::vector<Record> untied = {{"token_embd.weight", {256, 8}}, {"output.weight", {256, 8}}};
  const std::vector<Record> tied = {{"token_embd.weight", {256, 8}}};
  EXPECT_EQ(types_of(untied, "Q4_0"), (Types{{"token_embd.weight", "q4_0"}, {"output.weight", "q6_k"}}));
  EXPECT_EQ(types_of(tied, "Q4_0"), (Types{{"token_embd.weight", "q6_k"}}));
  EXPECT_EQ(types_of(untied, "Q8_0"), (Types{{"token_embd.weight", "q8_0"}, {"output.weight", "q8_0"}}));
  EXPECT_EQ(types_of(untied, "BF16"), (Types{{"token_embd.weight", "bf16"}, {"output.weight", "bf16"}}));
  const std::vector<Record> narrow = {{"token_embd.weight", {96, 8}}, {"output.weight", {96, 8}}};
  EXPECT_EQ(types_of(narrow, "Q4_K_M"), (Types{{"token_embd.weight", "q5_0*"}, {"output.weight", "q8_0"}}));
  // The rule for the output looks at the base type's blocks, and its answer falls back like any other.
  EXPECT_EQ(types_of(narrow, "Q4_0"), (Types{{"token_embd.weight", "q4_0"}, {"output.weight", "q8_0*"}}));
}

TEST(Mixture, MoreBitsForTheFirstTheLastAndEveryThirdLayer) {
  const std::set<int> more = {0, 1, 2, 5, 8, 11, 14, 17, 20, 23, 24, 25, 26, 27};
  for (const char* tensor : {"attn_v.weight", "ffn_down.weight"}) {
    const Types q4 = types_of(layers(tensor, 28), "Q4_K_M");
    EXPECT_EQ(layers_with(q4, tensor, "q6_k"), more) << tensor;
    EXPECT_EQ(layers_with(q4, tensor, "q4_k").size(), 28 - more.size()) << tensor;
    EXPECT_EQ(layers_with(types_of(layers(tensor, 28), "Q5_K_M"), tensor, "q6_k"), more) << tensor;
  }
  const Types other = types_of(layers("attn_k.weight", 28), "Q4_K_M");
  EXPECT_EQ(layers_with(other, "attn_k.weight", "q4_k").size(), 28u);
}

TEST(Mixture, FusedAndSeparateValuesAreCountedTogether) {
  std::vector<Record> records;
  for (int i = 0; i < 4; ++i) {
    const char* kind = i == 3 ? ".attn_v.weight" : ".attn_qkv.weight";
    records.push_back({"blk." + std::to_string(i) + kind, {256, 2}});
  }
  EXPECT_EQ(types_of(records, "Q4_K_M"), (Types{{"blk.0.attn_qkv.weight", "q4_k"},
                                                {"blk.1.attn_qkv.weight", "q4_k"},
                                                {"blk.2.attn_qkv.weight", "q6_k"},
                                                {"blk.3.attn_v.weight", "q6_k"}}));
}

TEST(Mixture, SmallerVariants) {
  EXPECT_EQ(layers_with(types_of(layers("attn_v.weight", 28), "Q4_K_S"), "attn_v.weight", "q5_k"),
            (std::set<int>{0, 1, 2, 3}));
  EXPECT_EQ(layers_with(types_of(layers("ffn_down.weight", 28), "Q4_K_S"), "ffn_down.weight", "q5_k"),
            (std::set<int>{0, 1, 2}));
  const Types q3 = types_of(layers("ffn_down.weight", 32), "Q3_K_M");
  EXPECT_EQ(layers_with(q3, "ffn_down.weight", "q5_k"), (std::set<int>{0, 1}));
  EXPECT_EQ(layers_with(q3, "ffn_down.weight", "q4_k").size(), 30u);
  EXPECT_EQ(types_of(layers("attn_output.weight", 1), "Q3_K_M").begin()->second, "q4_k");
  EXPECT_EQ(types_of(layers("attn_output.weight", 1), "Q2_K").begin()->second, "q3_k");
}

TEST(Mixture, SharedValuesGetMoreBits) {
  EXPECT_EQ(types_of(layers("attn_v.weight", 1), "Q2_K", 8, 2).begin()->second, "q4_k");
  EXPECT_EQ(types_of(layers("attn_v.weight", 1), "Q2_K", 6, 2).begin()->second, "q3_k");
  EXPECT_EQ(types_of(layers("attn_v.weight", 1), "IQ4_XS", 8, 2).begin()->second, "q5_k");
  EXPECT_EQ(types_of(layers("attn_v.weight", 1), "IQ4_XS", 8, 0).begin()->second, "iq4_xs");
}

TEST(Mixture, RowsThatDoNotDivideIntoBlocksFallBack) {
  const std::map<std::string, std::string> by_32 = {
      {"Q2_K", "q4_0*"},     {"Q3_K_M", "q4_0*"}, {"Q4_K_S", "q5_0*"}, {"Q5_K_S", "q5_1*"}, {"Q6_K", "q8_0*"},
      {"IQ4_XS", "iq4_nl*"}, {"Q8_0", "q8_0"},    {"Q4_0", "q4_0"},    {"F16", "f16"}};
  for (const auto& [mixture, type] : by_32) {
    EXPECT_EQ(types_of({{"blk.0.attn_q.weight", {96, 2}, DType::f32}}, mixture).begin()->second, type)
        << mixture;
    if (mixture == "F16") continue;
    EXPECT_EQ(types_of({{"blk.0.attn_q.weight", {72, 2}, DType::f32}}, mixture).begin()->second, "f16*")
        << mixture;
  }
}

}  // namespace
}  // namespace parlance
