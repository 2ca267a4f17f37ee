#include "base/os/program.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <string_view>
#include <thread>

#include "base/os/environment.h"

namespace parlance {

namespace {

constexpr std::chrono::milliseconds kBetweenLooks{20};

// None of this process's files and sockets.
struct Unseen {
  Unseen() {
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
    posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
  }
  ~Unseen() { posix_spawn_file_actions_destroy(&files); }
  Unseen(const Unseen&) = delete;
  Unseen& operator=(const Unseen&) = delete;

  posix_spawn_file_actions_t files;
};

}  // namespace

bool is_program(const std::string& name) {
  const std::string folders = environment("PATH").value_or("");
  for (std::string_view rest = folders; !rest.empty();) {
    const size_t n = std::min(rest.find(':'), rest.size());
    if (n > 0 && access((std::string(rest.substr(0, n)) + "/" + name).c_str(), X_OK) == 0) return true;
    rest.remove_prefix(std::min(n + 1, rest.size()));
  }
  return false;
}

Result<void> run_program(const std::string& name, const std::vector<std::string>& arguments,
                         const Cancellation& cancellation) {
  std::vector<std::string> words{name};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const Unseen unseen;
  pid_t child = 0;
  const int error = posix_spawnp(&child, name.c_str(), &unseen.files, nullptr, pointers.data(), environ);
  if (error != 0) return fail(ErrorCode::not_found, "{} cannot be started: {}", name, std::strerror(error));
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (cancellation.cancelled()) {
      kill(child, SIGTERM);
      waitpid(child, &status, 0);
      return fail(ErrorCode::cancelled, "{} was ended", name);
    }
    std::this_thread::sleep_for(kBetweenLooks);
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  if (WIFEXITED(status)) return fail(ErrorCode::io, "{} ended with {}", name, WEXITSTATUS(status));
  return fail(ErrorCode::io, "{} was ended by signal {}", name, WTERMSIG(status));
}

}  // namespace parlance
