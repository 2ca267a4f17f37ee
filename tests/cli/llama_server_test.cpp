// The command line of llama.cpp's server, as programs that know that one use it.
#include "cli/llama_server.h"

#include "cli/cli_run.h"
#include "gtest/gtest.h"

namespace parlance {
namespace {

using Words = std::vector<std::string>;

TEST(LlamaServer, TheNameOfTheProgramStandsForTheVerb) {
  EXPECT_EQ(arguments_by_name("/usr/bin/llama-server", {"-m", "a.gguf"}), (Words{"serve", "-m", "a.gguf"}));
  EXPECT_EQ(arguments_by_name("llama-omnivoice-server", {}), Words{"serve"});
  EXPECT_EQ(arguments_by_name("llama-server", {"--version"}), Words{"--version"});
  EXPECT_EQ(arguments_by_name("/opt/llama-server/parlance", {"-m"}), Words{"-m"});
  EXPECT_EQ(arguments_by_name("", {"serve"}), Words{"serve"});
}

TEST(LlamaServer, HowManyAnswersAtOnceIsFoundInOrder) {
  Words remarks;
  EXPECT_EQ(parallel_by_default("8", "3", false, remarks), 8);
  EXPECT_EQ(parallel_by_default({}, "3", true, remarks), 3);
  EXPECT_EQ(parallel_by_default({}, {}, false, remarks), 4);
  EXPECT_EQ(parallel_by_default({}, {}, true, remarks), 16);
  EXPECT_TRUE(remarks.empty());
  EXPECT_EQ(parallel_by_default("0", "7", false, remarks), 7);
  EXPECT_EQ(parallel_by_default("many", "257", false, remarks), 4);
  EXPECT_EQ(remarks.size(), 3u);
}

// As a source document starts it.
TEST(LlamaServer, ItsFlagsAreTaken) {
  const auto listed = test::run({"serve",
                                 "--routes",
                                 "--metrics",
                                 "--slots",
                                 "--jinja",
                                 "-c",
                                 "8192",
                                 "-np",
                                 "4",
                                 "--cache-type-k",
                                 "turbo3_tcq",
                                 "--cache-type-v",
                                 "q4_0",
                                 "--slot-save-path",
                                 "/nowhere/kv",
                                 "--slot-prompt-similarity",
                                 "0.7",
                                 "--flash-attn",
                                 "on",
                                 "--cont-batching",
                                 "-ub",
                                 "512",
                                 "-b",
                                 "512",
                                 "-md",
                                 "none",
                                 "--draft-max",
                                 "16",
                                 "--draft-min",
                                 "0",
                                 "-ngl",
                                 "0",
                                 "-ngld",
                                 "0",
                                 "--cache-reuse",
                                 "256",
                                 "--cache-ram",
                                 "0",
                                 "--ctx-checkpoints",
                                 "8",
                                 "--kv-unified",
                                 "--mlock",
                                 "--no-webui",
                                 "--alias",
                                 "local",
                                 "--host",
                                 "127.0.0.1",
                                 "--port",
                                 "8080"});
  EXPECT_EQ(listed.code, 0) << listed.err;
  EXPECT_NE(listed.out.find("/v1/chat/completions"), std::string::npos);
  const auto refused = test::run({"serve", "--routes", "--cache-type-k", "turbo3"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.err.find("tbq3_0"), std::string::npos) << refused.err;
}

}  // namespace
}  // namespace parlance
