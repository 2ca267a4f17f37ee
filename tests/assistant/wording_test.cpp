#include "assistant/wording.h"

#include <gtest/gtest.h>

#include <set>

namespace parlance {
namespace {

TEST(Wording, EveryDoorHasItsWords) {
  const std::string message = fmt::format("shorten it, lower {} or use {} with {}", Parameter::max_tokens,
                                          set_to(Parameter::device, "cpu"), set_to(Parameter::top_k, 40));
  EXPECT_EQ(worded(message, Door::command_line),
            "shorten it, lower --max-tokens or use --device cpu with --top-k 40");
  EXPECT_EQ(worded(message, Door::request),
            "shorten it, lower \"max_tokens\" or use --device cpu with \"top_k\": 40");
  EXPECT_EQ(worded(message, Door::c_library),
            "shorten it, lower max_tokens or use device = cpu with top_k = 40");
}

TEST(Wording, WordsInJsonStandInQuotationMarks) {
  EXPECT_EQ(worded(set_to(Parameter::format, "json"), Door::request), "\"response_format\": \"json\"");
  EXPECT_EQ(worded(set_to(Parameter::model, "FOLDER"), Door::request), "\"model\": FOLDER");
  EXPECT_EQ(worded(set_to(Parameter::temperature, 0.5), Door::request), "\"temperature\": 0.5");
}

TEST(Wording, EveryParameterHasAFlagOfItsOwn) {
  std::set<std::string> flags;
  for (size_t i = 0; i < kParameterCount; ++i) {
    const auto parameter = static_cast<Parameter>(i);
    const std::string flag = worded(mark_of(parameter), Door::command_line);
    EXPECT_TRUE(flag.starts_with("--")) << flag;
    EXPECT_TRUE(flags.insert(flag).second) << flag;
    for (const Door door : {Door::request, Door::c_library}) {
      EXPECT_FALSE(worded(mark_of(parameter), door).empty()) << flag;
    }
  }
}

TEST(Wording, TellsWhichParameterAnErrorIsAbout) {
  const Result<void> result = fail(ErrorCode::invalid_argument, "{} must be in (0, 1], got 2; see {}",
                                   Parameter::top_p, Parameter::top_k);
  EXPECT_EQ(named_parameter(result.error(), Door::command_line), "--top-p");
  EXPECT_EQ(named_parameter(result.error(), Door::request), "top_p");
  EXPECT_EQ(named_parameter(result.error(), Door::c_library), "top_p");
  const Error about_start{ErrorCode::out_of_memory, mark_of(Parameter::gpu_layers)};
  EXPECT_EQ(named_parameter(about_start, Door::request), std::nullopt);
  EXPECT_EQ(named_parameter(about_start, Door::c_library), "n_gpu_layers");
  EXPECT_EQ(named_parameter({ErrorCode::io, "plain"}, Door::command_line), std::nullopt);
}

}  // namespace
}  // namespace parlance
