// One file from a server: gone on with where it was left, tried again when it is cut, and kept only if it is
// what it should be.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "base/cancellation.h"
#include "base/result.h"
#include "hub/patience.h"
#include "hub/transport.h"

namespace parlance {

struct DownloadOrder {
  std::string name;  // for messages: "Qwen/Qwen3-0.6B-GGUF: Qwen3-0.6B-Q8_0.gguf"
  std::string url;
  std::string bearer = {};  // token for the server; empty: none

  // What it should be. Not known: any length, whatever it holds.
  std::optional<uint64_t> n_bytes = {};
  std::string digest = {};  // SHA-256 (64 digits) or git's SHA-1 (40)

  std::filesystem::path incomplete;  // what has come so far; its folder is made
  std::filesystem::path place;       // of the whole

  // Before the first byte of a file whose length was not known: whether there is room for it. May be null.
  std::function<Result<void>(uint64_t n_bytes)> check_room = {};
  std::function<void(uint64_t n_bytes, std::optional<uint64_t> n_total)> on_progress = {};  // may be null
};

struct Downloaded {
  uint64_t n_bytes = 0;
  uint64_t n_fetched = 0;  // over the network, now
};

// Errors leave what has come in `incomplete`, for the next call, except that a wrong checksum leaves nothing.
// With a checksum, what comes after a cut is what came before; without one, the server's mark of the content
// (kept beside `incomplete`) says whether it is, else all is fetched anew.
Result<Downloaded> download(Transport& transport, const DownloadOrder& order, const Patience& patience,
                            const Cancellation& cancellation);

// An answer of a server that is a text, such as a list.
struct FetchedText {
  int status = 0;
  std::string body;  // at most `limit_bytes`
  FetchHead head;
};

// Also one that refuses, once it does not say that later would do. Errors: the network.
Result<FetchedText> get_text(Transport& transport, const FetchRequest& request, size_t limit_bytes,
                             const Patience& patience, const Cancellation& cancellation);

// A status that is no success, in words with the remedy. `name` is what was asked for.
Error status_error(int status, const FetchHead& head, const std::string& name, bool has_token);

}  // namespace parlance
