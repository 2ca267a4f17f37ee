// A download against a script of answers: cut behind every byte, and everything else that servers do.
#include "hub/download.h"

#include <deque>
#include <fstream>
#include <functional>

#include "base/os/file.h"
#include "base/os/file_lock.h"
#include "gtest/gtest.h"
#include "hub/content_digest.h"
#include "support/temporary_folder.h"

namespace parlance {
namespace {

struct Answer {
  int status = 200;
  std::string body;
  std::map<std::string, std::string> fields = {};
  FetchEnd end = FetchEnd::complete;
};

// Answers as the script says; what was asked is kept.
class Script final : public Transport {
 public:
  using Answering = std::function<Answer(const FetchRequest&)>;
  explicit Script(Answering answering) : answering_(std::move(answering)) {}

  FetchOutcome get(const FetchRequest& request, FetchSink& sink, const Cancellation&) override {
    asked.push_back(request);
    const Answer answer = answering_(request);
    if (answer.end == FetchEnd::impossible) return {answer.end, "no such host"};
    if (!sink.on_head({answer.status, answer.fields})) return {FetchEnd::declined, {}};
    // In two pieces, as networks bring it.
    const auto bytes = std::as_bytes(std::span(answer.body.data(), answer.body.size()));
    for (const auto piece : {bytes.first(bytes.size() / 2), bytes.subspan(bytes.size() / 2)}) {
      if (!piece.empty() && !sink.on_body(piece)) return {FetchEnd::declined, {}};
    }
    return {answer.end, answer.end == FetchEnd::complete ? "" : "it was cut"};
  }

  std::vector<FetchRequest> asked;

 private:
  const Answering answering_;
};

class Download : public testing::Test {
 protected:
  static std::string digest_of(const std::string& text,
                               ContentDigest::Kind kind = ContentDigest::Kind::sha256) {
    ContentDigest digest(kind, text.size());
    digest.add(std::as_bytes(std::span(text.data(), text.size())));
    return digest.finish();
  }

  // What a good server sends; cut behind so many bytes.
  static Answer part(const std::string& content, const FetchRequest& request,
                     size_t n_bytes = std::string::npos) {
    Answer answer{.status = 200, .body = content.substr(request.from)};
    if (request.from > 0) {
      answer.status = 206;
      answer.fields["content-range"] =
          fmt::format("bytes {}-{}/{}", request.from, content.size() - 1, content.size());
    }
    answer.fields["content-length"] = fmt::format("{}", answer.body.size());
    if (n_bytes < answer.body.size()) {
      answer.body.resize(n_bytes);
      answer.end = FetchEnd::interrupted;
    }
    return answer;
  }

  Result<Downloaded> fetch(Script& script, std::string digest, std::optional<uint64_t> n_bytes,
                           int n_retries = 3) {
    const DownloadOrder order{.name = "x",
                              .url = "https://hub/x",
                              .n_bytes = n_bytes,
                              .digest = std::move(digest),
                              .incomplete = incomplete,
                              .place = place};
    const Patience patience{.n_retries = n_retries, .first_wait = std::chrono::milliseconds(0)};
    return download(script, order, patience, {});
  }

  std::string content_at(const std::filesystem::path& path) const {
    return read_text_file(path, 1 << 20).value_or("(none)");
  }

