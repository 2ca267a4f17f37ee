#include "cli/llama_server.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/parse_number.h"

namespace parlance {

namespace {

struct UnusedFlag {
  const char* names;
  const char* value;  // what follows; empty: nothing
  const char* why;
  bool is_so_anyway = false;
};

constexpr std::array kUnusedFlags = {
    UnusedFlag{"--metrics", "", "GET /metrics is always there.", true},
    UnusedFlag{"--slots", "", "GET /slots is always there.", true},
    UnusedFlag{"--props", "", "GET /props is always there, and changes nothing.", true},
    UnusedFlag{"--jinja", "", "Templates are always rendered.", true},
    UnusedFlag{"--cont-batching, -cb", "", "Answers always share steps.", true},
    UnusedFlag{"--cache-prompt", "", "Beginnings are always shared.", true},
    UnusedFlag{"--kv-unified, -kvu", "", "All answers share one cache.", true},
    UnusedFlag{"--slot-prompt-similarity, -sps", "X", "Every beginning is used, however short."},
    UnusedFlag{"--cache-reuse", "N", "What stands behind another beginning is computed again."},
    UnusedFlag{"--cache-ram, -cram", "MIB", "There are no copies of the cache in memory."},
    UnusedFlag{"--cache-idle-slots", "", "Slots hold no memory."},
    UnusedFlag{"--ctx-checkpoints, --swa-checkpoints", "N", "States are copied where texts part."},
    UnusedFlag{"--checkpoint-every-n-tokens", "N", "The same."},
    UnusedFlag{"--flash-attn, -fa", "on|off|auto", "There is one way to compute attention."},
    UnusedFlag{"--ubatch-size, -ub", "N", "--batch-size is all there is."},
    UnusedFlag{"--threads-batch, -tb", "N", "--threads counts for prompts, too."},
    UnusedFlag{"--threads-http", "N", "One thread serves all connections."},
    UnusedFlag{"--mlock", "", "Weights lie in memory of the program's own."},
    UnusedFlag{"--no-mmap", "", "The same."},
    UnusedFlag{"--no-warmup", "", "There is none."},
    UnusedFlag{"--no-webui", "", "There is no page.", true},
    UnusedFlag{"--no-kv-offload, -nkvo", "", "The cache lies where the layers are."},
    UnusedFlag{"--op-offload", "", "Operations run where the layers are."},
    UnusedFlag{"--n-gpu-layers-draft, --gpu-layers-draft, -ngld, --spec-draft-ngl", "N",
               "Drafters run where the model does."},
    UnusedFlag{"--ctx-size-draft, -cd", "N", "Drafters have the model's context."},
    UnusedFlag{"--cache-type-k-draft, -ctkd, --spec-draft-type-k", "TYPE", "A drafter's cache is f16."},
    UnusedFlag{"--cache-type-v-draft, -ctvd, --spec-draft-type-v", "TYPE", "The same."},
    UnusedFlag{"--spec-type", "NAME", "--draft says what proposes tokens."},
    UnusedFlag{"--reasoning-format", "NAME", "Thoughts come as reasoning_content."},
    UnusedFlag{"--log-disable", "", "There is little."},
    UnusedFlag{"--log-verbosity, -lv, --verbosity", "N", "The same."},
};

constexpr std::array<std::string_view, 2> kServers = {"llama-server", "llama-omnivoice-server"};

}  // namespace

OptionGroup llama_server_group(UnusedFlags& given) {
  OptionGroup group{"Taken from programs that start llama.cpp's server, and without effect", {}};
  for (const UnusedFlag& one : kUnusedFlags) {
    Option option{.names = one.names, .value = one.value, .help = one.why, .fallback = {}, .set = {}};
    option.set = [&given, &one, name = main_name(option)](const std::string&) -> Result<void> {
      if (!one.is_so_anyway) given.push_back(name);
      return {};
    };
    group.options.push_back(std::move(option));
  }
  return group;
}

std::vector<std::string> arguments_by_name(std::string_view program, std::vector<std::string> arguments) {
  const std::string name = std::filesystem::path(program).filename().string();
  const bool is_server = std::ranges::find(kServers, name) != kServers.end();
  const bool asks_for_version = arguments.size() == 1 && arguments.front() == "--version";
  if (is_server && !asks_for_version) arguments.insert(arguments.begin(), "serve");
  return arguments;
}

int parallel_by_default(std::optional<std::string> local, std::optional<std::string> drafting, bool is_on_gpu,
                        std::vector<std::string>& remarks) {
  const std::pair<const char*, const std::optional<std::string>&> variables[] = {
      {"ELIZA_LOCAL_PARALLEL", local}, {"ELIZA_DFLASH_PARALLEL", drafting}};
  for (const auto& [name, text] : variables) {
    if (!text) continue;
    const auto n = parse_number<int>(*text);
    if (n && *n >= 1 && *n <= 256) return *n;
    remarks.push_back(
        fmt::format("{} must be a number from 1 to 256, got '{}'; it is passed over", name, *text));
  }
  return is_on_gpu ? 16 : 4;
}

}  // namespace parlance
