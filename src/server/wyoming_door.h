// The Wyoming protocol's sockets: an address of its own, without keys, for those who may reach it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "wyoming/session.h"

namespace parlance {

struct WyomingDoorOptions {
  std::string host = "127.0.0.1";
  uint16_t port = 10300;             // 0: any that is free
  std::vector<std::string> allowed;  // networks beside this machine
  size_t n_connections = 64;
  std::chrono::milliseconds event_time{10000};  // from its first byte to its last
  std::chrono::milliseconds idle_time{300000};  // between requests
  std::chrono::milliseconds input_time{30000};  // within what somebody says or writes
  std::chrono::milliseconds end_time{30000};  // for what is still to be done when a client sends nothing more
  std::chrono::milliseconds write_time{30000};  // without any progress
};

// "HOST:PORT" or "[::1]:PORT", and the networks that may ask. Errors, which name the flag: an address that is
// none, or that other machines reach though none of them may ask.
Result<WyomingDoorOptions> wyoming_door_options(const std::string& text, std::vector<std::string> allowed);

class WyomingDoor {
 public:
  // What is told of events that come: their type, "other" where it is not known here.
  using OnEvent = std::function<void(std::string_view type)>;

  // The services must outlive the door. Errors: an address that cannot be listened on.
  static Result<std::unique_ptr<WyomingDoor>> open(const WyomingDoorOptions& options,
                                                   const WyomingServices& services, OnEvent on_event = {});
  // Cuts what is under way, and waits for it.
  ~WyomingDoor();

  uint16_t port() const;
  int64_t n_connections() const;
  int64_t n_at_work() const;  // of these, those with a request

  // Nothing new is begun: connections end when what they have asked for is done.
  void drain();

  struct Impl;  // of the source file

 private:
  explicit WyomingDoor(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace parlance
