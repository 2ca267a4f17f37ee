// Sockets: takes connections, reads requests within limits, and sends answers. Knows bytes, nothing of what
// they mean. Everything of a connection happens on one of the listener's own threads, which never wait for
// anything but sockets.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "server/head_rules.h"
#include "server/http_message.h"
#include "server/socket.h"

namespace parlance {

// Of a WebSocket.
struct SocketLimits {
  size_t n_message_bytes = size_t{16} << 20;
  size_t n_fragments = 1024;                      // of a message
  std::chrono::milliseconds ping_time{15000};     // from one ping to the next
  std::chrono::milliseconds silence_time{45000};  // without a byte: the other side is gone
  std::chrono::milliseconds idle_time{900000};    // without a message: closed
  std::chrono::milliseconds write_time{30000};    // without any progress
  std::chrono::milliseconds close_time{5000};     // for the other side to close, too
};

struct ListenerOptions {
  std::string host = "127.0.0.1";  // an address, "localhost", or "unix:/path" of a socket in a folder
  uint16_t port = 8080;            // 0: any that is free
  int n_threads = 1;               // that connections are spread over
  HeadLimits head;
  size_t n_connections = 2048;
  size_t n_connections_of_address = 256;  // those from this machine do not count
  int n_requests_of_connection = 10000;
  std::chrono::milliseconds head_time{10000};
  std::chrono::milliseconds body_time{120000};
  std::chrono::milliseconds body_progress_time{10000};  // for each further 64 KiB
  std::chrono::milliseconds idle_time{30000};           // between two requests
  std::chrono::milliseconds write_time{30000};          // without any progress
  SocketLimits sockets;
};

// What a request is answered by. Called on the listener's threads, so nothing here may take long.
class HttpService {
 public:
  virtual ~HttpService() = default;

  struct Admission {
    std::optional<HttpAnswer> refusal;
    size_t n_body_bytes = 0;  // as many as the body may have
    // Instead of an answer a WebSocket opens, for which check_handshake() has let the request through.
    std::shared_ptr<SocketTalker> talker = {};
    std::string protocol = {};  // the one that is chosen of those that are offered; empty: none
  };
  // A head is complete, the body has not been read.
  virtual Admission admit(const HttpRequest& head) = 0;
  virtual void serve(HttpRequest request, std::shared_ptr<Reply> reply) = 0;
  // What a request is told that breaks the rules of HTTP or of the listener.
  virtual HttpAnswer refuse(int status, const std::string& why) = 0;
  // Fields that every answer has; the connection adds its own.
  virtual void complete(const HttpRequest& request, HttpAnswer& answer) = 0;
  // For the log and the metrics, when an answer has left or its client.
  virtual void note(const HttpRequest& request, int status, bool was_cut) = 0;
  virtual bool is_draining() const = 0;
};

struct ConnectionCounts {
  int64_t n_idle = 0, n_active = 0;  // WebSockets are active
};

class Listener {
 public:
  // The service must outlive the listener. Errors: the address cannot be listened on.
  static Result<std::unique_ptr<Listener>> open(const ListenerOptions& options, HttpService& service);
  // Closes all connections.
  ~Listener();

  uint16_t port() const;  // 0: of a socket in a folder
  ConnectionCounts counts() const;
  // For how long one of its threads has not looked at its sockets, at most.
  std::chrono::milliseconds longest_silence() const;

  // Tells those who talk over WebSockets that the server is about to end.
  void drain_sockets();
  // Closes them all, behind what was sent over them.
  void close_sockets(SocketCode code, const std::string& reason);

  struct Impl;  // of the source file

 private:
  explicit Listener(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace parlance
