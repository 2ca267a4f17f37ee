// An environment variable that this process sets for a while.
#pragma once

#include <optional>
#include <string>

namespace parlance {

// Set as long as it lives; then it is what it was. Not while other threads may be reading the environment.
class EnvironmentVariable {
 public:
  EnvironmentVariable(std::string name, const std::string& value);
  ~EnvironmentVariable();
  EnvironmentVariable(const EnvironmentVariable&) = delete;
  EnvironmentVariable& operator=(const EnvironmentVariable&) = delete;

 private:
  const std::string name_;
  std::optional<std::string> before_;
};

}  // namespace parlance
