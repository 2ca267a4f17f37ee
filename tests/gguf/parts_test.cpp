// Models that were split over several files.
#include "gguf/parts.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <numeric>

#include "gguf/gguf_bytes.h"
#include "gguf/reader.h"

namespace parlance {
namespace {

using test::field;
using test::GgufBytes;
using test::text_field;

constexpr size_t kTensors = 5;

// A model of a few tensors of different sizes, in files of a folder of its own.
class Parts : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) /
              ("parts-" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static std::string name_of(size_t index, size_t count) {
    return fmt::format("m-{:05}-of-{:05}.gguf", index + 1, count);
  }

  static std::string values(size_t tensor) {
    std::string bytes;
    for (size_t i = 0; i < 8 * (tensor + 1); ++i) bytes += field(static_cast<float>(100 * tensor + i));
    return bytes;
  }

  // Tensors [first, end) as records and bytes.
  static void add_tensors(GgufBytes& gguf, size_t first, size_t end) {
    for (size_t i = first; i < end; ++i) {
      gguf.tensor("t" + std::to_string(i), {static_cast<int64_t>(8 * (i + 1))}, 0, gguf.data.size());
      gguf.data += values(i);
    }
  }

  static void say_part(GgufBytes& gguf, size_t index, size_t count, size_t n_tensors = kTensors) {
    gguf.key("split.no", 2, field(static_cast<uint16_t>(index)));
    gguf.key("split.tensors.count", 5, field(static_cast<int32_t>(n_tensors)));
    gguf.key("split.count", 2, field(static_cast<uint16_t>(count)));
  }

  void write(const std::string& name, const GgufBytes& gguf) const {
    const std::string bytes = gguf.file();
    std::ofstream(folder_ / name, std::ios::binary).write(bytes.data(), std::ssize(bytes));
  }

  // Part i has tensors [ends[i - 1], ends[i]).
  void write_parts(const std::vector<size_t>& ends) const {
    for (size_t i = 0; i < ends.size(); ++i) {
      GgufBytes gguf;
      if (i == 0) gguf.key("general.architecture", 8, text_field("qwen3"));
      say_part(gguf, i, ends.size());
      add_tensors(gguf, i == 0 ? 0 : ends[i - 1], ends[i]);
      write(name_of(i, ends.size()), gguf);
    }
  }

  Result<GgufFile> open(size_t index, size_t count) const {
    return GgufFile::open(folder_ / name_of(index, count));
  }

  void expect_refused(size_t index, size_t count, const std::vector<std::string>& words) const {
    const auto file = open(index, count);
    ASSERT_FALSE(file);
    for (const std::string& word : words) {
      EXPECT_NE(file.error().message.find(word), std::string::npos)
          << file.error().message << "\nlacks " << word;
    }
    EXPECT_EQ(file.error().message.find('\n'), std::string::npos);
  }

  static void expect_whole(const GgufFile& file) {
    ASSERT_EQ(file.tensors().size(), kTensors);
    for (size_t i = 0; i < kTensors; ++i) {
      const GgufTensor* tensor = file.find_tensor("t" + std::to_string(i));
      ASSERT_TRUE(tensor);
      EXPECT_EQ(tensor, &file.tensors()[i]);
      const std::string wanted = values(i);
      EXPECT_TRUE(std::ranges::equal(tensor->bytes, test::as_bytes(wanted))) << i;
    }
    EXPECT_EQ(file.get_string("general.architecture").value_or("nothing"), "qwen3");
    EXPECT_EQ(file.metadata().size(), 1u) << "what tells of parts is not of the model";
    EXPECT_FALSE(file.find("split.count"));
    EXPECT_TRUE(file.still_whole());
  }

  std::filesystem::path folder_;
};

TEST_F(Parts, AreOneModelWhereverItIsCutAndWhicheverIsNamed) {
  std::vector<std::vector<size_t>> cuts;
  for (size_t a = 0; a <= kTensors; ++a) {
    cuts.push_back({a, kTensors});
    for (size_t b = a; b <= kTensors; ++b) cuts.push_back({a, b, kTensors});
  }
  cuts.push_back({1, 2, 3, 4, 5});
  for (const auto& ends : cuts) {
    write_parts(ends);
    size_t n_bytes = 0;
    for (size_t i = 0; i < ends.size(); ++i)
      n_bytes += std::filesystem::file_size(folder_ / name_of(i, ends.size()));
    for (size_t i = 0; i < ends.size(); ++i) {
      const auto file = open(i, ends.size());
      ASSERT_TRUE(file) << file.error().message;
      expect_whole(*file);
      EXPECT_EQ(file->n_bytes(), n_bytes);
      EXPECT_TRUE(file->name().ends_with(name_of(0, ends.size())));
      for (const GgufTensor& tensor : file->tensors())  // too little for huge pages: copied or not, all stay
        file->copy_when_moved({tensor.bytes, tensor.bytes.size(), [](auto&&...) {}});
      file->move_to_huge_pages();
      file->wait_for_huge_pages();
      expect_whole(*file);
    }
  }
}

TEST_F(Parts, StayReadableWhenTheirFilesAreGone) {
  write_parts({2, kTensors});
  auto file = open(0, 2);
  ASSERT_TRUE(file);
  const GgufFile copy = *file;
  file = fail(ErrorCode::io, "let go of");
  std::filesystem::remove_all(folder_);
  expect_whole(copy);
}

TEST_F(Parts, AnyThatWasShortenedIsNoticed) {
  for (size_t i = 0; i < 3; ++i) {
    write_parts({1, 3, kTensors});
    const auto file = open(0, 3);
    ASSERT_TRUE(file);
    std::filesystem::resize_file(folder_ / name_of(i, 3), 40);
    EXPECT_FALSE(file->still_whole()) << i;
  }
}

TEST_F(Parts, OneThatIsMissingIsNamed) {
  for (size_t missing = 0; missing < 3; ++missing) {
    write_parts({1, 3, kTensors});
    std::filesystem::remove(folder_ / name_of(missing, 3));
    for (size_t named = 0; named < 3; ++named) {
      if (named == missing) continue;
      expect_refused(named, 3,
                     {name_of(missing, 3), "part " + std::to_string(missing + 1) + " of 3", "get it again"});
    }
  }
}

TEST_F(Parts, OneOfAnotherModelIsRefused) {
  write_parts({2, kTensors});
  GgufBytes other;
  say_part(other, 0, 2);
  write(name_of(1, 2), other);
  expect_refused(0, 2, {name_of(1, 2), "says that it is part 1 of 2", "expected part 2 of 2"});
  expect_refused(1, 2, {"should end in -00001-of-00002.gguf"});

  write_parts({2, kTensors});
  GgufBytes whole;
  add_tensors(whole, 2, kTensors);
  write(name_of(1, 2), whole);
  expect_refused(0, 2, {"a whole model", "expected part 2 of 2"});

  GgufBytes repeated;
  say_part(repeated, 1, 2);
  add_tensors(repeated, 1, 4);
  write(name_of(1, 2), repeated);
  expect_refused(0, 2, {"tensor t1 is in two parts"});

  GgufBytes few;
  say_part(few, 1, 2);
  add_tensors(few, 2, 4);
  write(name_of(1, 2), few);
  expect_refused(0, 2, {"have 5 tensors, they have 4"});
}

TEST_F(Parts, ADamagedOneIsRefused) {
  write_parts({2, kTensors});
  std::filesystem::resize_file(folder_ / name_of(1, 2), 60);
  expect_refused(0, 2, {name_of(1, 2), "part 2 of 2"});
}

TEST_F(Parts, NamesSayWhichTheyAre) {
  write_parts({2, kTensors});
  std::filesystem::rename(folder_ / name_of(0, 2), folder_ / "renamed.gguf");
  const auto file = GgufFile::open(folder_ / "renamed.gguf");
  ASSERT_FALSE(file);
  EXPECT_NE(file.error().message.find("should end in -00001-of-00002.gguf"), std::string::npos);
  // So many parts as a number can say end at the first that is not there.
  GgufBytes many;
  say_part(many, 0, 65535);
  write(name_of(0, 65535), many);
  expect_refused(0, 65535, {"part 2 of 65535"});
}

}  // namespace
}  // namespace parlance