  test::TemporaryFolder folder;
  const std::filesystem::path incomplete = folder / "x.incomplete", place = folder / "x";
  const std::string content = "Hubs have large files, and networks are cut wherever it hurts.";
};

TEST_F(Download, GoesOnBehindEveryByte) {
  for (size_t first = 0; first <= content.size(); ++first) {
    for (const size_t second : {size_t{0}, size_t{1}, content.size() / 2}) {
      std::deque<size_t> cuts = {first, second};
      Script script([&](const FetchRequest& request) {
        const size_t cut = cuts.empty() ? std::string::npos : cuts.front();
        if (!cuts.empty()) cuts.pop_front();
        return part(content, request, cut);
      });
      const auto got = fetch(script, digest_of(content), content.size());
      ASSERT_TRUE(got.has_value()) << first << ": " << got.error().message;
      EXPECT_EQ(got->n_fetched, content.size());
      EXPECT_EQ(content_at(place), content);
      EXPECT_FALSE(std::filesystem::exists(incomplete));
      if (first > 0 && first < content.size()) {
        EXPECT_EQ(script.asked.at(1).from, first);
      }
      std::filesystem::remove(place);
    }
  }
}

TEST_F(Download, TheNextCallGoesOnBehindEveryByte) {
  for (size_t left = 0; left <= content.size(); ++left) {
    std::ofstream(incomplete) << content.substr(0, left);
    Script script([&](const FetchRequest& request) { return part(content, request); });
    const auto got = fetch(script, digest_of(content, ContentDigest::Kind::git), content.size());
    ASSERT_TRUE(got.has_value()) << left << ": " << got.error().message;
    EXPECT_EQ(got->n_fetched, content.size() - left);
    EXPECT_EQ(content_at(place), content);
    std::filesystem::remove(place);
  }
}

TEST_F(Download, WhatIsWrongGoes) {
  Script script([&](const FetchRequest& request) { return part("?" + content.substr(1), request); });
  const auto got = fetch(script, digest_of(content), content.size());
  ASSERT_FALSE(got.has_value());
  EXPECT_NE(got.error().message.find("checksum"), std::string::npos) << got.error().message;
  EXPECT_EQ(script.asked.size(), 1U);
  EXPECT_FALSE(std::filesystem::exists(incomplete) || std::filesystem::exists(place));
}

TEST_F(Download, WhatWasLeftWrongIsFetchedAnewOnce) {
  for (const std::string& left : {std::string(10, '?'), std::string(content.size(), '?'), content + "more"}) {
    std::ofstream(incomplete) << left;
    Script script([&](const FetchRequest& request) { return part(content, request); });
    ASSERT_TRUE(fetch(script, digest_of(content), content.size()).has_value()) << left;
    EXPECT_EQ(content_at(place), content);
    std::filesystem::remove(place);
  }
}

TEST_F(Download, AServerMaySendSomethingElseThanWasAsked) {
  struct Case {
    Answer answer;
    const char* words;
  };
  const std::string half = content.substr(0, 20);
  for (const Case& c :
       {Case{{206, "x", {{"content-range", "bytes 5-61/62"}}}, "byte 20"},
        Case{{206, "x", {{"content-range", "what"}}}, "byte 20"},
        Case{{206, "x", {{"content-range", "bytes 20-99/100"}}}, "expected 62 bytes"},
        Case{{200, "x", {{"content-length", "7"}}}, "expected 62 bytes"},
        Case{{200, content + "and more"}, "more than the 62 bytes"}, Case{{404, "x"}, "nothing of that name"},
        Case{{401, "x"}, "HF_TOKEN"}, Case{{403, "x"}, "terms"}, Case{{400, "x"}, "HTTP 400"},
        Case{{200, "", {}, FetchEnd::impossible}, "no such host"},
        Case{{200, half, {}, FetchEnd::interrupted}, "after 4 tries"}, Case{{416, ""}, "after 4 tries"},
        Case{{503, ""}, "after 4 tries"}, Case{{429, "", {{"retry-after", "99999"}}}, "1667 minutes"}}) {
    std::ofstream(incomplete) << half;
    Script script([&](const FetchRequest&) { return c.answer; });
    const auto got = fetch(script, digest_of(content), content.size());
    ASSERT_FALSE(got.has_value());
    EXPECT_NE(got.error().message.find(c.words), std::string::npos) << got.error().message;
    EXPECT_FALSE(std::filesystem::exists(place));
  }
}

TEST_F(Download, WithoutAChecksumTheServersMarkDecides) {
  const std::string other = "Something else of another length.";
  std::ofstream(incomplete) << content.substr(0, 20);
  std::ofstream(incomplete.string() + ".mark") << "\"first\"";
  for (const bool has_changed : {false, true}) {
    Script script([&](const FetchRequest& request) {
      const std::string now = has_changed ? "\"second\"" : "\"first\"";
      FetchRequest whole = request;
      if (request.if_range != now) whole.from = 0;
      Answer answer = part(has_changed ? other : content, whole);
      answer.fields["etag"] = now;
      return answer;
    });
    const auto got = fetch(script, "", std::nullopt);
    ASSERT_TRUE(got.has_value()) << got.error().message;
    EXPECT_EQ(script.asked.front().if_range, "\"first\"");
    EXPECT_EQ(content_at(place), has_changed ? other : content);
    std::filesystem::remove(place);
    std::ofstream(incomplete) << content.substr(0, 20);
    std::ofstream(incomplete.string() + ".mark") << "\"first\"";
  }
  // Of what nothing is known, nothing is kept.
  std::filesystem::remove(incomplete.string() + ".mark");
  Script script([&](const FetchRequest& request) { return part(content, request); });
  ASSERT_TRUE(fetch(script, "", std::nullopt).has_value());
  EXPECT_EQ(script.asked.front().from, 0U);
  EXPECT_EQ(content_at(place), content);
}

TEST_F(Download, AnEmptyFileIsNotAskedFor) {
  Script script([](const FetchRequest&) { return Answer{.status = 500, .body = ""}; });
  ASSERT_TRUE(fetch(script, digest_of("", ContentDigest::Kind::git), 0).has_value());
  EXPECT_EQ(digest_of("", ContentDigest::Kind::git), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
  EXPECT_TRUE(script.asked.empty());
  EXPECT_EQ(content_at(place), "");
}

TEST_F(Download, RoomIsLookedForWhenTheLengthIsKnown) {
  Script script([&](const FetchRequest& request) { return part(content, request); });
  uint64_t needed = 0;
  const DownloadOrder order{.name = "x",
                            .url = "https://hub/x",
                            .incomplete = incomplete,
                            .place = place,
                            .check_room = [&](uint64_t n_bytes) -> Result<void> {
                              needed = n_bytes;
                              return fail(ErrorCode::io, "full");
                            }};
  const auto got = download(script, order, {}, {});
  ASSERT_FALSE(got.has_value());
  EXPECT_EQ(got.error().message, "full");
  EXPECT_EQ(needed, content.size());
  EXPECT_EQ(content_at(incomplete), "");
}

TEST_F(Download, ALockIsHeldByOne) {
  const auto path = folder / "deep/x.lock";
  {
    const auto first = FileLock::try_lock(path);
    ASSERT_TRUE(first.has_value() && first->has_value());
    const auto second = FileLock::try_lock(path);
    ASSERT_TRUE(second.has_value());
    EXPECT_FALSE(second->has_value());
  }
  const auto third = FileLock::try_lock(path);
  EXPECT_TRUE(third.has_value() && third->has_value());
}

}  // namespace
}  // namespace parlance
