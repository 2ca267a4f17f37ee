#include "bundle/sha256.h"

#include <fstream>

#include "support/temporary_folder.h"

namespace parlance {
namespace {

std::string sum_of(std::string_view text) {
  return sha256(std::as_bytes(std::span(text)));
}

// The examples of FIPS 180-4.
TEST(Sha256, PublishedVectors) {
  EXPECT_EQ(sum_of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sum_of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sum_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sum_of(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, OfFilesInTheirOrder) {
  const test::TemporaryFolder folder;
  std::vector<std::filesystem::path> paths;
  for (int i = 0; i < 9; ++i) {
    paths.push_back(folder / std::to_string(i));
    if (i != 4) std::ofstream(paths.back()) << std::string(static_cast<size_t>(i) * 1000, 'x');
  }
  const auto digests = digests_of_files(paths);
  ASSERT_EQ(digests.size(), 9u);
  for (size_t i = 0; i < 9; ++i) {
    ASSERT_EQ(digests[i].has_value(), i != 4);
    if (i == 4) continue;
    EXPECT_EQ(digests[i]->n_bytes, i * 1000);
    EXPECT_EQ(digests[i]->sha256, sum_of(std::string(i * 1000, 'x')));
  }
  EXPECT_EQ(digests[4].error().code, ErrorCode::not_found);
  EXPECT_TRUE(digests_of_files({}).empty());
}

}  // namespace
}  // namespace parlance
