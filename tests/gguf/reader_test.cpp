#include "gguf/reader.h"

#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <limits>

#include "gguf/gguf_bytes.h"
#include "support/fixtures.h"

namespace parlance {
namespace {

using test::array_fields;
using test::field;
using test::GgufBytes;
using test::text_field;
using testing::TempDir;

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

// The message of refusing a file; empty when it is read.
std::string refusal(const GgufBytes& gguf) {
  const std::string bytes = gguf.file();
  const Result<GgufFile> file = GgufFile::parse(test::as_bytes(bytes), "m.gguf");
  return file ? "" : file.error().message;
}

void expect_words(const std::string& message, const std::vector<std::string>& words) {
  for (const std::string& word : words)
    EXPECT_NE(message.find(word), std::string::npos) << message << "\nlacks " << word;
}

template <class T>
std::string message_of(const Result<T>& result) {
  return result ? "" : result.error().message;
}

// A file with one value of every type.
class Values : public testing::Test {
 protected:
  void SetUp() override {
    GgufBytes gguf;
    gguf.key("u8", 0, field<uint8_t>(200)).key("i8", 1, field<int8_t>(-100));
    gguf.key("u16", 2, field<uint16_t>(60000)).key("i16", 3, field<int16_t>(-30000));
    gguf.key("u32", 4, field<uint32_t>(4000000000)).key("i32", 5, field<int32_t>(-2000000000));
    gguf.key("f32", 6, field(0.1f)).key("bool", 7, field<uint8_t>(7)).key("no", 7, field<uint8_t>(0));
    gguf.key("string", 8, text_field("text")).key("empty", 8, text_field(""));
    gguf.key("u64", 10, field<uint64_t>(~0ull)).key("i64", 11, field(kMin)).key("f64", 12, field(0.1));
    gguf.key("strings", 9, array_fields(8, 3, text_field("a") + text_field("") + text_field("ccc")));
    gguf.key("u16s", 9, array_fields(2, 2, field<uint16_t>(1) + field<uint16_t>(65535)));
    gguf.key("u64s", 9, array_fields(10, 1, field<uint64_t>(~0ull)));
    gguf.key("f32s", 9, array_fields(6, 2, field(0.5f) + field(-2.0f)));
    gguf.key("f64s", 9, array_fields(12, 1, field(0.5)));
    gguf.key("bools", 9, array_fields(7, 1, field<uint8_t>(1)));
    gguf.key("nothing", 9, array_fields(4, 0, ""));
    bytes_ = gguf.file();
    Result<GgufFile> file = GgufFile::parse(test::as_bytes(bytes_), "m.gguf");
    ASSERT_TRUE(file) << file.error().message;
    file_ = *std::move(file);
  }

