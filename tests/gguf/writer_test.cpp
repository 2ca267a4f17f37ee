#include "gguf/writer.h"

#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <fstream>

#include "gguf/gguf_bytes.h"
#include "support/fixtures.h"

namespace parlance {
namespace {

namespace fs = std::filesystem;
using test::as_bytes;

// A folder of its own, to see what a failure leaves behind.
class Writer : public testing::Test {
 protected:
  void SetUp() override {
    const testing::TestInfo* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::path(testing::TempDir()) / (std::string("parlance_gguf_") + test->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    path_ = folder_ / "out.gguf";
  }
  void TearDown() override { fs::remove_all(folder_); }

  size_t n_files() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  fs::path folder_;
  fs::path path_;
};

// Keys, values, tensors and their bytes as in `from`.
Result<void> write_again(const GgufFile& from, const fs::path& path) {
  GgufWriter writer;
  for (const auto& [key, value] : from.metadata()) writer.copy(key, value);
  for (const GgufTensor& tensor : from.tensors()) {
    writer.add_tensor(tensor.name, tensor.dtype, std::span(tensor.ne).first(tensor.n_dims));
  }
  PARLANCE_CHECK(writer.begin(path));
  for (const GgufTensor& tensor : from.tensors()) PARLANCE_CHECK(writer.write_tensor(tensor.bytes));
  return writer.finish();
}

void expect_equal(const GgufFile& a, const GgufFile& b) {
  ASSERT_EQ(a.metadata().size(), b.metadata().size());
  for (size_t i = 0; i < a.metadata().size(); ++i) {
    const auto& [key, value] = a.metadata()[i];
    const auto& [other_key, other] = b.metadata()[i];
    EXPECT_EQ(key, other_key);
    EXPECT_EQ(value.type, other.type) << key;
    EXPECT_EQ(value.element_type, other.element_type) << key;
    EXPECT_EQ(value.n_elements, other.n_elements) << key;
    EXPECT_TRUE(std::ranges::equal(value.bytes, other.bytes)) << key;
  }
  ASSERT_EQ(a.tensors().size(), b.tensors().size());
  for (size_t i = 0; i < a.tensors().size(); ++i) {
    const GgufTensor& tensor = a.tensors()[i];
    const GgufTensor& other = b.tensors()[i];
    EXPECT_EQ(tensor.name, other.name);
    EXPECT_EQ(tensor.dtype, other.dtype) << tensor.name;
    EXPECT_EQ(tensor.n_dims, other.n_dims) << tensor.name;
    EXPECT_EQ(tensor.ne, other.ne) << tensor.name;
    EXPECT_TRUE(std::ranges::equal(tensor.bytes, other.bytes)) << tensor.name;
  }
}

TEST_F(Writer, FixtureModelsAgain) {
  PARLANCE_REQUIRE_FIXTURES("");
  int n_models = 0;
  for (const auto& entry : fs::recursive_directory_iterator(test::fixtures_root())) {
    if (entry.path().extension() != ".gguf") continue;
    SCOPED_TRACE(entry.path().string());
    const Result<GgufFile> original = GgufFile::open(entry.path());
    ASSERT_TRUE(original) << original.error().message;
    const Result<void> written = write_again(*original, path_);
    ASSERT_TRUE(written) << written.error().message;
    const Result<GgufFile> copy = GgufFile::open(path_);
    ASSERT_TRUE(copy) << copy.error().message;
    expect_equal(*original, *copy);
    ++n_models;
    // Header, records and padding have one form, so what other tools wrote is met byte for byte; they differ
    // in padding the last tensor.
    if (original->version() != kGgufVersion) continue;
    const std::span<const std::byte> before = original->bytes(), after = copy->bytes();
    ASSERT_GE(after.size() + original->alignment(), before.size());
    EXPECT_TRUE(std::ranges::equal(before.first(std::min(before.size(), after.size())),
                                   after.first(std::min(before.size(), after.size()))));
  }
  EXPECT_GT(n_models, 0);
}

TEST_F(Writer, ValuesOfEveryKind) {
  GgufWriter writer;
  writer.set_string("general.architecture", "test");
  writer.set_u32("u32", 4000000000);
  writer.set_u64("u64", uint64_t{1} << 40);
  writer.set_i32("i32", -5);
  writer.set_f32("f32", 0.25f);
  writer.set_bool("yes", true);
  writer.set_bool("no", false);
  const std::vector<std::string> words{"one", "", std::string("th\0ree", 6)};
  writer.set_strings("words", words);
  writer.set_i32s("i32s", std::vector<int32_t>{-1, 0, 1});
  writer.set_f32s("f32s", std::vector<float>{0.5f});
  writer.set_f32s("none", {});
  writer.set_u32("u32", 7);  // again: the value is replaced, the place is kept
  const std::vector<std::byte> matrix(64 * 18, std::byte{1}), row(12, std::byte{2});
  writer.add_tensor("matrix", DType::q4_0, std::vector<int64_t>{64, 32});
  writer.add_tensor("row", DType::f32, std::vector<int64_t>{3});
  ASSERT_TRUE(writer.begin(path_));
  ASSERT_TRUE(writer.write_tensor(matrix));
  ASSERT_TRUE(writer.write_tensor(row));
  EXPECT_FALSE(fs::exists(path_)) << "only a whole file gets the name";
  ASSERT_TRUE(writer.finish());
  EXPECT_EQ(n_files(), 1u);
  EXPECT_EQ(fs::file_size(path_) % 32, 0u);

  const Result<GgufFile> file = GgufFile::open(path_);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->alignment(), 32u);
  EXPECT_EQ(file->metadata()[1].first, "u32");
  EXPECT_EQ(file->get_int("u32", 0, 100), 7);
  EXPECT_EQ(file->get_int("u64", 0, int64_t{1} << 40), int64_t{1} << 40);
  EXPECT_EQ(file->get_int("i32", -5, -5), -5);
  EXPECT_EQ(file->get_float("f32"), 0.25);
  EXPECT_EQ(*file->find_bool("yes"), true);
  EXPECT_EQ(*file->find_bool("no"), false);
  GgufStringArray strings = **file->find_strings("words");
  ASSERT_EQ(strings.size(), words.size());
  for (const std::string& word : words) EXPECT_EQ(strings.next(), word);
  EXPECT_EQ(**file->find_ints("i32s", -1, 1), (std::vector<int64_t>{-1, 0, 1}));
  EXPECT_EQ(**file->find_floats("f32s"), std::vector<float>{0.5f});
  EXPECT_EQ(**file->find_floats("none"), std::vector<float>{});
  EXPECT_TRUE(std::ranges::equal(file->find_tensor("matrix")->bytes, matrix));
  EXPECT_TRUE(std::ranges::equal(file->find_tensor("row")->bytes, row));
}

TEST_F(Writer, KeepsAnAlignmentThatIsAskedFor) {
  GgufWriter writer;
  writer.set_u32(kGgufAlignmentKey, 4096);
  writer.add_tensor("a", DType::f32, std::vector<int64_t>{1});
  writer.add_tensor("b", DType::f32, std::vector<int64_t>{1});
  const std::vector<std::byte> one(4);
  ASSERT_TRUE(writer.begin(path_));
  ASSERT_TRUE(writer.write_tensor(one));
  ASSERT_TRUE(writer.write_tensor(one));
  ASSERT_TRUE(writer.finish());
  const Result<GgufFile> file = GgufFile::open(path_);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->alignment(), 4096u);
  EXPECT_EQ(fs::file_size(path_), 3 * 4096u);

