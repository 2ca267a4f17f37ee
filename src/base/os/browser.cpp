#include "base/os/browser.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>

#include "base/os/environment.h"

namespace parlance {

namespace {

// It says by then that there is no browser; one that is still at it has found one.
constexpr std::chrono::milliseconds kLongestWait{2000};
constexpr std::chrono::milliseconds kLook{10};

// A session of its own, so that Ctrl-C is not for the browser; none of this process's files and sockets.
struct Detached {
  Detached() {
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
    posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
    posix_spawnattr_init(&attributes);
    sigset_t ended;
    sigemptyset(&ended);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) sigaddset(&ended, signal);
    posix_spawnattr_setsigdefault(&attributes, &ended);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF);
  }
  ~Detached() {
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
  }
  Detached(const Detached&) = delete;
  Detached& operator=(const Detached&) = delete;

  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
};

}  // namespace

Result<void> open_in_browser(const std::string& address) {
  if (!environment("DISPLAY") && !environment("WAYLAND_DISPLAY") && !environment("BROWSER")) {
    return fail(ErrorCode::not_found, "there is no desktop here to open a browser on");
  }
  const Detached detached;
  std::string program = "xdg-open", argument = address;
  char* const arguments[] = {program.data(), argument.data(), nullptr};
  pid_t child = 0;
  const int error =
      posix_spawnp(&child, program.c_str(), &detached.files, &detached.attributes, arguments, environ);
  if (error != 0) {
    return fail(ErrorCode::not_found, "xdg-open cannot be started: {} (Debian: xdg-utils)",
                std::strerror(error));
  }
  int status = 0;
  for (auto waited = std::chrono::milliseconds(0); waited < kLongestWait; waited += kLook) {
    const pid_t ended = waitpid(child, &status, WNOHANG);
    if (ended == child) {
      if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
      return fail(ErrorCode::not_found, "xdg-open found no browser");
    }
    std::this_thread::sleep_for(kLook);
  }
  return {};
}

}  // namespace parlance
