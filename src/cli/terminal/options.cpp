#include "cli/terminal/options.h"

#include <limits>
#include <random>

#include "base/os/file.h"
#include "base/parse_number.h"
#include "hub/model_name.h"
#include "models/model_keys.h"

namespace parlance {

namespace {

constexpr int kMaxThreads = 1024;
constexpr int64_t kMaxBatch = int64_t{1} << 16;
constexpr size_t kMostFormBytes = size_t{1} << 20;  // of a file; what is taken of it is less
constexpr float kAnyFloat = std::numeric_limits<float>::max();

// "15043+1.5", "15043-inf": a token and what is added to its logit.
Option logit_bias_option(std::vector<std::pair<int32_t, float>>& biases) {
  Option option{.names = "--logit-bias",
                .value = "TOKEN+BIAS",
                .help =
                    "Adds to the logit of a token: 15043+1 makes it likelier, 15043-inf forbids it. "
                    "'parlance tokenize' shows the numbers of tokens.",
                .fallback = {},
                .set = {},
                .repeatable = true};
  option.set = [&biases](const std::string& text) -> Result<void> {
    const size_t sign = text.find_first_of("+-");
    const std::string_view whole = text;
    const auto token = parse_number<int>(whole.substr(0, sign));
    const auto bias = sign == std::string::npos ? std::nullopt : parse_number<float>(whole.substr(sign));
    if (!token || *token < 0 || !bias || *bias != *bias) {
      return fail(ErrorCode::invalid_argument,
                  "--logit-bias: expected TOKEN+BIAS or TOKEN-BIAS such as 15043-1.5, got '{}'", text);
    }
    biases.emplace_back(*token, *bias);
    return {};
  };
  return option;
}

// A flag that takes something back.
Option switch_off(std::string name, std::string help, bool& target) {
  Option option = flag(std::move(name), std::move(help), target);
  option.set = [&target](const std::string&) -> Result<void> {
    target = false;
    return {};
  };
  return option;
}

}  // namespace

Option model_option(std::string& path) {
  return model_text_option(
      "-m, --model", "FILE",
      "The model: a GGUF file, the folder of a bundle, or hf:ORG/NAME[:QUANTISATION] of a hub, which is "
      "fetched if it is not here ('parlance pull --help' says more). Without it: the environment variable "
      "PARLANCE_MODEL, else the bundled demo model.",
      path);
}

Option threads_option(int& n_threads) {
  Option option =
      number_option<int>("-t, --threads", "N", "Threads that compute.", n_threads, 0, kMaxThreads);
  option.fallback = "one for each processor";
  return option;
}

Option device_option(std::string& device) {
  return text_option(
      "--device, -dev", "NAME",
      "Where the model runs: cpu, vulkan, cuda, or one of several such as cuda:1; 'parlance doctor' lists "
      "what this machine has.",
      device);
}

Option voice_device_option(std::string& device) {
  Option option =
      text_option("--voice-device", "NAME", "Where hearing and speaking run, if elsewhere.", device);
  option.fallback = "as --device";
  return option;
}

Option gpu_layers_option(std::optional<int64_t>& n_gpu_layers) {
  Option option = number_option<int64_t>("-ngl, --gpu-layers, --n-gpu-layers", "N",
                                         "Layers that run on --device when it is not the CPU, counted from "
                                         "the last; the CPU runs the others. More than "
                                         "the model has: all.",
                                         n_gpu_layers, 0, 1 << 20);
  option.fallback = "as many as its free memory holds";
  return option;
}

Option huge_pages_option(bool& huge_pages) {
  return switch_off(
      "--no-huge-pages",
      "Leave the weights in the mapping of their file, which several programs share, where the CPU "
      "reads them up to a third slower than from huge pages of memory of their own.",
      huge_pages);
}

Option widened_weights_option(bool& widened_weights) {
  return switch_off(
      "--no-widened-weights",
      "Do not keep the weights of the speech model as f16, too, on GPUs that speak faster for it and have "
      "ample memory.",
      widened_weights);
}

Option json_option(bool& target, std::string help) {
  return flag("--json", std::move(help), target);
}

Option hub_option(std::string& path) {
  Option option{.names = "-hf, -hfr, --hf-repo",
                .value = "ORG/NAME[:TAG]",
                .help = "The same as --model hf:ORG/NAME[:TAG].",
                .fallback = {},
                .set = {}};
  option.set = [&path](const std::string& name) -> Result<void> {
    path = std::string(kHubPrefix) + name;
    return {};
  };
  return option;
}

OptionGroup model_group(ModelChoice& choice) {
  Option n_ctx = number_option<int64_t>(
      "-c, --ctx-size", "N",
      "Tokens that the context holds: prompt and answers together. 0: what the model was trained for.",
      choice.n_ctx, 0, kMaxContext);
  n_ctx.fallback = fmt::format("{}, or what the model was trained for if that is less", choice.context.n_ctx);
  Option n_batch =
      number_option<int64_t>("-b, --batch-size", "N", "Tokens of a prompt that are computed together.",
                             choice.n_batch, 1, kMaxBatch);
  n_batch.fallback =
      fmt::format("{}, or 2048 on a GPU that is faster then and has room", choice.context.n_batch);
  OptionGroup group{
      "Model",
      {model_option(choice.files.folder), hub_option(choice.files.folder),
       threads_option(choice.devices.n_threads), device_option(choice.devices.text),
       gpu_layers_option(choice.devices.n_gpu_layers), huge_pages_option(choice.devices.huge_pages),
       flag("--deterministic",
            "The same bits whatever else is computed and wherever a text was cut into steps, also where that "
            "costs speed: on AVX-512, attention takes up to twice as long, on AMX products of prompts too; "
            "a GPU takes prompts row by row.",
            choice.devices.is_deterministic),
       n_ctx, n_batch}};
  for (Option& option : cache_options(choice.cache, choice.context.cache)) {
    group.options.push_back(std::move(option));
  }
  return group;
}

OptionGroup draft_group(ModelChoice& choice, DraftOptions& draft) {
  Option sources{
      .names = "--draft, -md, --model-draft, --spec-draft-model",
      .value = "WHAT",
      .help =
          "What proposes tokens, which the model then checks several at once; the answer stays the same. "
          "The GGUF file of a DFlash drafter or of a smaller model with the same vocabulary, 'lookup' (what "
          "followed the same words before), 'none', 'auto' (the "
          "drafter of the bundle), or several with commas. 'required': draft in every step, "
          "whether it pays or not, and fail where nothing is drafted.",
      .fallback = "auto",
      .set = {}};
  sources.model = &choice.files.drafter;
  sources.set = [&choice](const std::string& given) -> Result<void> {
    DraftChoice wanted{.uses_model = false};
    std::string file;
    for (size_t begin = 0; begin <= given.size();) {
      const size_t end = std::min(given.find(',', begin), given.size());
      const std::string one = given.substr(begin, end - begin);
      begin = end + 1;
      if (one == "none") continue;
      if (one == "lookup") {
        wanted.looks_up = true;
      } else if (one == "required") {
        wanted.is_required = true;
      } else if (one.empty()) {
        return fail(
            ErrorCode::invalid_argument,
            "--draft takes a drafter's file, lookup, none, auto, required, or several of them with commas");
      } else {
        wanted.uses_model = true;
        if (one != "auto") file = one;
      }
    }
    if (given == "required") wanted.uses_model = true;
    choice.draft = wanted;
    choice.files.drafter = file;
    return {};
  };
  Option tree =
      number_option<int64_t>("--draft-tree", "N",
                             "Most nodes of a tree of proposed tokens, which has other choices beside a "
                             "drafter's first. 0: no trees. "
                             "Trees are checked where they pay; with 'required' and N, in every step.",
                             draft.tree, 0, kMostTreeNodes);
  tree.fallback = "as measured, up to 25";
  return {"Drafting",
          {sources,
           number_option<int64_t>("--draft-max, --draft-n, --spec-draft-n-max", "N",
                                  "Most tokens that are proposed at once; how many are worth it is measured.",
                                  draft.most, 0, kMostDrafted),
           number_option<int64_t>("--draft-min, --draft-n-min, --spec-draft-n-min", "N",
                                  "Fewer than this are not proposed.", draft.least, 0, kMostDrafted),
           number_option<float>("--draft-p-min, --spec-draft-p-min", "P",
                                "A token that the drafter gives less probability than P ends the proposal.",
                                draft.least_probability, 0, 1),
           tree,
           choice_option<DraftRule>(
               "--draft-rule", "RULE",
               "When a proposed token is taken. exact: when the model chooses the same one, so that the "
               "answer is the one without proposals. sampling: at a temperature, as often as leaves each "
               "token as likely as without; the answer is another one.",
               "exact, sampling", draft.rule, draft_rule_from_name, std::string(name_of(draft.rule)))}};
}

OptionGroup sampling_group(AnswerChoice& choice) {
  SamplingOptions& s = choice.generate.sampling;
  Option seed = number_option<uint64_t>("-s, --seed", "N",
                                        "Start of the random choices; the same seed gives the same answer.",
                                        choice.seed, 0, std::numeric_limits<uint64_t>::max());
  seed.fallback = "another one every time";
  return {
      "Choice of words",
      {number_option<float>(
           "--temp, --temperature", "X",
           "How adventurous: 0 always takes the likeliest token, 1 follows the model's own probabilities.",
           s.temperature, 0, kAnyFloat),
       number_option<int>("--top-k", "N", "Choose among the N likeliest tokens. 0: all.", s.top_k, 0,
                          std::numeric_limits<int>::max()),
       number_option<float>(
           "--top-p", "P",
           "Choose among the likeliest tokens that together have probability P. 1: all; 0: the "
           "likeliest alone.",
           s.top_p, 0, 1),
       number_option<float>("--min-p", "P",
                            "Leave out tokens less likely than P times the likeliest. 0: none.", s.min_p, 0,
                            1),
       number_option<float>("--repeat-penalty", "X", "Make tokens that were said before less likely. 1: off.",
                            s.repetition_penalty, 0, kAnyFloat),
       number_option<float>("--presence-penalty", "X",
                            "Subtracted once from the logit of every token that was said before. 0: off.",
                            s.presence_penalty, -kAnyFloat, kAnyFloat),
       number_option<float>("--frequency-penalty", "X",
                            "Subtracted for each time that a token was said before. 0: off.",
                            s.frequency_penalty, -kAnyFloat, kAnyFloat),
       number_option<int>("--repeat-last-n", "N", "Tokens that the penalties look back on. -1: all.",
                          s.penalty_last_n, -1, std::numeric_limits<int>::max()),
       seed, flag("--greedy", "Always take the likeliest token; the same as --temp 0.", choice.is_greedy),
       logit_bias_option(s.logit_bias)}};
}

OptionGroup answer_group(AnswerChoice& choice) {
  Option n =
      number_option<int64_t>("-n, --max-tokens, --n-predict", "N",
                             "Longest answer, in tokens. -1: until the model ends or the context is full.",
                             choice.generate.max_tokens, -1, kMaxContext);
  return {
      "Answer",
      {n, list_option("--stop", "TEXT", "End the answer where this text would begin.", choice.generate.stop),
       flag("--ignore-eos", "Go on after the model has ended its turn, up to --max-tokens.",
            choice.generate.ignore_eos)}};
}

OptionGroup form_group(AnswerForm& form) {
  Option schema{.names = "-j, --json-schema, --json-schema-file, -jf",
                .value = "SCHEMA",
                .help = "The answer is JSON that satisfies this schema: a file, or the schema itself.",
                .fallback = {},
                .set = {}};
  schema.set = [&form](const std::string& given) -> Result<void> {
    const size_t begin = given.find_first_not_of(" \t\r\n");
    if (begin != std::string::npos && given[begin] == '{') {
      form.json_schema = given;
    } else {
      PARLANCE_TRY(form.json_schema, read_text_file(given, kMostFormBytes));
    }
    return {};
  };
  Option grammar{.names = "--grammar, --grammar-file",
                 .value = "FILE",
                 .help = "The answer follows the grammar in this file, in llama.cpp's format (GBNF).",
                 .fallback = {},
                 .set = {}};
  grammar.set = [&form](const std::string& given) -> Result<void> {
    PARLANCE_TRY(form.grammar, read_text_file(given, kMostFormBytes));
    return {};
  };
  Option regex{.names = "--regex",
               .value = "TEXT",
               .help = "The whole answer matches this regular expression.",
               .fallback = {},
               .set = {}};
  regex.set = [&form](const std::string& given) -> Result<void> {
    form.regex = given;
    return {};
  };
  return {"Form of the answer", {schema, grammar, regex}};
}

Option prompt_option(std::optional<std::string>& text, std::string help) {
  Option option{.names = "-p, --prompt", .value = "TEXT", .help = std::move(help), .fallback = {}, .set = {}};
  option.set = [&text](const std::string& given) -> Result<void> {
    text = given;
    return {};
  };
  return option;
}

Option file_option(std::string& file, std::string help) {
  return text_option("-f, --file", "FILE", std::move(help), file);
}

Result<void> check_answer(AnswerChoice& choice) {
  if (std::exchange(choice.is_greedy, false)) choice.generate.sampling.temperature = 0;
  if (choice.generate.ignore_eos && choice.generate.max_tokens < 0 && choice.generate.stop.empty()) {
    return fail(ErrorCode::invalid_argument, "--ignore-eos never ends by itself; give --max-tokens too");
  }
  for (const std::string& stop : choice.generate.stop) {
    if (stop.empty())
      return fail(ErrorCode::invalid_argument, "--stop: the text is empty; give some or leave it out");
  }
  return validate(choice.generate.sampling);
}

uint64_t seed_of(const AnswerChoice& choice) {
  if (choice.seed) return *choice.seed;
  std::random_device random;
  return random();  // 32 bits: short enough to be typed again
}

}  // namespace parlance
