#include "base/parameter.h"

#include <gtest/gtest.h>

#include <set>

#include "base/result.h"

namespace parlance {
namespace {

std::string in_brackets(std::string_view message) {
  return replace_marks(message, [](Parameter parameter, std::string_view value) {
    return fmt::format("[{}|{}]", id_of(parameter), value);
  });
}

TEST(Parameters, HaveIdsOfTheirOwn) {
  std::set<std::string_view> ids;
  for (size_t i = 0; i < kParameterCount; ++i) {
    const auto parameter = static_cast<Parameter>(i);
    EXPECT_TRUE(ids.insert(id_of(parameter)).second) << id_of(parameter);
    EXPECT_EQ(first_parameter(mark_of(parameter)), parameter);
  }
  EXPECT_EQ(id_of(Parameter::model), "model");
  EXPECT_EQ(id_of(Parameter::device), "device");
  EXPECT_EQ(id_of(Parameter::max_tokens), "max_tokens");
  EXPECT_EQ(id_of(Parameter::format), "format");
}

TEST(Parameters, AMessageNamesThem) {
  const Result<void> result = fail(ErrorCode::invalid_argument, "{} tokens; raise {} or use {}", 7,
                                   Parameter::ctx_size, set_to(Parameter::gpu_layers, 12));
  const std::string& message = result.error().message;
  EXPECT_EQ(in_brackets(message), "7 tokens; raise [ctx_size|] or use [gpu_layers|12]");
  EXPECT_EQ(without_marks(message), "7 tokens; raise ctx_size or use gpu_layers=12");
  EXPECT_EQ(first_parameter(message), Parameter::ctx_size);
}

TEST(Parameters, AMessageOfAMessageKeepsThem) {
  const std::string inner = fmt::format("no room; lower {}", Parameter::ctx_size);
  EXPECT_EQ(in_brackets(fmt::format("question 3: {}, or {}", inner, set_to(Parameter::device, "cpu"))),
            "question 3: no room; lower [ctx_size|], or [device|cpu]");
}

TEST(Parameters, OtherTextStaysAsItIs) {
  for (const std::string text : {"", "plain", "{ctx_size}", "ctx_size", "\x1e",
                                 "a\x1e"
                                 "b\x1e"
                                 "c",
                                 "\x1e\x1e", "\x1f",
                                 "\x1e"
                                 "ctx_sizes\x1e",
                                 "\x1e"
                                 "ctx_size"}) {
    EXPECT_EQ(without_marks(text), text);
    EXPECT_EQ(first_parameter(text), std::nullopt);
  }
  // An edge that opens nothing hides no mark behind it.
  EXPECT_EQ(without_marks("x\x1e" + mark_of(Parameter::vad)), "x\x1evad");
}

}  // namespace
}  // namespace parlance
