#include "hub/download.h"

#include <algorithm>
#include <vector>

#include "base/os/file.h"
#include "base/os/folder.h"
#include "base/os/growing_file.h"
#include "base/parse_number.h"
#include "hub/content_digest.h"
#include "hub/try_again.h"
#include "text/display.h"

namespace parlance {

namespace fs = std::filesystem;

namespace {

constexpr int kPartial = 206, kNotSatisfiable = 416;
constexpr size_t kMostMarkBytes = 1024;

struct ContentRange {
  uint64_t first = 0;
  std::optional<uint64_t> total;
};

// "bytes 100-199/200", "bytes 100-199/*"
std::optional<ContentRange> parse_content_range(std::string_view text) {
  constexpr std::string_view kUnit = "bytes ";
  if (!text.starts_with(kUnit)) return std::nullopt;
  text.remove_prefix(kUnit.size());
  const size_t dash = text.find('-');
  const size_t slash = text.find('/');
  if (dash == text.npos || slash == text.npos || dash > slash) return std::nullopt;
  const auto first = parse_number<uint64_t>(text.substr(0, dash));
  if (!first) return std::nullopt;
  return ContentRange{*first, parse_number<uint64_t>(text.substr(slash + 1))};
}

// What says later whether what the server has is still the same: a strong ETag, or the date of its last
// change.
std::string mark_in(const FetchHead& head) {
  const std::string etag = head.field("etag");
  if (!etag.empty() && !etag.starts_with("W/")) return etag;
  return head.field("last-modified");
}

// A file that is on its way here.
class Arrival final : public FetchSink {
 public:
  Arrival(const DownloadOrder& order, GrowingFile file) : order_(order), file_(std::move(file)) {}

  // Reads again what came in earlier calls, so that the checksum is of all.
  Result<void> take_up() {
    mark_ = read_text_file(mark_file(), kMostMarkBytes).value_or("");
    const bool is_too_long = order_.n_bytes && file_.size() > *order_.n_bytes;
    const bool is_of_unknown = order_.digest.empty() && mark_.empty();
    if (is_too_long || is_of_unknown) return start_anew();
    begin_digest();
    if (!digest_) return {};
    constexpr size_t kPieceBytes = size_t{1} << 18;
    PARLANCE_TRY(const ReadableFile before, ReadableFile::open(file_.path()));
    std::vector<std::byte> buffer(std::min<uint64_t>(kPieceBytes, file_.size()));
    for (uint64_t at = 0; at < file_.size(); at += buffer.size()) {
      const auto piece = std::span(buffer).first(std::min<uint64_t>(buffer.size(), file_.size() - at));
      PARLANCE_CHECK(before.read(at, piece));
      digest_->add(piece);
    }
    is_taken_up_ = file_.size() > 0;
    return {};
  }

  FetchRequest request() const {
    // Nothing would tell whether what follows is of the same content.
    const bool is_of_unknown = order_.digest.empty() && mark_.empty();
    return {.url = order_.url,
            .bearer = order_.bearer,
            .from = is_of_unknown ? 0 : file_.size(),
            .if_range = order_.digest.empty() ? mark_ : std::string()};
  }

  bool on_head(const FetchHead& head) override {
    head_ = head;
    if (head.status == kNotSatisfiable) return refuse(start_anew());
    if (head.status != kHttpOk && head.status != kPartial) return false;
    if (Result<void> good = begin(head); !good) return refuse(std::move(good));
    return true;
  }

  bool on_body(std::span<const std::byte> bytes) override {
    if (n_total_ && file_.size() + bytes.size() > *n_total_) {
      return refuse(fail(ErrorCode::corrupt_file,
                         "{}: the server sends more than the {} bytes that it should; {}", order_.name,
                         *n_total_, "try again later"));
    }
    if (Result<void> written = file_.append(bytes); !written) return refuse(std::move(written));
    if (digest_) digest_->add(bytes);
    n_fetched_ += bytes.size();
    if (order_.on_progress) order_.on_progress(file_.size(), n_total_);
    return true;
  }

