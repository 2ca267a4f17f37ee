#include "hub/model_name.h"

#include "gtest/gtest.h"
#include "hub/listing.h"
#include "hub/patience.h"
#include "hub/settings.h"

namespace parlance {
namespace {

constexpr std::string_view kMirror = "https://mirror.example/hub";

TEST(ModelName, AreThoseThatPeopleUse) {
  struct Case {
    const char *text, *repo, *revision, *tag, *file, *url;
  };
  for (const Case& c : std::initializer_list<Case>{
           {"Qwen/Qwen3-0.6B-GGUF", "Qwen/Qwen3-0.6B-GGUF", "main", "", "", ""},
           {"hf:Qwen/Qwen3-0.6B-GGUF:Q8_0", "Qwen/Qwen3-0.6B-GGUF", "main", "Q8_0", "", ""},
           {"a/b@v1.0:UD-Q4_K_XL", "a/b", "v1.0", "UD-Q4_K_XL", "", ""},
           {"a/b/c/d-Q8_0.gguf", "a/b", "main", "", "c/d-Q8_0.gguf", ""},
           {"https://huggingface.co/a/b", "a/b", "main", "", "", ""},
           {"https://huggingface.co/a/b/", "a/b", "main", "", "", ""},
           {"https://huggingface.co/a/b/tree/refs%2Fpr%2F3", "a/b", "refs/pr/3", "", "", ""},
           {"https://huggingface.co/a/b/blob/main/c%20d.gguf?download=true", "a/b", "main", "", "c d.gguf",
            ""},
           {"https://huggingface.co/a/b/resolve/v2/c.gguf", "a/b", "v2", "", "c.gguf", ""},
           {"hf.co/a/b:Q6_K", "a/b", "main", "Q6_K", "", ""},
           {"https://mirror.example/hub/a/b", "a/b", "main", "", "", ""},
           {"https://mirror.example/hubs/a/b.gguf", "", "main", "", "",
            "https://mirror.example/hubs/a/b.gguf"},
           {"https://example.org/x/m.gguf", "", "main", "", "", "https://example.org/x/m.gguf"}}) {
    const auto name = parse_model_name(c.text, kMirror);
    ASSERT_TRUE(name.has_value()) << c.text << ": " << name.error().message;
    EXPECT_EQ(name->repo, c.repo) << c.text;
    EXPECT_EQ(name->revision, c.revision) << c.text;
    EXPECT_EQ(name->tag, c.tag) << c.text;
    EXPECT_EQ(name->file, c.file) << c.text;
    EXPECT_EQ(name->url, c.url) << c.text;
    // What messages and --model say means the same again.
    const auto again = parse_model_name(name->text(), kMirror);
    ASSERT_TRUE(again.has_value()) << name->text();
    EXPECT_EQ(again->text(), name->text());
    EXPECT_EQ(again->revision, name->revision);
    EXPECT_EQ(again->file, name->file);
  }
}

TEST(ModelName, OthersAreNone) {
  for (const char* text : {"",
                           "a",
                           "a/",
                           "/b",
                           "a/b/",
                           "a/b:",
                           "a/b@",
                           "a/b@..",
                           "a/b/../c",
                           "../b",
                           "a/..",
                           "a--c/b",
                           ".a/b",
                           "a/b c",
                           "a/b\n",
                           "https://",
                           "https://huggingface.co",
                           "https://huggingface.co/a",
                           "hf.co/a",
                           "https://huggingface.co/a/b/issues",
                           "https://huggingface.co/a/b/blob/main/%2E%2E/x",
                           "a/b:x/y",
        "hf.co/hf.co/a"}) {
    EXPECT_FALSE(parse_model_name(text, kMirror).has_value()) << text;
  }
}

TEST(ModelName, PathsFromOutsideStayBelow) {
  for (const char* path : {"a", "a/b.gguf", "a b", "..a", "ä", ".gitattributes"})
    EXPECT_TRUE(is_safe_path(path));
  const std::string long_part(256, 'x');
  for (const std::string& path :
       {std::string(), std::string("/a"), std::string("a/"), std::string("a//b"), std::string("."),
        std::string("a/../b"), std::string("a\\b"), std::string("a\0b", 3), std::string("a\nb"), long_part}) {
    EXPECT_FALSE(is_safe_path(path)) << path;
  }
}

TEST(Listing, SaysSizesAndChecksums) {
  const std::string sha256(64, 'a'), sha1(40, 'b');
  const auto files = parse_tree(R"([{"type":"directory","path":"x","oid":"0","size":0},
    {"type":"file","path":"a.json","size":5,"oid":")" +
                                sha1 + R"("},
    {"type":"file","path":"b.gguf","size":7,"oid":")" +
                                sha1 + R"(","lfs":{"oid":")" + sha256 + R"(","size":7}},
    {"type":"file","path":"../c","size":5,"oid":")" +
                                sha1 + R"("},
    {"type":"file","path":"d","size":-1,"oid":")" +
                                sha1 + R"("},
    {"type":"file","path":"e","size":1,"oid":"../../x"}, 5])");
  ASSERT_TRUE(files.has_value());
  ASSERT_EQ(files->size(), 2U);
  EXPECT_EQ((*files)[0].digest, sha1);
  EXPECT_EQ((*files)[1].digest, sha256);
  EXPECT_EQ((*files)[1].n_bytes, 7U);
  for (const char* text : {"", "{}", "<html>", "[", "null"})
    EXPECT_FALSE(parse_tree(text).has_value()) << text;
  EXPECT_EQ(parse_commit(R"({"sha":")" + sha1 + R"("})").value_or(""), sha1);
  for (const char* text : {"", "{}", R"({"sha":"main"})", R"({"sha":5})"})
    EXPECT_FALSE(parse_commit(text)) << text;
}

TEST(Listing, NextPageIsOfThisHub) {
  EXPECT_EQ(next_page(R"(<https://other.example/api/x?cursor=1>; rel="next")"), "/api/x?cursor=1");
  EXPECT_EQ(next_page(R"(</a>; rel="prev", </b>; rel="next")"), "/b");
  for (const char* text : {"", "<", "</a>; rel=\"prev\"", "<https://x>; rel=\"next\"", "next"}) {
    EXPECT_EQ(next_page(text), "") << text;
  }
}

TEST(Patience, ReadsBothFormsOfRetryAfter) {
  using std::chrono::seconds;
  const std::chrono::sys_seconds now = std::chrono::sys_days(std::chrono::year(2026) / 11 / 25);
  EXPECT_EQ(retry_after("7", now), seconds(7));
  EXPECT_EQ(retry_after("Wed, 25 Nov 2026 00:01:05 GMT", now), seconds(65));
  EXPECT_EQ(retry_after("Tue, 24 Nov 2026 00:00:00 GMT", now), seconds(0));
  for (const char* text :
       {"", "-1", "soon", "Wed, 25 Nov 2026 00:01:05 CET", "Wed, 35 Nov 2026 00:01:05 GMT"}) {
    EXPECT_FALSE(retry_after(text, now).has_value()) << text;
  }
}

TEST(HubSettings, TokensAreForTheHubOverNothingOpen) {
  HubSettings settings;
  settings.endpoint = "https://huggingface.co";
  EXPECT_TRUE(may_know_token(settings, "https://huggingface.co/api"));
  for (const char* url : {"http://huggingface.co/api", "https://huggingface.co.evil.example/", "https://x/",
                          "https://huggingface.co:444/", "https://huggingface.co@evil.example/"}) {
    EXPECT_FALSE(may_know_token(settings, url)) << url;
  }
  settings.endpoint = "http://mirror.example";
  EXPECT_FALSE(may_know_token(settings, "http://mirror.example/api"));
  settings.endpoint = "http://127.0.0.1:80";
  EXPECT_TRUE(may_know_token(settings, "http://127.0.0.1:80/api"));
}

}  // namespace
}  // namespace parlance
