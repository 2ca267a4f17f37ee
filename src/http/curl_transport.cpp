#include "http/curl_transport.h"

#include <curl/curl.h>
#include <fmt/core.h>

#include <string_view>
#include <utility>

#include "base/ascii.h"

namespace parlance {

namespace {

constexpr long kMostRedirections = 10;
constexpr long kReceiveBytes = 256 * 1024;
constexpr size_t kMostHeadBytes = size_t{256} << 10;  // of all answers of one request together

struct HandleDeleter {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
};
struct ListDeleter {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using Handle = std::unique_ptr<CURL, HandleDeleter>;
using HeaderList = std::unique_ptr<curl_slist, ListDeleter>;

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && static_cast<unsigned char>(text.back()) <= ' ') text.remove_suffix(1);
  return text;
}

// One request under way, as libcurl's functions see it.
struct Transfer {
  CURL* handle;
  FetchSink& sink;
  const Cancellation& cancellation;
  FetchHead head = {};
  size_t head_bytes = 0;
  bool is_head_told = false, is_declined = false, is_head_too_long = false;

  // The head ends where the body begins, and with an answer that has none.
  bool tell_head() {
    if (std::exchange(is_head_told, true)) return true;
    long status = 0;
    curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
    head.status = static_cast<int>(status);
    is_declined = !sink.on_head(head);
    return !is_declined;
  }
};

size_t on_header(char* data, size_t size, size_t n, void* context) {
  auto& transfer = *static_cast<Transfer*>(context);
  const std::string_view line(data, size * n);
  transfer.head_bytes += line.size();
  if (transfer.head_bytes > kMostHeadBytes) {
    transfer.is_head_too_long = true;
    return 0;
  }
  if (line.starts_with("HTTP/")) {  // of the next answer, after one that redirects
    transfer.head.fields.clear();
    return line.size();
  }
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos) return line.size();
  transfer.head.fields[ascii::lower(trimmed(line.substr(0, colon)))] = trimmed(line.substr(colon + 1));
  return line.size();
}

size_t on_body(char* data, size_t size, size_t n, void* context) {
  auto& transfer = *static_cast<Transfer*>(context);
  if (!transfer.tell_head()) return 0;
  const auto bytes = std::as_bytes(std::span(data, size * n));
  if (transfer.sink.on_body(bytes)) return bytes.size();
  transfer.is_declined = true;
  return 0;
}

int on_progress(void* context, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return static_cast<Transfer*>(context)->cancellation.cancelled() ? 1 : 0;
}

// What another try would not change.
bool is_final(CURLcode code) {
  switch (code) {
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_URL_MALFORMAT:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_TOO_MANY_REDIRECTS:
    case CURLE_FAILED_INIT:
      return true;
    default:
      return false;
  }
}

bool is_secure(std::string_view url) {
  return url.starts_with("https://");
}

class CurlTransport final : public Transport {
 public:
  explicit CurlTransport(const CurlOptions& options) : options_(options) {}

  FetchOutcome get(const FetchRequest& request, FetchSink& sink, const Cancellation& cancellation) override {
    // Kept from one request to the next, and with it the connection.
    if (!handle_) handle_.reset(curl_easy_init());
    if (!handle_) return {FetchEnd::impossible, "libcurl cannot be started"};
    CURL* handle = handle_.get();
    curl_easy_reset(handle);
    Transfer transfer{handle, sink, cancellation};
    const HeaderList fields = fields_of(request);
    char words[CURL_ERROR_SIZE] = "";
    curl_easy_setopt(handle, CURLOPT_URL, request.url.c_str());
    curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, words);
    curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
    // An address that begins secure stays so wherever it leads.
    const char* protocols = is_secure(request.url) ? "https" : "http,https";
    curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, protocols);
    curl_easy_setopt(handle, CURLOPT_REDIR_PROTOCOLS_STR, protocols);
    curl_easy_setopt(handle, CURLOPT_FOLLOWLOCATION, 1L);
    curl_easy_setopt(handle, CURLOPT_MAXREDIRS, kMostRedirections);
    // A field Authorization of ours is left out where a redirection leads to another host or port.
    curl_easy_setopt(handle, CURLOPT_UNRESTRICTED_AUTH, 0L);
    curl_easy_setopt(handle, CURLOPT_HTTPHEADER, fields.get());
    curl_easy_setopt(handle, CURLOPT_USERAGENT, "parlance");
    curl_easy_setopt(handle, CURLOPT_BUFFERSIZE, kReceiveBytes);
    curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT, static_cast<long>(options_.connect_timeout_s));
    curl_easy_setopt(handle, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(handle, CURLOPT_LOW_SPEED_TIME, static_cast<long>(options_.silence_timeout_s));
    curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(handle, CURLOPT_HEADERDATA, &transfer);
    curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(handle, CURLOPT_WRITEDATA, &transfer);
    curl_easy_setopt(handle, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(handle, CURLOPT_XFERINFOFUNCTION, on_progress);
    curl_easy_setopt(handle, CURLOPT_XFERINFODATA, &transfer);
    const CURLcode code = curl_easy_perform(handle);
    curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, nullptr);
    if (code == CURLE_OK) return transfer.tell_head() ? FetchOutcome{} : FetchOutcome{FetchEnd::declined, {}};
    if (cancellation.cancelled()) return {FetchEnd::cancelled, "stopped"};
    if (transfer.is_declined) return {FetchEnd::declined, {}};
    if (transfer.is_head_too_long) return {FetchEnd::impossible, "the head of the answer is too long"};
    return {is_final(code) ? FetchEnd::impossible : FetchEnd::interrupted,
            *words != '\0' ? words : curl_easy_strerror(code)};
  }

 private:
  static HeaderList fields_of(const FetchRequest& request) {
    curl_slist* list = nullptr;
    const auto add = [&](const std::string& line) { list = curl_slist_append(list, line.c_str()); };
    if (!request.bearer.empty()) add("Authorization: Bearer " + request.bearer);
    if (request.from > 0) {
      add(fmt::format("Range: bytes={}-", request.from));
      if (!request.if_range.empty()) add("If-Range: " + request.if_range);
    }
    return HeaderList(list);
  }

  const CurlOptions options_;
  Handle handle_;
};

}  // namespace

std::unique_ptr<Transport> make_curl_transport(const CurlOptions& options) {
  static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);
  static_cast<void>(started);  // where it failed, no handle can be made, which is said then
  return std::make_unique<CurlTransport>(options);
}

}  // namespace parlance