  writer.set_u32(kGgufAlignmentKey, 33);
  EXPECT_FALSE(writer.begin(path_));
  writer.set_u64(kGgufAlignmentKey, 32);
  EXPECT_FALSE(writer.begin(path_)) << "the key is a u32";
}

TEST_F(Writer, RefusesWhatNoReaderWouldTake) {
  const auto refuses = [this](std::string_view key, std::string_view tensor, DType dtype,
                              std::vector<int64_t> ne) {
    GgufWriter writer;
    writer.set_u32(key, 1);
    writer.add_tensor("first", DType::f32, std::vector<int64_t>{1});
    writer.add_tensor(tensor, dtype, ne);
    return !writer.begin(path_);
  };
  EXPECT_FALSE(refuses("key", "second", DType::f32, {}));
  EXPECT_TRUE(refuses("", "second", DType::f32, {1}));
  EXPECT_TRUE(refuses(std::string(65536, 'k'), "second", DType::f32, {1}));
  EXPECT_TRUE(refuses("key", "", DType::f32, {1}));
  EXPECT_TRUE(refuses("key", std::string(1025, 't'), DType::f32, {1}));
  EXPECT_TRUE(refuses("key", "first", DType::f32, {1}));
  EXPECT_TRUE(refuses("key", "second", DType::f32, {0}));
  EXPECT_TRUE(refuses("key", "second", DType::f32, {1, 1, 1, 1, 1}));
  EXPECT_TRUE(refuses("key", "second", DType::q4_k, {32}));
  EXPECT_TRUE(refuses("key", "second", DType::f64, {int64_t{1} << 62}));
  EXPECT_TRUE(refuses("key", "second", DType::i8, {int64_t{1} << 62, 4}));
  EXPECT_EQ(n_files(), 0u);
}

TEST_F(Writer, UnfinishedFilesLeaveNothing) {
  std::ofstream(path_) << "what was there";
  {
    GgufWriter writer;
    writer.add_tensor("a", DType::f32, std::vector<int64_t>{2});
    ASSERT_TRUE(writer.begin(path_));
    const Result<void> wrong = writer.write_tensor(std::vector<std::byte>(4));
    ASSERT_FALSE(wrong);
    EXPECT_NE(wrong.error().message.find("tensor a: expected 8 bytes, got 4"), std::string::npos)
        << wrong.error().message;
    EXPECT_FALSE(writer.finish()) << "a tensor is missing";
    EXPECT_EQ(n_files(), 1u);

    ASSERT_TRUE(writer.begin(path_));
    ASSERT_TRUE(writer.write_tensor(std::vector<std::byte>(8)));
    EXPECT_FALSE(writer.write_tensor(std::vector<std::byte>(8))) << "one more than declared";
  }
  EXPECT_EQ(n_files(), 1u);
  EXPECT_EQ(test::read_text(path_), "what was there");
}

// A disk that is full, played by a limit on the size of files.
TEST_F(Writer, AFullDiskIsAnErrorAndLeavesNothing) {
  std::ofstream(path_) << "what was there";
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit small = before;
  small.rlim_cur = 100000;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  Result<void> written;
  {
    GgufWriter writer;
    writer.add_tensor("a", DType::f32, std::vector<int64_t>{16384});
    writer.add_tensor("b", DType::f32, std::vector<int64_t>{16384});
    const std::vector<std::byte> tensor(65536);
    EXPECT_TRUE(writer.begin(path_));
    EXPECT_TRUE(writer.write_tensor(tensor));
    written = writer.write_tensor(tensor);
    EXPECT_FALSE(writer.finish());
  }
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::io);
  EXPECT_NE(written.error().message.find("out.gguf"), std::string::npos) << written.error().message;
  EXPECT_EQ(n_files(), 1u);
  EXPECT_EQ(test::read_text(path_), "what was there");
}

TEST_F(Writer, NamesAFolderThatIsNotThere) {
  GgufWriter writer;
  const Result<void> begun = writer.begin(folder_ / "absent" / "out.gguf");
  ASSERT_FALSE(begun);
  EXPECT_EQ(begun.error().code, ErrorCode::not_found);
}

}  // namespace
}  // namespace parlance
