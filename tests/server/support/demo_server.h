// The bundled models behind a server, as tests ask it.
#pragma once

#include <memory>

#include "gtest/gtest.h"
#include "server/server.h"
#include "support/fixtures.h"

namespace parlance::test {

inline ServerOptions demo_options() {
  ServerOptions options;
  options.listener.port = 0;
  options.models.files.folder = (source_root() / "models/demo").string();
  options.models.devices.n_threads = 1;
  options.models.context.n_seq = 4;
  options.models.context.n_waiting = 64;
  options.models.n_ctx = 1024;
  return options;
}

inline std::string demo_text_file() {
  return (source_root() / "models/demo/text/parlance-demo-text-q8_0.gguf").string();
}

// Null, and the running test fails, where it does not start.
inline std::unique_ptr<Server> start_server(const ServerOptions& options) {
  auto server = Server::start(options);
  EXPECT_TRUE(server) << server.error().message;
  if (!server) return nullptr;
  const auto ready = (*server)->wait_until_ready();
  EXPECT_TRUE(ready) << ready.error().message;
  return ready ? *std::move(server) : nullptr;
}

}  // namespace parlance::test
