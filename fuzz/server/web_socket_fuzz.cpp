// Any bytes behind the handshake of a WebSocket: what is delivered is what a plain reading of RFC 6455
// yields, and what is answered is frames, the last of them a close.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "allocations.h"
#include "server/handshake.h"
#include "server/listener.h"
#include "text/unicode.h"

namespace {

using namespace parlance;

constexpr size_t kMostBytes = 1000;  // of a message

struct Told {
  std::mutex mutex;
  std::condition_variable news;
  std::vector<std::string> messages;  // "t" or "b" and the payload
  int n_closed = 0;
};

class Listening final : public SocketTalker {
 public:
  explicit Listening(Told& told) : told_(told) {}
  void opened(std::shared_ptr<SocketReply> reply) override { reply_ = std::move(reply); }
  void take_text(std::string message) override {
    fuzz::require(find_invalid_utf8(message) == std::string::npos, "text is UTF-8");
    keep("t" + message);
    reply_->send(std::move(message));
  }
  void take_binary(std::string message) override { keep("b" + message); }
  void drain() override {}
  void closed(uint16_t code) override {
    fuzz::require(code >= 1000, "ends have codes");
    const std::lock_guard lock(told_.mutex);
    ++told_.n_closed;
    told_.news.notify_all();
  }

 private:
  void keep(std::string message) {
    const std::lock_guard lock(told_.mutex);
    told_.messages.push_back(std::move(message));
  }
  Told& told_;
  std::shared_ptr<SocketReply> reply_;
};

class Service final : public HttpService {
 public:
  Admission admit(const HttpRequest& head) override {
    fuzz::require(!check_handshake(head), "the handshake is right");
    return {.refusal = {}, .talker = std::make_shared<Listening>(told)};
  }
  void serve(HttpRequest, std::shared_ptr<Reply>) override {}
  HttpAnswer refuse(int status, const std::string&) override {
    return {.status = status, .fields = {}, .body = {}};
  }
  void complete(const HttpRequest&, HttpAnswer&) override {}
  void note(const HttpRequest&, int, bool) override {}
  bool is_draining() const override { return false; }

  Told told;
};

// What a server that knows nothing but the standard delivers: frames one after the other, until one is wrong.
std::vector<std::string> plain_reading(std::string_view bytes) {
  std::vector<std::string> messages;
  std::string message;
  bool is_within = false, is_text = false;
  for (;;) {
    if (bytes.size() < 2) return messages;
    const auto byte = [&](size_t at) { return static_cast<uint8_t>(bytes[at]); };
    const int opcode = byte(0) & 0x0f;
    const bool is_final = byte(0) & 0x80, is_control = opcode >= 8;
    uint64_t n = byte(1) & 0x7f;
    const size_t n_length = n == 126 ? 2 : n == 127 ? 8 : 0;
    if ((byte(0) & 0x70) || !(byte(1) & 0x80) || (opcode > 2 && opcode < 8) || opcode > 10) return messages;
    if (is_control ? !is_final || n > 125 : (opcode == 0) != is_within) return messages;
    const size_t n_head = 2 + n_length + 4;
    if (bytes.size() < n_head) return messages;
    if (n_length) n = 0;
    for (size_t i = 0; i < n_length; ++i) n = n << 8 | byte(2 + i);
    if ((n_length == 2 && n < 126) || (n_length == 8 && n < 65536)) return messages;
    if (n > kMostBytes || bytes.size() - n_head < n) return messages;
    std::string payload(bytes.substr(n_head, n));
    for (size_t i = 0; i < n; ++i) payload[i] = static_cast<char>(payload[i] ^ bytes[n_head - 4 + i % 4]);
    bytes.remove_prefix(n_head + n);
    if (opcode == 8) return messages;
    if (is_control) continue;
    if (opcode != 0) is_text = opcode == 1;
    message += payload;
    is_within = !is_final;
    if (message.size() > kMostBytes) return messages;
    if (!is_final) continue;
    if (is_text && find_invalid_utf8(message) != std::string::npos) return messages;
    messages.push_back((is_text ? "t" : "b") + std::exchange(message, {}));
  }
}

// What a server may send: whole frames, not masked, nothing behind a close.
void check_frames(std::string_view bytes) {
  while (!bytes.empty()) {
    fuzz::require(bytes.size() >= 2 && !(bytes[1] & 0x80) && (bytes[0] & 0x80), "frames are whole");
    size_t n = static_cast<uint8_t>(bytes[1]), n_head = 2;
    if (n == 126) {
      fuzz::require(bytes.size() >= 4, "frames are whole");
      n = static_cast<size_t>(static_cast<uint8_t>(bytes[2])) << 8 | static_cast<uint8_t>(bytes[3]);
      n_head = 4;
    }
    fuzz::require(n != 127 && bytes.size() >= n_head + n, "frames are whole");
    const int opcode = bytes[0] & 0x0f;
    fuzz::require(opcode == 1 || opcode == 8 || opcode == 10, "only answers, pongs and closes are sent");
    bytes.remove_prefix(n_head + n);
    fuzz::require(opcode != 8 || bytes.empty(), "nothing is behind a close");
  }
}

std::string exchange(uint16_t port, std::string_view bytes) {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  fuzz::require(::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0, "it listens");
  std::string sent =
      "GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: "
      "13\r\n"
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
  sent += bytes;
  fuzz::require(::send(socket, sent.data(), sent.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(sent.size()),
                "it reads");
  ::shutdown(socket, SHUT_WR);
  std::string got;
  char buffer[4096];
  for (ssize_t n; (n = ::recv(socket, buffer, sizeof buffer, 0)) > 0;)
    got.append(buffer, static_cast<size_t>(n));
  ::close(socket);
  const size_t end = got.find("\r\n\r\n");
  fuzz::require(got.starts_with("HTTP/1.1 101") && end != std::string::npos, "the handshake is answered");
  return got.substr(end + 4);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static Service& service = *new Service;  // as the listener, whose thread is at work while the program ends
  static ListenerOptions options = [] {
    ListenerOptions all;
    all.port = 0;
    all.sockets.n_message_bytes = kMostBytes;
    return all;
  }();
  static auto* const listener = new auto(*Listener::open(options, service));
  const std::string_view bytes(reinterpret_cast<const char*>(data), std::min(size, size_t{4096}));
  const std::string answered = exchange((*listener)->port(), bytes);
  std::unique_lock lock(service.told.mutex);
  service.told.news.wait(lock, [] { return service.told.n_closed > 0; });
  service.told.n_closed = 0;
  fuzz::require(std::exchange(service.told.messages, {}) == plain_reading(bytes),
                "what is delivered was sent");
  check_frames(answered);
  return 0;
}
