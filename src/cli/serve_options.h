// What `parlance serve` can be told, and what the server makes of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/llama_server.h"
#include "cli/terminal/command.h"
#include "cli/terminal/options.h"
#include "server/server.h"

namespace parlance {

struct ListenerSeconds {
  double head = 0, body = 0, idle = 0, write = 0;
};

enum class Reasoning { off, on, as_template };

struct ServeOptions {
  ModelChoice model;
  AnswerChoice answer;
  ServerOptions server;
  int port = 8080, n_waiting = 64;
  Reasoning reasoning = Reasoning::off;
  double grace_s = 30, request_s = 600, ping_s = 10;
  std::string key_file, key;
  std::vector<std::string> aliases, voice_aliases;
  bool lists_routes = false, only_checks = false;
  bool has_no_page = false, opens_page = false;
  bool has_no_voice_aliases = false;
  std::string state_folder, slot_folder, prewarm_file;
  bool keeps_nothing = false;
  std::optional<int64_t> n_parallel;
  UnusedFlags unused;
  std::string config_file;
  std::vector<std::string> proxies;
  ListenerSeconds seconds;
  int64_t n_head_bytes = 0, n_json_bytes = 0, n_upload_bytes = 0, n_connections = 0,
          n_connections_of_address = 0;
  int max_audio_minutes = 30;
  bool has_no_tool_grammar = false, prints_settings = false;
  std::vector<Setting> settings;
  std::string wyoming;
  std::vector<std::string> wyoming_allowed;
};

// Those that are the server's own, each group with its defaults.
std::vector<OptionGroup> server_groups(ServeOptions& options);

// What flags say of the server in one structure. Errors are of usage.
Result<void> settle(ServeOptions& options);

// Keys as flags, their file and the environment have them now. Errors name the flag.
Result<void> read_server_keys(ServeOptions& options);

}  // namespace parlance
