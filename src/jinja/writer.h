// Text under construction: charged to a budget while it grows, and deaf once that is spent or an error was
// set.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "jinja/budget.h"
#include "jinja/value.h"

namespace parlance::jinja {

class Writer {
 public:
  // `values`: the text becomes a value of the template. `output`: it is the result of the rendering, which
  // has a limit of its own.
  enum class Purpose { values, output };
  explicit Writer(Budget& budget, Purpose purpose = Purpose::values) : budget_(budget), purpose_(purpose) {}
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  ~Writer() { budget_.release(charged_); }

  void append(std::string_view text);
  void append(size_t count, char c);
  void append(char c) { append(1, c); }

  // The first error stays.
  void fail(Error error);
  bool failed() const { return error_.has_value() || budget_.exhausted(); }

  size_t size() const { return text_.size(); }
  Budget& budget() { return budget_; }

  // What was written, or why not all of it could be. The writer is not to be used afterwards.
  Result<std::string> finish();
  Result<Value> finish_text(bool markup = false);

 private:
  bool make_room(size_t bytes);

  Budget& budget_;
  const Purpose purpose_;
  std::string text_;
  size_t charged_ = 0;
  std::optional<Error> error_;
};

}  // namespace parlance::jinja