  // What was wrong with the last answer, if it was more than its status.
  Result<void> take_error() { return std::exchange(error_, Result<void>()); }
  const FetchHead& head() const { return head_; }
  uint64_t n_fetched() const { return n_fetched_; }
  uint64_t size() const { return file_.size(); }
  bool is_whole() const { return n_total() && file_.size() == *n_total(); }
  std::optional<uint64_t> n_total() const { return n_total_ ? n_total_ : order_.n_bytes; }

  enum class Verdict : uint8_t { good, begin_again };

  // Gives the file its name if it is what it should be.
  Result<Verdict> settle() {
    if (digest_) {
      const std::string found = digest_->finish();
      if (found != order_.digest) {
        const bool may_be_of_before = std::exchange(is_taken_up_, false);
        PARLANCE_CHECK(start_anew());
        if (may_be_of_before) return Verdict::begin_again;
        std::error_code ignored;
        fs::remove(order_.incomplete, ignored);
        return fail(ErrorCode::corrupt_file,
                    "{}: what came has the checksum {}…, not {}…, and was thrown away; try again, or another "
                    "mirror",
                    order_.name, found.substr(0, 12), order_.digest.substr(0, 12));
      }
    }
    PARLANCE_CHECK(file_.rename_to(order_.place));
    std::error_code ignored;
    fs::remove(mark_file(), ignored);
    return Verdict::good;
  }

 private:
  fs::path mark_file() const { return order_.incomplete.string() + ".mark"; }

  void begin_digest() {
    if (order_.digest.empty()) return;
    const bool is_sha256 = order_.digest.size() == kSha256Digits;
    digest_.emplace(is_sha256 ? ContentDigest::Kind::sha256 : ContentDigest::Kind::git,
                    order_.n_bytes.value_or(0));
  }

  Result<void> start_anew() {
    PARLANCE_CHECK(file_.clear());
    begin_digest();
    return {};
  }

  bool refuse(Result<void> error) {
    error_ = std::move(error);
    return false;
  }

  Result<void> begin(const FetchHead& head) {
    std::optional<uint64_t> total;
    if (head.status == kPartial) {
      const auto range = parse_content_range(head.field("content-range"));
      if (!range || range->first != file_.size()) {
        return fail(ErrorCode::corrupt_file,
                    "{}: asked for what follows byte {}, the server sends '{}'; try another mirror",
                    order_.name, file_.size(), printable(head.field("content-range")).substr(0, 80));
      }
      total = range->total;
    } else {
      // The server has no ranges, or something else than it had.
      if (file_.size() > 0) PARLANCE_CHECK(start_anew());
      total = parse_number<uint64_t>(head.field("content-length"));
    }
    if (order_.n_bytes && total && *total != *order_.n_bytes) {
      return fail(ErrorCode::corrupt_file,
                  "{}: expected {} bytes, the server has {}; is there a page to log in "
                  "to this network?",
                  order_.name, *order_.n_bytes, *total);
    }
    n_total_ = order_.n_bytes ? order_.n_bytes : total;
    if (order_.digest.empty()) PARLANCE_CHECK(keep_mark(mark_in(head)));
    if (!order_.n_bytes && n_total_ && order_.check_room) {
      PARLANCE_CHECK(order_.check_room(*n_total_ - file_.size()));
    }
    return {};
  }

  Result<void> keep_mark(const std::string& mark) {
    if (mark == mark_) return {};
    mark_ = mark;
    PARLANCE_TRY(AtomicFile file, AtomicFile::create(mark_file()));
    PARLANCE_CHECK(file.write(mark.substr(0, kMostMarkBytes)));
    return file.commit();
  }

  const DownloadOrder& order_;
  GrowingFile file_;
  std::string mark_;
  std::optional<ContentDigest> digest_;
  std::optional<uint64_t> n_total_;
  FetchHead head_;
  Result<void> error_;
  uint64_t n_fetched_ = 0;
  bool is_taken_up_ = false;  // some of it is from an earlier call
};

// Keeps a text of limited length.
class TextSink final : public FetchSink {
 public:
  explicit TextSink(size_t limit_bytes) : limit_bytes_(limit_bytes) {}

  bool on_head(const FetchHead& head) override {
    answer = {.status = head.status, .body = {}, .head = head};
    return true;
  }
  bool on_body(std::span<const std::byte> bytes) override {
    if (answer.body.size() + bytes.size() > limit_bytes_) return false;
    answer.body.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return true;
  }