  std::string bytes_;
  std::optional<GgufFile> file_;
};

TEST_F(Values, IntegersOfEveryType) {
  EXPECT_EQ(file_->get_int("u8", kMin, kMax), 200);
  EXPECT_EQ(file_->get_int("i8", kMin, kMax), -100);
  EXPECT_EQ(file_->get_int("u16", kMin, kMax), 60000);
  EXPECT_EQ(file_->get_int("i16", kMin, kMax), -30000);
  EXPECT_EQ(file_->get_int("u32", kMin, kMax), 4000000000);
  EXPECT_EQ(file_->get_int("i32", kMin, kMax), -2000000000);
  EXPECT_EQ(file_->get_int("i64", kMin, kMax), kMin);
}

TEST_F(Values, IntegerLimitsIncludeBothEnds) {
  EXPECT_TRUE(file_->get_int("u8", 200, 200));
  expect_words(message_of(file_->get_int("u8", 201, 300)), {"m.gguf", "u8", "201", "300", "found 200"});
  expect_words(message_of(file_->get_int("u8", 0, 199)), {"199", "found 200"});
  expect_words(message_of(file_->get_int("u64", kMin, kMax)), {"found 18446744073709551615"});
}

TEST_F(Values, FloatsFromEveryNumber) {
  EXPECT_EQ(file_->get_float("f32"), static_cast<double>(0.1f));
  EXPECT_EQ(file_->get_float("f64"), 0.1);
  EXPECT_EQ(file_->get_float("i16"), -30000.0);
  EXPECT_EQ(file_->get_float("u64"), 18446744073709551615.0);
}

TEST_F(Values, BoolsAndStrings) {
  EXPECT_EQ(*file_->find_bool("bool"), true);
  EXPECT_EQ(*file_->find_bool("no"), false);
  EXPECT_EQ(file_->get_string("string"), "text");
  EXPECT_EQ(file_->get_string("empty"), "");
}

TEST_F(Values, WrongTypesNameBothSides) {
  expect_words(message_of(file_->get_int("f32", kMin, kMax)),
               {"m.gguf", "f32", "expected an integer", "found f32"});
  expect_words(message_of(file_->get_int("bool", kMin, kMax)), {"found bool"});
  expect_words(message_of(file_->get_int("u16s", kMin, kMax)), {"found array of u16"});
  expect_words(message_of(file_->get_float("string")), {"expected a number", "found string"});
  expect_words(message_of(file_->get_string("u32")), {"expected a string", "found u32"});
  expect_words(message_of(file_->find_bool("u8")), {"expected a bool", "found u8"});
  expect_words(message_of(file_->find_strings("string")), {"expected an array of strings", "found string"});
  expect_words(message_of(file_->find_strings("f32s")), {"found array of f32"});
  expect_words(message_of(file_->find_ints("f32s", kMin, kMax)), {"expected an array of integers"});
  expect_words(message_of(file_->find_ints("bools", kMin, kMax)), {"found array of bool"});
  expect_words(message_of(file_->find_floats("strings")), {"expected an array of numbers"});
}

TEST_F(Values, AbsentKeys) {
  EXPECT_EQ(file_->find("absent"), nullptr);
  EXPECT_EQ(*file_->find_int("absent", 0, 1), std::optional<int64_t>());
  EXPECT_EQ(*file_->find_float("absent"), std::optional<double>());
  EXPECT_EQ(*file_->find_bool("absent"), std::optional<bool>());
  EXPECT_EQ(*file_->find_string("absent"), std::optional<std::string_view>());
  EXPECT_FALSE(file_->find_strings("absent")->has_value());
  EXPECT_FALSE(file_->find_ints("absent", 0, 1)->has_value());
  EXPECT_FALSE(file_->find_floats("absent")->has_value());
  const Result<int64_t> missing = file_->get_int("absent", 0, 1);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
  expect_words(missing.error().message, {"m.gguf", "absent", "missing", "expected an integer"});
}

TEST_F(Values, Arrays) {
  GgufStringArray strings = **file_->find_strings("strings");
  ASSERT_EQ(strings.size(), 3u);
  EXPECT_EQ(strings.next(), "a");
  GgufStringArray copy = strings;
  EXPECT_EQ(strings.next(), "");
  EXPECT_EQ(strings.next(), "ccc");
  EXPECT_EQ(strings.size(), 0u);
  EXPECT_EQ(copy.size(), 2u);
  EXPECT_EQ(copy.next(), "");

  EXPECT_EQ(**file_->find_ints("u16s", 0, 65535), (std::vector<int64_t>{1, 65535}));
  EXPECT_EQ(**file_->find_ints("u8", 0, 255), std::vector<int64_t>{200}) << "a scalar is an array of one";
  EXPECT_EQ(**file_->find_ints("nothing", 0, 0), std::vector<int64_t>{});
  expect_words(message_of(file_->find_ints("u16s", 0, 65534)), {"u16s", "found 65535"});
  expect_words(message_of(file_->find_ints("u64s", kMin, kMax)), {"found 18446744073709551615"});
  EXPECT_EQ(**file_->find_floats("f32s"), (std::vector<float>{0.5f, -2.0f}));
  EXPECT_EQ(**file_->find_floats("f64s"), std::vector<float>{0.5f});
  EXPECT_EQ(**file_->find_floats("u16s"), (std::vector<float>{1.0f, 65535.0f}));
}

TEST_F(Values, KeepTheOrderOfTheFile) {
  ASSERT_EQ(file_->metadata().size(), 21u);
  EXPECT_EQ(file_->metadata().front().first, "u8");
  EXPECT_EQ(file_->metadata().back().first, "nothing");
  EXPECT_EQ(file_->name(), "m.gguf");
  EXPECT_EQ(file_->version(), 3u);
  EXPECT_EQ(file_->alignment(), 32u);
  EXPECT_TRUE(file_->data().empty());
  EXPECT_TRUE(file_->still_whole());
}

// Another program may write into a mapped file after it was checked: lengths are not trusted again.
TEST_F(Values, StringArrayStaysInsideItsBytesWhenTheyChange) {
  const GgufValue* value = file_->find("strings");
  auto* length = const_cast<std::byte*>(value->bytes.data());
  std::fill_n(length, 8, std::byte{0xff});
  GgufStringArray strings(*value);
  size_t total = 0;
  while (strings.size() > 0) total += strings.next().size();
  EXPECT_LE(total, value->bytes.size());
}

TEST(Tensors, AreViewsOnTheData) {
  GgufBytes gguf;
  gguf.tensor("matrix", {32, 2}, 8, 0);        // q8_0: 2 rows of 34 bytes
  gguf.tensor("scalar", {}, 0, 96);            // no dimensions: one element
  gguf.tensor("cube", {1, 2, 3, 4}, 24, 128);  // i8
  for (int i = 0; i < 128 + 24; ++i) gguf.data.push_back(static_cast<char>(i));
  const std::string bytes = gguf.file();  // without the padding of the last tensor
  const Result<GgufFile> file = GgufFile::parse(test::as_bytes(bytes), "m.gguf");
  ASSERT_TRUE(file) << file.error().message;

  ASSERT_EQ(file->tensors().size(), 3u);
  const GgufTensor& matrix = file->tensors()[0];
  EXPECT_EQ(matrix.dtype, DType::q8_0);
  EXPECT_EQ(matrix.n_dims, 2u);
  EXPECT_EQ(matrix.ne, (std::array<int64_t, 4>{32, 2, 1, 1}));
  EXPECT_EQ(matrix.bytes.size(), 68u);
  const GgufTensor* scalar = file->find_tensor("scalar");
  ASSERT_NE(scalar, nullptr);
  EXPECT_EQ(scalar->ne, (std::array<int64_t, 4>{1, 1, 1, 1}));
  ASSERT_EQ(scalar->bytes.size(), 4u);
  EXPECT_EQ(scalar->bytes[0], std::byte{96});
  EXPECT_EQ(file->find_tensor("cube")->bytes.size(), 24u);
  EXPECT_EQ(file->find_tensor("absent"), nullptr);
  EXPECT_EQ(file->data().size(), 152u);
  EXPECT_EQ(file->bytes().size(), bytes.size());
}

TEST(Tensors, EveryAssignedTypeHasItsSize) {
  for (uint32_t id = 0; id < kDTypeCount; ++id) {
    const std::optional<DType> dtype = dtype_from_id(id);
    GgufBytes gguf;
    const int64_t n = dtype ? traits(*dtype).block_elements : 1;
    gguf.tensor("t", {n, 3}, id, 0);
    gguf.data.assign(dtype ? 3 * traits(*dtype).block_bytes : 12, 'x');
    EXPECT_EQ(refusal(gguf).empty(), dtype.has_value()) << id;
    gguf.data.pop_back();
    EXPECT_NE(refusal(gguf), "") << id << ": one byte is missing";
  }
}

TEST(Tensors, TypesThatMeanDifferentThingsAreRefusedByName) {
  for (const uint32_t id : {42u, 43u, 46u, 50u, 1000u}) {
    GgufBytes gguf;
    gguf.tensor("blk.0.attn_q.weight", {256}, id, 0);
    gguf.data.assign(4096, 'x');
    expect_words(refusal(gguf), {"blk.0.attn_q.weight", "type id " + std::to_string(id), "different"});
  }
  GgufBytes removed;
  removed.tensor("w", {32}, 4, 0);
  expect_words(refusal(removed), {"tensor w", "type id 4", "no longer"});
}

TEST(Tensors, NamesMayBeLongerThan64Bytes) {
  for (const size_t length : {size_t{64}, size_t{71}, size_t{1024}}) {
    const std::string name(length, 'n');
    GgufBytes gguf;
    gguf.tensor(name, {1}, 0, 0);
    gguf.data.assign(4, 'x');
    const std::string bytes = gguf.file();
    const Result<GgufFile> file = GgufFile::parse(test::as_bytes(bytes), "m.gguf");
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_NE(file->find_tensor(name), nullptr);
  }
  GgufBytes gguf;
  gguf.tensor(std::string(1025, 'n'), {1}, 0, 0);
  gguf.data.assign(4, 'x');
  expect_words(refusal(gguf), {"tensor 0", "1025", "1024"});
  GgufBytes unnamed;
  unnamed.tensor("", {1}, 0, 0);
  unnamed.data.assign(4, 'x');
  expect_words(refusal(unnamed), {"tensor 0", "empty name"});
}

TEST(Tensors, LieInOrderWithoutGapsOrOverlaps) {
  const auto two = [](uint64_t first, uint64_t second) {
    GgufBytes gguf;
    gguf.tensor("a", {9}, 0, first).tensor("b", {8}, 0, second);
    gguf.data.assign(256, 'x');
    return refusal(gguf);
  };
  EXPECT_EQ(two(0, 64), "");
  expect_words(two(0, 32), {"tensor b", "offset 32", "expected 64", "overlaps"});
  expect_words(two(0, 65), {"tensor b", "offset 65", "expected 64"});
  expect_words(two(0, 96), {"tensor b", "offset 96", "expected 64", "gap"});
  expect_words(two(32, 96), {"tensor a", "expected 0"});
  expect_words(two(64, 0), {"tensor a", "expected 0"});
  expect_words(two(0, 1 << 20), {"tensor b", "256"});
  expect_words(two(0, ~uint64_t{31}), {"tensor b", "18446744073709551584"});
}

TEST(Tensors, AlignmentMovesDataAndOffsets) {
  for (const uint32_t alignment : {8u, 16u, 64u, 4096u, 1u << 20}) {
    GgufBytes gguf;
    gguf.alignment = alignment;
    gguf.key("general.alignment", 4, field(alignment));
    gguf.tensor("a", {1}, 0, 0).tensor("b", {1}, 0, alignment);
    gguf.data = "abcd" + std::string(alignment - 4, '\0') + "efgh";
    const std::string bytes = gguf.file();
    const Result<GgufFile> file = GgufFile::parse(test::as_bytes(bytes), "m.gguf");
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_EQ(file->alignment(), alignment);
    EXPECT_EQ(file->find_tensor("b")->bytes[0], std::byte{'e'});
  }
  for (const uint32_t alignment : {0u, 1u, 4u, 24u, 1u << 21, 1u << 31, ~0u}) {
    GgufBytes gguf;
    gguf.key("general.alignment", 4, field(alignment));
    expect_words(refusal(gguf), {"general.alignment", "power of two", std::to_string(alignment)});
  }
  GgufBytes wide;
  wide.key("general.alignment", 10, field<uint64_t>(32));
  expect_words(refusal(wide), {"general.alignment", "expected u32", "found u64"});
}

TEST(Tensors, SizesThatOverflowAreRefused) {
  const auto sized = [](const std::vector<int64_t>& ne, uint32_t type) {
    GgufBytes gguf;
    gguf.tensor("t", ne, type, 0);
    gguf.data.assign(64, 'x');
    return refusal(gguf);
  };
  expect_words(sized({int64_t{1} << 32, int64_t{1} << 32}, 24), {"tensor t", "elements"});
  expect_words(sized({int64_t{1} << 62}, 28), {"tensor t", "bytes"});
  expect_words(sized({kMax}, 24), {"tensor t", "64"});
  expect_words(sized({-1, -1}, 24), {"tensor t", "size -1"});
  expect_words(sized({8, 0}, 24), {"tensor t", "size 0 of dimension 1"});
  expect_words(sized({1, 1, 1, 1, 1}, 24), {"tensor t", "5 dimensions"});
  expect_words(sized({33}, 8), {"tensor t", "33", "q8_0", "multiple of 32"});
}

TEST(Reader, Header) {
  GgufBytes gguf;
  EXPECT_EQ(refusal(gguf), "") << "no keys and no tensors";
  gguf.version = 2;
  EXPECT_EQ(refusal(gguf), "");
  gguf.version = 1;
  expect_words(refusal(gguf), {"version 1", "current"});
  gguf.version = 4;
  expect_words(refusal(gguf), {"version 4"});
  gguf.version = 0x03000000;
  expect_words(refusal(gguf), {"big-endian"});
  gguf = {};
  gguf.n_tensors = uint64_t{1} << 40;
  expect_words(refusal(gguf), {"tensor count 1099511627776"});
  gguf = {};
  gguf.n_keys = ~uint64_t{0};
  expect_words(refusal(gguf), {"key count -1"});
}

TEST(Reader, NamesOfKeys) {
  GgufBytes twice;
  twice.key("b", 0, "x").key("a", 0, "x").key("b", 4, field<uint32_t>(1));
  expect_words(refusal(twice), {"key b", "twice"});
  GgufBytes empty;
  empty.key("a", 0, "x").key("", 8, text_field("value"));
  expect_words(refusal(empty), {"key 1", "empty name"});
  GgufBytes long_name;
  long_name.key(std::string(65536, 'k'), 0, "x");
  expect_words(refusal(long_name), {"65536", "65535"});
  GgufBytes twice_tensor;
  twice_tensor.tensor("w", {8}, 0, 0).tensor("v", {8}, 0, 32).tensor("w", {8}, 0, 64);
  twice_tensor.data.assign(96, 'x');
  expect_words(refusal(twice_tensor), {"tensor w", "twice"});
}

// Messages stay one line of plain text whatever the file calls its things.
TEST(Reader, NamesInMessagesAreMadePrintable) {
  GgufBytes gguf;
  gguf.key("a\n\x1b[31m\xff", 99, "");
  const std::string message = refusal(gguf);
  expect_words(message, {"key a\\x0a\\x1b[31m\\xff", "99"});
  GgufBytes long_name;
  long_name.key(std::string(5000, 'k'), 99, "");
  EXPECT_LT(refusal(long_name).size(), 400u);
}

TEST(Reader, CountsAreComparedWithTheBytesThatAreThere) {
  const auto with = [](uint32_t type, const std::string& value) {
    GgufBytes gguf;
    gguf.key("k", type, value);
    return refusal(gguf);
  };
  expect_words(with(8, field(~uint64_t{0})), {"key k", "18446744073709551615"});
  expect_words(with(8, field(uint64_t{9}) + "eight..."), {"key k", "9", "8 left"});
  expect_words(with(9, array_fields(10, uint64_t{1} << 61, "")), {"key k", "2305843009213693952"});
  expect_words(with(9, array_fields(0, uint64_t{1} << 30, "")), {"key k", "1073741824"});
  expect_words(with(9, array_fields(8, 3, text_field("") + text_field(""))), {"key k", "3 strings"});
  expect_words(with(9, array_fields(8, 2, text_field("") + field<uint64_t>(1))), {"key k"});
  expect_words(with(9, array_fields(9, 0, "")), {"key k", "array of arrays"});
  expect_words(with(9, array_fields(13, 0, "")), {"key k", "13"});
  expect_words(with(13, "x"), {"key k", "13"});
}

TEST(Reader, BytesOfAPartAloneAreRefused) {
  const auto part = [](uint16_t number, uint16_t count) {
    GgufBytes gguf;
    gguf.key("split.no", 2, field(number)).key("split.count", 2, field(count));
    return refusal(gguf);
  };
  EXPECT_EQ(part(0, 1), "");
  EXPECT_EQ(part(0, 0), "");
  expect_words(part(1, 3), {"part 2 of 3", "beside the others"});
  expect_words(part(3, 3), {"split.no", "found 3"});
}

// Names that differ late, and so many that comparing each with each would not end: finding equal ones sorts
// them.
TEST(Reader, ManyKeys) {
  constexpr uint64_t kKeys = 200000;
  GgufBytes gguf;
  for (uint64_t i = 0; i < kKeys; ++i) {
    gguf.key("some.common.beginning." + std::to_string(i * 7919 % kKeys), 0, "x");
  }
  const std::string bytes = gguf.file();
  const Result<GgufFile> file = GgufFile::parse(test::as_bytes(bytes), "m.gguf");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_NE(file->find("some.common.beginning.199999"), nullptr);
  EXPECT_EQ(file->find("some.common.beginning.200000"), nullptr);
  gguf.key("some.common.beginning.0", 0, "x");
  expect_words(refusal(gguf), {"some.common.beginning.0", "twice"});
}

class OnDisk : public testing::Test {
 protected:
  void SetUp() override {
    const testing::TestInfo* test = testing::UnitTest::GetInstance()->current_test_info();
    path_ = std::filesystem::path(TempDir()) / (std::string("parlance_") + test->name() + ".gguf");
    std::filesystem::remove(path_);
  }
  void TearDown() override { std::filesystem::remove(path_); }

