// Figures of the server for Prometheus, under the names that docs/server.md lists. All are there from the
// start, but for values of labels that nobody knows before.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace parlance {

class Metrics {
 public:
  Metrics();
  ~Metrics();

  using Labels = std::initializer_list<std::pair<std::string_view, std::string_view>>;

  // By name without the prefix "parlance_"; those of llama.cpp with theirs. The name is one of the table.
  void add(std::string_view counter, double n = 1, Labels labels = {});
  // To a value that is counted elsewhere; never down. One thread at a time.
  void raise(std::string_view counter, double value, Labels labels = {});
  double value(std::string_view counter) const;  // of one without labels
  void set(std::string_view gauge, double value, Labels labels = {});
  void observe(std::string_view histogram, double value, Labels labels = {});

  // Prometheus' text format, version 0.0.4.
  std::string text() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace parlance
