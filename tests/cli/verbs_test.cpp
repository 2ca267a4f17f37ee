// Every verb, from its arguments to what it prints.
#include <fstream>

#include "cli/cli_run.h"
#include "support/fixtures.h"
#include "support/json_file.h"
#include "support/temporary_folder.h"
#include "support/tiny_model.h"

namespace parlance {
namespace {

using test::run;

class VerbsTest : public testing::Test {
 protected:
  void SetUp() override {
    test::write_tiny_model(folder_ / "tiny.gguf");
    model_ = (folder_ / "tiny.gguf").string();
  }

  const test::TemporaryFolder folder_;
  std::string model_;
};

TEST_F(VerbsTest, ChatAnswersOnStandardOutput) {
  const auto outcome =
      run({"chat", "-m", model_, "-t", "1", "-p", "Hello", "-n", "6", "--greedy", "--ignore-eos"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  EXPECT_TRUE(outcome.out.ends_with("\n"));
  const auto again =
      run({"chat", "-m", model_, "-t", "1", "-p", "Hello", "-n", "6", "--temp", "0", "--ignore-eos"});
  EXPECT_EQ(again.out, outcome.out);
}

TEST_F(VerbsTest, ChatReadsItsPromptFromAnywhere) {
  std::ofstream(folder_ / "prompt.txt") << "Hello\n";
  const std::vector<std::string> how = {"chat", "-m", model_,     "-t",           "1",
                                        "-n",   "6",  "--greedy", "--ignore-eos", "--json"};
  const auto with = [&](std::vector<std::string> more, const std::string& input) {
    std::vector<std::string> arguments = how;
    arguments.insert(arguments.end(), more.begin(), more.end());
    const auto outcome = run(arguments, input);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.json()["text"];
  };
  const auto expected = with({"-p", "Hello"}, "");
  EXPECT_EQ(with({}, "Hello\n"), expected);
  EXPECT_EQ(with({"-p", "-"}, "Hello\n"), expected);
  EXPECT_EQ(with({"-f", "-"}, "Hello\n"), expected);
  EXPECT_EQ(with({"-f", (folder_ / "prompt.txt").string()}, "not this"), expected);
  EXPECT_NE(with({"-p", "Hello", "--system", "Speak."}, ""), expected);
}

TEST_F(VerbsTest, ChatPrintsOneObject) {
  const auto outcome =
      run({"chat", "-m", model_, "-p", "Hello", "-n", "6", "--seed", "3", "--ignore-eos", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto json = outcome.json();
  EXPECT_EQ(json["model"], "Tiny test model");
  EXPECT_EQ(json["finish_reason"], "length");
  EXPECT_EQ(json["answer_tokens"], 6);
  EXPECT_EQ(json["seed"], 3);
  EXPECT_GT(json["prompt_tokens"], 5);
  EXPECT_EQ(json["prompt_tokens_cached"], 0);
  EXPECT_GT(json["prefill_ms"], 0);
  EXPECT_GT(json["decode_tokens_per_second"], 0);
}

TEST_F(VerbsTest, ChatTakesTheSameSeedToTheSameAnswer) {
  const auto answer = [&](const char* seed) {
    return run({"chat", "-m", model_, "-p", "Hello", "-n", "20", "--temp", "2", "--seed", seed,
                "--ignore-eos"})
        .out;
  };
  EXPECT_EQ(answer("5"), answer("5"));
  EXPECT_NE(answer("5"), answer("6"));
}

TEST_F(VerbsTest, ChatObeysLogitBias) {
  const auto outcome =
      run({"chat", "-m", model_, "-p", "Hello", "-n", "3", "--greedy", "--logit-bias", "88+1000"});
  EXPECT_EQ(outcome.out, "XXX\n") << outcome.err;
  const auto stopped = run({"chat", "-m", model_, "-p", "Hello", "-n", "3", "--greedy", "--logit-bias",
                            "88+1000", "--stop", "XX"});
  EXPECT_EQ(stopped.out, "") << stopped.err;
}

TEST_F(VerbsTest, ChatOfRawTextUsesNoTemplate) {
  const auto outcome = run({"chat", "-m", model_, "--raw", "-p", "abc", "-n", "1", "--ignore-eos", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.json()["prompt_tokens"], 3);
}

TEST_F(VerbsTest, ChatSaysHowFastItWas) {
  const auto outcome = run({"chat", "-m", model_, "-p", "Hello", "-n", "4", "--ignore-eos", "--verbose"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_NE(outcome.err.find("answer tokens"), std::string::npos) << outcome.err;
}

TEST_F(VerbsTest, ChatSaysThatTheContextIsFull) {
  const auto outcome =
      run({"chat", "-m", model_, "-p", "Hello", "-c", "64", "--ignore-eos", "--max-tokens", "1000"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("context of 64 tokens is full"), std::string::npos) << outcome.err;
}

TEST_F(VerbsTest, ChatWarnsOfTextThatIsNoUtf8) {
  const auto outcome = run({"chat", "-m", model_, "-p", "a\xff\xfe", "-n", "1", "--ignore-eos"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("not valid UTF-8 from byte 1"), std::string::npos) << outcome.err;
}

TEST_F(VerbsTest, ChatWarnsOfAContextBeyondTraining) {
  const auto outcome = run({"chat", "-m", model_, "-p", "a", "-c", "1024", "-n", "1", "--ignore-eos"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("512 tokens this model was trained for"), std::string::npos) << outcome.err;
}

TEST_F(VerbsTest, ChatKeepsItsCacheInEveryFormat) {
  for (const char* type : {"f32", "f16", "bf16", "q8_0"}) {
    const auto outcome =
        run({"chat", "-m", model_, "-p", "Hello", "-n", "2", "--ignore-eos", "-ctk", type, "-ctv", type});
    EXPECT_EQ(outcome.code, 0) << type << ": " << outcome.err;
  }
}

TEST_F(VerbsTest, ChatTakesCachePolicies) {
  const std::vector<std::vector<std::string>> policies = {
      {"--cache", "exact", "--cache-recent", "64", "-ctk", "q8_0"},
      {"-ctk", "tbq4_0", "-ctv", "tbq3_0", "--cache-layers", "0:q8_0/f16", "--cache-encoder", "compatible"},
      {"--cache-sink", "1", "-ctv", "q4_0", "--cache-rotation", "on", "--cache-sketch", "unbiased"}};
  for (const auto& policy : policies) {
    std::vector<std::string> args = {"chat", "-m", model_, "-p", "Hello", "-n", "2", "--ignore-eos"};
    args.insert(args.end(), policy.begin(), policy.end());
    const auto outcome = run(args);
    EXPECT_EQ(outcome.code, 0) << policy.front() << ": " << outcome.err;
  }
  const auto refused = run({"chat", "-m", model_, "-p", "Hello", "--cache-layers", "99:q8_0"});
  EXPECT_NE(refused.err.find("layer 99"), std::string::npos) << refused.err;
  const auto misspelt = run({"chat", "-m", model_, "-p", "Hello", "--cache", "tiny"});
  EXPECT_NE(misspelt.err.find("small, balanced, auto, exact"), std::string::npos) << misspelt.err;
}

TEST_F(VerbsTest, ChatGoesOnFromACacheFile) {
  const std::string file = model_ + ".cache";
  const std::vector<std::string> args = {"chat",   "-m",           model_, "-p", std::string(200, 'a'),
                                         "--raw",  "--greedy",     "-n",   "8",  "--ignore-eos",
                                         "--json", "--cache-file", file};
  const auto first = run(args), second = run(args);
  ASSERT_EQ(first.code, 0) << first.err;
  ASSERT_EQ(second.code, 0) << second.err;
  EXPECT_EQ(first.json()["prompt_tokens_cached"], 0);
  EXPECT_GE(second.json()["prompt_tokens_cached"], 192);
  EXPECT_EQ(second.json()["text"], first.json()["text"]);
  EXPECT_EQ(second.err, "");
}

TEST_F(VerbsTest, InfoShowsTheFile) {
  const auto outcome = run({"info", model_, "--tensors"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  for (const char* words : {"Tiny test model", "qwen3.block_count", "blk.0.attn_q.weight", "64 x 259",
                            "string [259]", "--cache exact", "-ctk q8_0 -ctv q8_0"}) {
    EXPECT_NE(outcome.out.find(words), std::string::npos) << words;
  }
  EXPECT_EQ(run({"info", model_}).out.find("blk.0.attn_q.weight"), std::string::npos);
}

TEST_F(VerbsTest, InfoCountsBytes) {
  const auto outcome = run({"info", model_, "--json", "--tensors"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto json = outcome.json();
  EXPECT_EQ(json["file_bytes"], std::filesystem::file_size(model_));
  EXPECT_EQ(json["metadata"]["general.architecture"], "qwen3");
  EXPECT_EQ(json["metadata"]["tokenizer.ggml.tokens"]["length"], 259);
  EXPECT_EQ(json["metadata"]["tokenizer.ggml.tokens"]["first"].size(), 6u);
  EXPECT_EQ(json["tensors"].size(), 13u);
  EXPECT_EQ(json["tensors"][0]["shape"], nlohmann::json({64, 259}));
  // One layer, one head of 32 for keys and for values, in whole pages of 256 positions.
  const auto& full = json["memory"].back();
  EXPECT_EQ(full["n_ctx"], test::kTinyContext);
  EXPECT_EQ(full["cache_bytes"]["f16"], test::kTinyContext * 2 * 32 * 2);
  EXPECT_EQ(full["cache_bytes"]["q8_0"], test::kTinyContext * 2 * 34);
  EXPECT_GT(full["workspace_bytes"], 0);
}

TEST_F(VerbsTest, InfoShowsArchitecturesThatDoNotRun) {
  test::write_tiny_model(folder_ / "other.gguf", {.architecture = "mamba"});
  const auto outcome = run({"info", (folder_ / "other.gguf").string()});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("mamba"), std::string::npos);
  EXPECT_NE(outcome.out.find("not known"), std::string::npos);
}

TEST_F(VerbsTest, InfoOfEveryFixture) {
  PARLANCE_REQUIRE_FIXTURES("text/models");
  for (const auto& path : test::fixture_files("text/models", ".gguf")) {
    SCOPED_TRACE(path);
    EXPECT_EQ(run({"info", path.string()}).code, 0);
    const auto outcome = run({"info", path.string(), "--json"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_TRUE(outcome.json().contains("memory"));
  }
}

TEST_F(VerbsTest, TokenizeShowsTokens) {
  const auto outcome = run({"tokenize", "-m", model_, "-p", "hey\n"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  for (const char* words : {"\"he\"", "\"y\"", "\"\\n\"", "3 tokens"}) {
    EXPECT_NE(outcome.out.find(words), std::string::npos) << words << "\n" << outcome.out;
  }
  EXPECT_EQ(run({"tokenize", "-m", model_, "--ids"}, "hey").out, "258 121\n");
  const auto json = run({"tokenize", "-m", model_, "--json", "-p", "hey"}).json();
  EXPECT_EQ(json["ids"], nlohmann::json({258, 121}));
  EXPECT_EQ(json["pieces"], nlohmann::json({"he", "y"}));
}

TEST_F(VerbsTest, TokenizeReadsControlTokensWhenAsked) {
  EXPECT_EQ(run({"tokenize", "-m", model_, "--ids", "--parse-special", "-p", "<|im_end|>"}).out, "257\n");
  EXPECT_NE(run({"tokenize", "-m", model_, "--ids", "-p", "<|im_end|>"}).out, "257\n");
}

TEST_F(VerbsTest, TokenizeDecodes) {
  EXPECT_EQ(run({"tokenize", "-m", model_, "--decode", "-p", "258 121"}).out, "hey");
  EXPECT_EQ(run({"tokenize", "-m", model_, "--decode"}, "[258, 121]\n").out, "hey");
  EXPECT_EQ(run({"tokenize", "-m", model_, "--decode", "-p", "121 257"}).out, "y<|im_end|>");
  EXPECT_EQ(run({"tokenize", "-m", model_, "--decode", "--no-special", "-p", "121 257"}).out, "y");
  EXPECT_EQ(run({"tokenize", "-m", model_, "--decode", "--json", "-p", "258"}).json()["text"], "he");
}

TEST_F(VerbsTest, TokenizeGivesBackWhatItRead) {
  const std::string text = "Ünïcødé\n\twith \"all\" sorts of\\things 🙂";
  const auto ids = run({"tokenize", "-m", model_, "--ids", "-f", "-"}, text);
  EXPECT_EQ(run({"tokenize", "-m", model_, "--decode", "-p", "-"}, ids.out).out, text);
}

TEST_F(VerbsTest, QuantizeWritesAModelThatRuns) {
  const std::string out = (folder_ / "out.gguf").string();
  const auto outcome = run({"quantize", model_, out, "q8_0", "-t", "1"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  for (const char* words : {"before", "after", "q8_0", out.c_str()}) {
    EXPECT_NE(outcome.out.find(words), std::string::npos) << words << "\n" << outcome.out;
  }
  EXPECT_LT(std::filesystem::file_size(out), std::filesystem::file_size(model_));
  EXPECT_EQ(run({"chat", "-m", out, "-p", "Hello", "-n", "2"}).code, 0);
  const auto json = run({"quantize", model_, out, "q4_0", "--json"}).json();
  EXPECT_LT(json["bytes_after"], json["bytes_before"]);
}

TEST_F(VerbsTest, BenchHoldsSpeedAgainstTheMachine) {
  const auto outcome =
      run({"bench", "-m", model_, "-t", "1", "-p", "32", "-n", "4", "-d", "0,64", "-r", "1", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto bench = outcome.json()["runs"][0];
  EXPECT_EQ(bench["threads"], 1);
  EXPECT_GT(bench["peaks"]["read_bytes_per_second"], 0);
  EXPECT_GT(bench["peak_memory_bytes"], 0);
  ASSERT_EQ(bench["tests"].size(), 4u);
  for (const auto& t : bench["tests"]) {
    EXPECT_GT(t["tokens_per_second"], 0);
    EXPECT_GT(t["share_of_peak"], 0);
    EXPECT_LE(t["tokens_per_second_min"], t["tokens_per_second_max"]);
  }
  // A decoded token reads all weights; at a depth it reads keys and values besides.
  const double weights = 4.0 * (64 * 259 + 2 * 64 * 64 + 2 * 64 * 32 + 3 * 64 * 96 + 3 * 64 + 2 * 32);
  const double shallow = bench["tests"][2]["bytes_per_token"], deep = bench["tests"][3]["bytes_per_token"];
  EXPECT_NEAR(shallow, weights, weights * 0.02);
  EXPECT_NEAR(deep - shallow, 64 * 2 * 32 * 2, 1);
  const double products = 2.0 * (64 * 259 + 2 * 64 * 64 + 2 * 64 * 32 + 3 * 64 * 96);
  EXPECT_NEAR(bench["tests"][2]["ops_per_token"], products, products * 0.02);
}

TEST_F(VerbsTest, BenchPrintsATable) {
  const auto outcome = run({"bench", "-m", model_, "-t", "1,2", "-p", "8", "-n", "2", "-d", "0", "-r", "1"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  for (const char* words :
       {"1 thread", "2 threads", "prefill 8 @ 0", "decode 2 @ 0", "of peak", "peak memory"}) {
    EXPECT_NE(outcome.out.find(words), std::string::npos) << words << "\n" << outcome.out;
  }
}

TEST_F(VerbsTest, BenchLeavesOutWhatDoesNotFit) {
  const auto outcome =
      run({"bench", "-m", model_, "-t", "1", "-p", "8", "-n", "0", "-d", "0,4096", "-r", "1", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.json()["runs"][0]["tests"].size(), 1u);
  EXPECT_NE(outcome.err.find("prefill 8 @ 4096 is left out"), std::string::npos) << outcome.err;
}

TEST_F(VerbsTest, BenchTimesLoading) {
  const auto outcome = run({"bench", "-m", model_, "-t", "1", "--load", "-r", "1", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.json()["loading"][0].size(), 2u);
  EXPECT_EQ(run({"bench", "-m", model_, "-t", "1", "--load", "-r", "1"}).code, 0);
}

TEST_F(VerbsTest, EvalScoresByCategory) {
  // With this bias the reply to anything is XXX.
  std::ofstream(folder_ / "eval.jsonl")
      << R"({"id": "1", "category": "a", "messages": [{"role": "user", "content": "q"}], "answers": ["never said"]})"
      << "\n"
      << R"({"id": "2", "category": "b", "messages": [{"role": "user", "content": "r"}], "answers": ["nor this"]})"
      << "\n";
  const auto outcome = run({"eval", "-m", model_, "-t", "1", "-n", "4", "--show-failures"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  for (const char* words : {"never said", "nor this", "category", "0.0 %", "all"}) {
    EXPECT_NE(outcome.out.find(words), std::string::npos) << words << "\n" << outcome.out;
  }
  const auto json =
      run({"eval", "-m", model_, "-t", "1", "-n", "4", "--category", "b", "--show-failures", "--json"})
          .json();
  EXPECT_EQ(json["all"]["questions"], 1);
  ASSERT_EQ(json["failures"].size(), 1u);
  const std::string reply = json["failures"][0]["reply"];

  // The reply that the model gives counts when it is among the answers.
  std::ofstream(folder_ / "right.jsonl")
      << nlohmann::json{{"id", "1"},
                        {"category", "b"},
                        {"messages", {{{"role", "user"}, {"content", "r"}}}},
                        {"answers", {"x", reply}}};
  const auto right =
      run({"eval", (folder_ / "right.jsonl").string(), "-m", model_, "-t", "1", "-n", "4", "--json"});
  EXPECT_EQ(right.json()["all"]["right"], 1) << right.out << right.err;
  EXPECT_EQ(run({"eval", "-m", model_, "-n", "4", "--limit", "1", "--json"}).json()["all"]["questions"], 1);
}

TEST_F(VerbsTest, EvalMeasuresPerplexity) {
  const auto perplexity_of = [&](const std::string& answer) {
    std::ofstream(folder_ / "one.jsonl")
        << nlohmann::json{{"id", "1"},
                          {"category", "a"},
                          {"messages", {{{"role", "user"}, {"content", "q"}}}},
                          {"answers", {answer}}};
    const auto outcome =
        run({"eval", (folder_ / "one.jsonl").string(), "-m", model_, "-t", "1", "--perplexity", "--json"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_GT(outcome.json()["tokens"], 0);
    return outcome.json()["perplexity"].get<double>();
  };
  // With this bias the model says nothing but X.
  EXPECT_LT(perplexity_of("XXX"), perplexity_of("never"));
  EXPECT_GE(perplexity_of("XXX"), 1);
}

TEST_F(VerbsTest, DoctorReports) {
  const auto outcome = run({"doctor"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  for (const char* words :
       {"processor", "instruction set", "memory reads at", "vulkan", "cuda", "default model"}) {
    EXPECT_NE(outcome.out.find(words), std::string::npos) << words << "\n" << outcome.out;
  }
  const auto json = run({"doctor", "--json"}).json();
  EXPECT_GT(json["read_bytes_per_second"], 0);
  EXPECT_GT(json["memory_bytes"], 0);
  EXPECT_GT(json["processors_usable"], 0);
  EXPECT_FALSE(json["findings"].empty());
}

TEST_F(VerbsTest, FindTheModelOfTheEnvironment) {
  ::setenv("PARLANCE_MODEL", model_.c_str(), 1);
  const auto outcome = run({"chat", "-p", "Hello", "-n", "1", "--json"});
  ::unsetenv("PARLANCE_MODEL");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.json()["model"], "Tiny test model");
}

TEST_F(VerbsTest, FindTheModelNearTheCurrentFolder) {
  std::filesystem::create_directories(folder_ / "models/demo/text");
  std::filesystem::create_directories(folder_ / "deeper");
  std::filesystem::rename(model_, folder_ / "models/demo/text/tiny.gguf");
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder_ / "deeper");
  const auto outcome = run({"chat", "-p", "Hello", "-n", "1", "--json"});
  std::filesystem::current_path(before);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.json()["model"], "Tiny test model");
}

}  // namespace
}  // namespace parlance