  std::filesystem::path path_;
};

TEST_F(OnDisk, OpensAndNoticesShortening) {
  GgufBytes gguf;
  gguf.tensor("w", {1024}, 0, 0);
  gguf.data.assign(4096, 'x');
  std::ofstream(path_, std::ios::binary) << gguf.file();
  std::optional<GgufFile> kept;
  {
    const Result<GgufFile> file = GgufFile::open(path_);
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_EQ(file->name(), path_.string());
    kept = *file;  // copies share the mapping
  }
  EXPECT_EQ(kept->find_tensor("w")->bytes[4095], std::byte{'x'});
  EXPECT_TRUE(kept->still_whole());
  std::filesystem::resize_file(path_, 100);
  EXPECT_FALSE(kept->still_whole());
}

TEST_F(OnDisk, WhatIsNoFile) {
  const Result<GgufFile> absent = GgufFile::open(path_);
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code, ErrorCode::not_found);
  expect_words(absent.error().message, {path_.string()});
  expect_words(message_of(GgufFile::open(TempDir())), {"regular file"});
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  expect_words(message_of(GgufFile::open(path_)), {path_.string(), "regular file"});
  std::filesystem::remove(path_);
  std::ofstream(path_).flush();
  expect_words(message_of(GgufFile::open(path_)), {path_.string(), "empty"});
}

// Every model of the fixtures opens, and its tensors tile the data section.
TEST(Reader, FixtureModels) {
  PARLANCE_REQUIRE_FIXTURES("");
  int n_files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(test::fixtures_root())) {
    if (entry.path().extension() != ".gguf") continue;
    SCOPED_TRACE(entry.path().string());
    const Result<GgufFile> file = GgufFile::open(entry.path());
    ASSERT_TRUE(file) << file.error().message;
    ++n_files;
    EXPECT_TRUE(file->get_string("general.architecture"));
    size_t end = 0;
    for (const GgufTensor& tensor : file->tensors()) {
      const auto begin = static_cast<size_t>(tensor.bytes.data() - file->data().data());
      EXPECT_GE(begin, end);
      end = begin + tensor.bytes.size();
      EXPECT_EQ(file->find_tensor(tensor.name), &tensor);
    }
    EXPECT_LE(end, file->data().size());
  }
  EXPECT_GT(n_files, 0);
}

}  // namespace
}  // namespace parlance
