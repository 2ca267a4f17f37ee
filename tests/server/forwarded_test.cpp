// Blocks of addresses, and whom proxies are believed to speak for.
#include "server/forwarded.h"

#include <gtest/gtest.h>

namespace parlance {
namespace {

TEST(AddressBlocks, HaveTheAddressesThatBeginAlike) {
  struct Case {
    const char *block, *address;
    bool is_in;
  };
  for (const auto& [block, address, is_in] : std::initializer_list<Case>{
           {"10.0.0.0/8", "10.255.0.1", true},
           {"10.0.0.0/8", "11.0.0.1", false},
           {"192.168.4.128/25", "192.168.4.255", true},
           {"192.168.4.128/25", "192.168.4.127", false},
           {"10.1.2.3", "10.1.2.3", true},
           {"10.1.2.3", "10.1.2.2", false},
           {"10.0.0.0/8", "::ffff:10.1.1.1", true},
           {"0.0.0.0/0", "1.2.3.4", true},
           {"0.0.0.0/0", "fd00::1", false},
           {"::/0", "fd00::1", true},
           {"fd00::/8", "fdff::2", true},
           {"fd00::/8", "fe80::2", false},
           {"::1", "::1", true},
           {"10.0.0.0/8", "", false},
           {"10.0.0.0/8", "10.0.0", false},
           {"10.0.0.0/8", "10.0.0.1 ", false},
           {"unix", "unix", true},
           {"unix", "127.0.0.1", false},
           {"0.0.0.0/0", "unix", false},
       }) {
    const auto parsed = AddressBlock::parse(block);
    ASSERT_TRUE(parsed) << block;
    EXPECT_EQ(parsed->contains(address), is_in) << block << " " << address;
  }
  for (const char* text : {"", "/", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "::/129", "10.0.0/8", "a/8",
                           "10.0.0.0/8/8", "10.0.0.0/8 ", "localhost"})
    EXPECT_FALSE(AddressBlock::parse(text)) << text;
}

class Forwarded : public testing::Test {
 protected:
  HttpRequest seen(const std::string& from, std::vector<HttpField> fields) const {
    HttpRequest request;
    request.remote_address = from;
    request.fields = std::move(fields);
    request.fields.insert(request.fields.begin(), {"host", "inside:8080"});
    return as_forwarded(std::move(request), trusted_);
  }

  const std::vector<AddressBlock> trusted_ = {*AddressBlock::parse("127.0.0.1"),
                                              *AddressBlock::parse("10.0.0.0/8")};
};

TEST_F(Forwarded, WhoIsNotTrustedIsNotBelieved) {
  const HttpRequest request = seen(
      "192.0.2.9",
      {{"x-forwarded-for", "10.1.1.1"}, {"x-forwarded-proto", "https"}, {"x-forwarded-host", "app.example"}});
  EXPECT_EQ(request.remote_address, "192.0.2.9");
  EXPECT_EQ(request.field("host"), "inside:8080");
  EXPECT_FALSE(request.is_secure);
}

TEST_F(Forwarded, OfAChainTheLastOneThatIsNotOursHasAsked) {
  const auto who = [&](const std::string& chain) {
    return seen("127.0.0.1", {{"x-forwarded-for", chain}}).remote_address;
  };
  EXPECT_EQ(who("192.0.2.1"), "192.0.2.1");
  EXPECT_EQ(who("203.0.113.7, 192.0.2.1"), "192.0.2.1") << "the client's own invention";
  EXPECT_EQ(who("203.0.113.7, 192.0.2.1,10.0.0.5"), "192.0.2.1");
  EXPECT_EQ(who("10.0.0.6, 10.0.0.5"), "10.0.0.6");
  EXPECT_EQ(who(""), "127.0.0.1");
  EXPECT_EQ(who("unknown"), "127.0.0.1");
  EXPECT_EQ(who("192.0.2.1, \"x\ny\""), "127.0.0.1") << "it would be in the log";
}

TEST_F(Forwarded, NamesAndTlsAreThoseOfTheProxy) {
  const HttpRequest request =
      seen("127.0.0.1", {{"x-forwarded-proto", "HTTPS"}, {"x-forwarded-host", "evil, app.example"}});
  EXPECT_TRUE(request.is_secure);
  EXPECT_EQ(request.field("host"), "app.example");
  EXPECT_FALSE(seen("127.0.0.1", {{"x-forwarded-proto", "https, http"}}).is_secure);
}

}  // namespace
}  // namespace parlance
