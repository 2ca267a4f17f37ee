// The page to talk to, as browsers get it.
#include "server/page.h"

#include "base/os/file.h"
#include "server/support/client.h"
#include "server/support/demo_server.h"

namespace parlance {
namespace {

constexpr size_t kMostBytes = size_t{64} << 10;  // of all its files

TEST(Page, IsTheFilesOfItsFolder) {
  size_t n_bytes = 0;
  for (const PageFile& file : page_files()) {
    const std::string name = file.path == "/" ? "index.html" : std::string(file.path.substr(1));
    const auto content = read_text_file(test::source_root() / "webui" / name, kMostBytes);
    ASSERT_TRUE(content) << content.error().message;
    EXPECT_EQ(file.content, *content) << name;
    n_bytes += file.content.size();
  }
  EXPECT_LE(n_bytes, kMostBytes);
}

TEST(Page, NamesNobodyElse) {
  for (const PageFile& file : page_files()) {
    for (const char* foreign :
         {"src=\"http", "href=\"http", "url(", "@import", "<style", " style=", " onclick="}) {
      EXPECT_EQ(file.content.find(foreign), std::string_view::npos) << file.path << ": " << foreign;
    }
  }
}

HttpRequest request_for(const std::string& path, const std::string& host, const std::string& known = {}) {
  HttpRequest request;
  request.method = "GET";
  request.path = path;
  request.fields = {{"host", host}};
  if (!known.empty()) request.fields.push_back({"if-none-match", known});
  return request;
}

std::string field_of(const HttpAnswer& answer, std::string_view name) {
  for (const HttpField& field : answer.fields) {
    if (field.name == name) return field.value;
  }
  return {};
}

TEST(Page, IsSentOnceToThoseWhoKeepIt) {
  const HttpAnswer first = page_answer(request_for("/app.js", "localhost"));
  EXPECT_EQ(first.status, 200);
  const std::string tag = field_of(first, "etag");
  ASSERT_GT(tag.size(), 2u);
  EXPECT_EQ(tag.front(), '"');
  for (const std::string& known : {tag, "W/" + tag, "\"other\", " + tag, std::string("*")}) {
    const HttpAnswer again = page_answer(request_for("/app.js", "localhost", known));
    EXPECT_EQ(again.status, 304) << known;
    EXPECT_EQ(again.body, "");
    EXPECT_EQ(field_of(again, "etag"), tag);
  }
  for (const std::string& known : {std::string("\"other\""), tag.substr(1),
                                   field_of(page_answer(request_for("/", "localhost")), "etag")}) {
    EXPECT_EQ(page_answer(request_for("/app.js", "localhost", known)).status, 200) << known;
  }
}

TEST(Page, MayConnectToItsOwnHostAlone) {
  const std::string policy = field_of(page_answer(request_for("/", "[::1]:8080")), "content-security-policy");
  EXPECT_NE(policy.find("connect-src 'self' ws://[::1]:8080 wss://[::1]:8080;"), std::string::npos) << policy;
  EXPECT_TRUE(policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self';")) << policy;
  // What is no plain host does not get into the header.
  const std::string odd =
      field_of(page_answer(request_for("/", "a; script-src *.localhost")), "content-security-policy");
  EXPECT_NE(odd.find("connect-src 'self';"), std::string::npos) << odd;
}

TEST(Page, IsServed) {
  const auto server = test::start_server(test::demo_options());
  ASSERT_TRUE(server);
  const std::map<std::string, std::string> types = {{"/", "text/html; charset=utf-8"},
                                                    {"/app.js", "text/javascript; charset=utf-8"},
                                                    {"/audio-worklet.js", "text/javascript; charset=utf-8"},
                                                    {"/style.css", "text/css; charset=utf-8"},
                                                    {"/favicon.svg", "image/svg+xml"}};
  for (const auto& [path, type] : types) {
    const auto answer = test::ask(server->port(), "GET", path);
    EXPECT_EQ(answer.status, 200) << path;
    EXPECT_EQ(answer.field("content-type"), type);
    EXPECT_EQ(answer.field("cache-control"), "no-cache");
    EXPECT_EQ(answer.field("permissions-policy"), "microphone=(self)");
    EXPECT_EQ(answer.field("cross-origin-opener-policy"), "same-origin");
    EXPECT_EQ(answer.field("referrer-policy"), "no-referrer");
    EXPECT_EQ(answer.field("x-content-type-options"), "nosniff");
    EXPECT_EQ(answer.body, find_page_file(path)->content);
    const auto head = test::ask(server->port(), "HEAD", path);
    EXPECT_EQ(head.field("content-length"), std::to_string(answer.body.size()));
    // Nothing follows what the other side has: the next answer on the connection is the next request's.
    test::Client client(server->port());
    const auto known =
        test::request_text("GET", path, server->port(), {{"if-none-match", answer.field("etag")}});
    client.send(known + test::request_text("GET", "/live", server->port()));
    EXPECT_EQ(client.answer().status, 304);
    EXPECT_EQ(client.answer().status, 200);
  }
  EXPECT_EQ(test::ask(server->port(), "POST", "/app.js", "{}").status, 405);
}

TEST(Page, CanBeLeftOut) {
  ServerOptions options = test::demo_options();
  options.has_page = false;
  const auto server = test::start_server(options);
  ASSERT_TRUE(server);
  for (const PageFile& file : page_files()) {
    const auto answer = test::ask(server->port(), "GET", std::string(file.path));
    EXPECT_EQ(answer.status, 404);
    EXPECT_NE(answer.body.find("--no-web"), std::string::npos) << answer.body;
  }
  EXPECT_EQ(test::ask(server->port(), "GET", "/health").status, 200);
}

}  // namespace
}  // namespace parlance
