// parlance bench listen: the speed of speech recognition, of whole recordings and while someone speaks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/terminal/console.h"

namespace parlance {

struct ListenBench {
  std::string folder;    // with the pair of files
  std::string audio;     // a recording; empty: a signal that is made up
  double seconds = 30;   // of that signal
  bool has_live = true;  // also time streams, which takes as long as the speech
  std::string device = "cpu";
  std::vector<int64_t> n_threads = {0};  // one run each
  int n_repetitions = 3;
  bool wants_json = false;
};

Result<int> bench_listen(const Console& io, const ListenBench& options);

}  // namespace parlance