  FetchedText answer;

 private:
  const size_t limit_bytes_;
};

}  // namespace

Result<Downloaded> download(Transport& transport, const DownloadOrder& order, const Patience& patience,
                            const Cancellation& cancellation) {
  PARLANCE_TRY(GrowingFile file, GrowingFile::open(order.incomplete));
  Arrival arrival(order, std::move(file));
  PARLANCE_CHECK(arrival.take_up());
  TryAgain again(order.name, patience, cancellation);
  uint64_t most = arrival.size();  // that there ever was; a server without ranges begins anew each time
  while (true) {
    if (!arrival.is_whole()) {
      const FetchOutcome outcome = transport.get(arrival.request(), arrival, cancellation);
      if (arrival.size() > most) again.note_progress();
      most = std::max(most, arrival.size());
      PARLANCE_CHECK(arrival.take_error());
      const int status = arrival.head().status;
      const bool has_ended = outcome.end == FetchEnd::complete && is_success(status);
      if (!has_ended) {
        const bool is_status = outcome.end == FetchEnd::declined || outcome.end == FetchEnd::complete;
        // 416: what was there was more than the server has; it was thrown away.
        if (is_status && status == kNotSatisfiable) {
          PARLANCE_CHECK(again.after("the server has less than what is here"));
        } else if (is_status && !is_passing(status)) {
          return tl::unexpected(status_error(status, arrival.head(), order.name, !order.bearer.empty()));
        } else {
          PARLANCE_CHECK(is_status ? again.after(status, arrival.head()) : again.after(outcome));
        }
        continue;
      }
      if (arrival.n_total() && !arrival.is_whole()) {
        PARLANCE_CHECK(again.after("the server ended early"));
        continue;
      }
    }
    const uint64_t n_bytes = arrival.size();
    PARLANCE_TRY(const Arrival::Verdict verdict, arrival.settle());
    if (verdict == Arrival::Verdict::good) return Downloaded{n_bytes, arrival.n_fetched()};
  }
}

Result<FetchedText> get_text(Transport& transport, const FetchRequest& request, size_t limit_bytes,
                             const Patience& patience, const Cancellation& cancellation) {
  TryAgain again(request.url, patience, cancellation);
  while (true) {
    TextSink sink(limit_bytes);
    const FetchOutcome outcome = transport.get(request, sink, cancellation);
    if (outcome.end == FetchEnd::complete && !is_passing(sink.answer.status)) return std::move(sink.answer);
    if (outcome.end == FetchEnd::declined) {
      return fail(ErrorCode::too_complex, "{}: the answer is longer than {} bytes; is it a hub?", request.url,
                  limit_bytes);
    }
    PARLANCE_CHECK(outcome.end == FetchEnd::complete ? again.after(sink.answer.status, sink.answer.head)
                                                     : again.after(outcome));
  }
}

Error status_error(int status, const FetchHead& head, const std::string& name, bool has_token) {
  const std::string code = head.field("x-error-code");
  const std::string page = "https://huggingface.co/settings/tokens";
  const auto error = [&](ErrorCode kind, const std::string& words) {
    return Error{kind, fmt::format("{}: {} (HTTP {})", name, words, status)};
  };
  if (status == 401 && has_token) {
    return error(
        ErrorCode::invalid_argument,
        "there is no such repository, or the token may not see it; check the name, and the token at " + page);
  }
  if (status == 401) {
    return error(ErrorCode::invalid_argument,
                 "there is no such repository, or it wants to know who asks; check the name, or make a token "
                 "at " +
                     page + " and set HF_TOKEN to it");
  }
  if (status == 403 || code == "GatedRepo") {
    return error(ErrorCode::invalid_argument,
                 "it may not be fetched with this token; accept its terms on its page of the hub, and see "
                 "that the token may read it, at " +
                     page);
  }
  if (status == 404 || status == 410) {
    return error(ErrorCode::not_found,
                 code == "RevisionNotFound"
                     ? "there is no such branch or commit; leave out what stands behind @"
                     : "the server has nothing of that name; check it");
  }
  return error(ErrorCode::io, "the server refuses; try again later, or another mirror with HF_ENDPOINT");
}

}  // namespace parlance
