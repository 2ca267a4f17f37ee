#include "base/os/service_manager.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <string>

#include "base/os/environment.h"
#include "base/parse_number.h"

namespace parlance {

void tell_service_manager(std::string_view state) {
  const auto path = environment("NOTIFY_SOCKET");
  sockaddr_un address{};
  // A name that begins with @ is no file, but one of Linux's own.
  if (!path || path->size() < 2 || path->size() >= sizeof address.sun_path) return;
  if (path->front() != '/' && path->front() != '@') return;
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path->data(), path->size());
  if (address.sun_path[0] == '@') address.sun_path[0] = '\0';
  const int socket = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return;
  const auto n_bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path->size());
  (void)::sendto(socket, state.data(), state.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
                 reinterpret_cast<const sockaddr*>(&address), n_bytes);
  ::close(socket);
}

std::optional<std::chrono::microseconds> watchdog_time() {
  const auto time = environment("WATCHDOG_USEC"), process = environment("WATCHDOG_PID");
  if (!time || (process && parse_number<int64_t>(*process) != int64_t{::getpid()})) return std::nullopt;
  const auto us = parse_number<int64_t>(*time);
  if (!us || *us <= 0) return std::nullopt;
  return std::chrono::microseconds(*us);
}

}  // namespace parlance
