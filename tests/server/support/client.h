// A client of HTTP that sends any bytes, for tests.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace parlance::test {

struct ClientAnswer {
  int status = 0;                             // 0: none came
  std::map<std::string, std::string> fields;  // names in lower case
  std::string body;
  bool is_whole = false;  // it ended as its head promised

  std::string field(const std::string& name) const {
    const auto found = fields.find(name);
    return found == fields.end() ? "" : found->second;
  }
};

// One connection to this machine.
class Client {
 public:
  explicit Client(uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    is_connected_ = ::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  // To a socket in a folder.
  explicit Client(const std::string& path) : socket_(::socket(AF_UNIX, SOCK_STREAM, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    is_connected_ = ::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  ~Client() {
    if (socket_ >= 0) ::close(socket_);
  }
  Client(Client&& other) noexcept
      : socket_(std::exchange(other.socket_, -1)),
        is_connected_(other.is_connected_),
        buffer_(std::move(other.buffer_)) {}
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  bool is_connected() const { return is_connected_; }

  // As much as the other side takes.
  void send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t n = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0) return;
      bytes.remove_prefix(static_cast<size_t>(n));
    }
  }

  // More bytes; false when none came in time or none will.
  bool receive(int ms = 20000) {
    pollfd wanted{socket_, POLLIN, 0};
    if (::poll(&wanted, 1, ms) <= 0) return false;
    char bytes[16384];
    const ssize_t n = ::recv(socket_, bytes, sizeof bytes, 0);
    if (n <= 0) return false;
    buffer_.append(bytes, static_cast<size_t>(n));
    return true;
  }

  // Whether the other side ends the connection, with nothing more to say.
  bool is_closed(int ms = 5000) {
    while (receive(ms)) {
    }
    pollfd wanted{socket_, POLLIN, 0};
    char byte;
    return buffer_.empty() && ::poll(&wanted, 1, 0) > 0 && ::recv(socket_, &byte, 1, MSG_PEEK) <= 0;
  }

  // So many bytes, or as many as come in time.
  std::string take(size_t n, int ms = 20000) {
    while (buffer_.size() < n && receive(ms)) {
    }
    std::string taken = buffer_.substr(0, n);
    buffer_.erase(0, taken.size());
    return taken;
  }

  // Sends nothing more.
  void end() { ::shutdown(socket_, SHUT_WR); }

  // Leaves so that the other side sees a reset, not an end.
  void reset() {
    const linger at_once{1, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  }

  ClientAnswer answer(bool has_body = true) {
    ClientAnswer answer;
    do {
      size_t end;
      while ((end = buffer_.find("\r\n\r\n")) == std::string::npos) {
        if (!receive()) return answer;
      }
      answer = head(buffer_.substr(0, end));
      buffer_.erase(0, end + 4);
    } while (answer.status == 100);
    if (!has_body || answer.status == 204 || answer.status == 304) {
      answer.is_whole = true;
    } else if (answer.field("transfer-encoding") == "chunked") {
      read_chunks(answer);
    } else if (answer.fields.contains("content-length")) {
      const size_t n = std::stoul(answer.field("content-length"));
      while (buffer_.size() < n && receive()) {
      }
      answer.is_whole = buffer_.size() >= n;
      answer.body = buffer_.substr(0, n);
      buffer_.erase(0, n);
    } else {
      while (receive()) {
      }
      answer.body = std::exchange(buffer_, {});
      answer.is_whole = true;
    }
    return answer;
  }

 private:
  static ClientAnswer head(const std::string& text) {
    ClientAnswer answer;
    answer.status = std::stoi(text.substr(9, 3));
    for (size_t at = text.find("\r\n"); at != std::string::npos;) {
      const size_t end = std::min(text.find("\r\n", at + 2), text.size());
      const std::string line = text.substr(at + 2, end - at - 2);
      const size_t colon = line.find(':');
      std::string name = line.substr(0, colon);
      std::transform(name.begin(), name.end(), name.begin(),
                     [](char c) { return static_cast<char>(std::tolower(c)); });
      if (colon != std::string::npos) answer.fields[name] = line.substr(colon + 2);
      at = end == text.size() ? std::string::npos : end;
    }
    return answer;
  }

  void read_chunks(ClientAnswer& answer) {
    for (;;) {
      size_t end;
      while ((end = buffer_.find("\r\n")) == std::string::npos) {
        if (!receive()) return;
      }
      size_t n = 0;
      std::from_chars(buffer_.data(), buffer_.data() + end, n, 16);
      while (buffer_.size() < end + 2 + n + 2 && receive()) {
      }
      if (buffer_.size() < end + 2 + n + 2) return;
      answer.body += buffer_.substr(end + 2, n);
      buffer_.erase(0, end + 2 + n + 2);
      if (n == 0) {
        answer.is_whole = true;
        return;
      }
    }
  }

  int socket_;
  bool is_connected_ = false;
  std::string buffer_;
};

// A request as most clients would send it.
inline std::string request_text(const std::string& method, const std::string& path, uint16_t port,
                                const std::map<std::string, std::string>& fields = {},
                                const std::string& body = {}) {
  std::string text = method + " " + path + " HTTP/1.1\r\n";
  if (!fields.contains("host")) text += "host: 127.0.0.1:" + std::to_string(port) + "\r\n";
  for (const auto& [name, value] : fields) text += name + ": " + value + "\r\n";
  if (!body.empty() || method == "POST") text += "content-length: " + std::to_string(body.size()) + "\r\n";
  return text + "\r\n" + body;
}

inline ClientAnswer ask(uint16_t port, const std::string& method, const std::string& path,
                        const std::string& body = {}, std::map<std::string, std::string> fields = {}) {
  if (method == "POST") fields.emplace("content-type", "application/json");
  Client client(port);
  client.send(request_text(method, path, port, fields, body));
  return client.answer(method != "HEAD");
}

}  // namespace parlance::test
