// Logits and greedy continuations of every recorded model whose architecture this program runs, on every
// device and instruction set of this machine.
#include <algorithm>
#include <cmath>

#include "kernels/support/devices.h"
#include "support/json_file.h"
#include "support/text_model.h"

namespace parlance {
namespace {

using test::fixture_files;

bool has_only(const TextModel& model, std::initializer_list<DType> dtypes) {
  return std::all_of(model.file().tensors().begin(), model.file().tensors().end(), [&](const auto& tensor) {
    return std::find(dtypes.begin(), dtypes.end(), tensor.dtype) != dtypes.end();
  });
}

// How f32 and f16 weights are multiplied, by this device: f16 ones may meet activations as 16-bit integers.
struct Accuracy {
  bool is_exact;
  double of_reference;  // budget of the rms error: times that of the reference, whose activations are halves
                        // or bytes
};

Accuracy accuracy_of(const TextModel& model, const test::DeviceCase& device) {
  const bool rounds_f16 = device.name.starts_with("cpu_avx512");
  if (has_only(model, {DType::f32})) return {true, 0};
  if (has_only(model, {DType::f32, DType::f16})) return {!rounds_f16, 0.5};
  return {false, 1.5};
}

double rms_distance(std::span<const float> a, const std::vector<float>& b) {
  double sum = 0;
  for (size_t i = 0; i < b.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(sum / static_cast<double>(b.size()));
}

bool is_supported(const std::filesystem::path& path) {
  const auto file = GgufFile::open(path);
  if (!file) return false;
  const auto name = file->get_string("general.architecture");
  return name && std::any_of(architectures().begin(), architectures().end(),
                             [&](const Architecture& architecture) { return architecture.name == *name; });
}

struct Case {
  const test::DeviceCase* device;
  std::filesystem::path fixture;
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.device->name << " " << c.fixture.stem().string();
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const test::DeviceCase& device : test::device_cases()) {
    for (const auto& path : fixture_files("text/logits", ".json")) cases.push_back({&device, path});
  }
  return cases;
}

class Logits : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    const auto fixture = test::read_json(GetParam().fixture);
    const auto path = test::fixtures_root() / "text/models" / fixture["model"].get<std::string>();
    if (!is_supported(path))
      GTEST_SKIP() << path.filename() << " is of an architecture that is not supported";
    cases_ = fixture["cases"];
    loaded_ = test::load_text_model(path, GetParam().device->make());
    ASSERT_TRUE(loaded_.model);
    if (GetParam().device->name.starts_with("cpu")) return;  // has every kernel
    const auto tried = Session::create(*loaded_.model, {.n_ctx = 512, .n_batch = 64});
    if (!tried && tried.error().message.find("has no kernel") != std::string::npos) {
      GTEST_SKIP() << tried.error().message;
    }
  }

  std::unique_ptr<Session> session(KvFormat kv) {
    return test::make_session(
        *loaded_.model, {.n_ctx = 512, .n_batch = 64, .cache = {.k = {.format = kv}, .v = {.format = kv}}});
  }

  nlohmann::json cases_;
  test::LoadedModel loaded_;
};

TEST_P(Logits, MatchTheReference) {
  for (const auto& c : cases_) {
    SCOPED_TRACE(c["name"].get<std::string>());
    const auto ids = c["ids"].get<std::vector<Token>>();
    const auto expected = c["last_logits"].get<std::vector<float>>();
    const auto greedy = c["greedy"].get<std::vector<Token>>();
    const auto gaps = c["gaps"].get<std::vector<double>>();
    const double reference_rms = c["reference"]["file_kvf32"]["rms"];

    const auto session = this->session(KvFormat::f32);
    ASSERT_TRUE(session);
    auto logits = session->set_prompt(ids);
    ASSERT_TRUE(logits) << logits.error().message;
    ASSERT_EQ(logits->size(), expected.size());
    const double rms = rms_distance(*logits, expected);
    double max = 0;
    for (size_t i = 0; i < expected.size(); ++i)
      max = std::max<double>(max, std::abs((*logits)[i] - expected[i]));
    const Accuracy accuracy = accuracy_of(*loaded_.model, *GetParam().device);
    if (accuracy.is_exact) {
      EXPECT_LE(max, 1e-4);
    } else {
      EXPECT_LE(rms, accuracy.of_reference * reference_rms);
    }

    // The recorded continuation is fed, so that one close call does not hide the steps behind it.
    const double margin = accuracy.is_exact ? 1e-3 : 8 * reference_rms;
    for (size_t i = 0; i < greedy.size(); ++i) {
      const auto best =
          static_cast<Token>(std::max_element(logits->begin(), logits->end()) - logits->begin());
      if (gaps[i] > margin) {
        EXPECT_EQ(best, greedy[i]) << "step " << i << ", gap " << gaps[i];
      }
      logits = session->append({&greedy[i], 1});
      ASSERT_TRUE(logits) << logits.error().message;
    }
  }
}

// Decoding token by token equals prefill, but for what rounding activations to bytes (or bf16) may amount to:
// sums in another order can tip a value to the next code.
TEST_P(Logits, StepsAgree) {
  const auto& c = cases_.front();
  const auto ids = c["ids"].get<std::vector<Token>>();
  const auto whole = session(KvFormat::f32);
  const auto expected_view = whole->set_prompt(ids);
  ASSERT_TRUE(expected_view) << expected_view.error().message;
  const std::vector<float> expected(expected_view->begin(), expected_view->end());

  const auto one_by_one = session(KvFormat::f32);
  Result<std::span<const float>> logits;
  for (const Token id : ids) logits = one_by_one->append({&id, 1});
  ASSERT_TRUE(logits);
  const Accuracy accuracy = accuracy_of(*loaded_.model, *GetParam().device);
  const double budget =
      accuracy.is_exact ? 1e-4 : accuracy.of_reference * c["reference"]["file_kvf32"]["rms"].get<double>();
  EXPECT_LE(rms_distance(*logits, expected), budget);
}

// Every cache format loses no more than the reference's, within the same factor as the f32 cache. There is no
// record for bf16, which keeps three bits less than f16: an eighth of the resolution.
TEST_P(Logits, CacheFormatsLoseNoMoreThanTheReference) {
  for (const auto& c : cases_) {
    SCOPED_TRACE(c["name"].get<std::string>());
    const auto expected = c["last_logits"].get<std::vector<float>>();
    const auto& reference = c["reference"];
    const auto rms_of = [&](const char* name) { return reference[name].value("rms", 0.0); };
    const struct {
      KvFormat format;
      double budget;
    } formats[] = {{KvFormat::f16, rms_of("file_kvf16_fa")},
                   {KvFormat::bf16, rms_of("file_kvf16_fa") + 8e-3 * c["logit_std"].get<double>()},
                   {KvFormat::q8_0, rms_of("file_kvq8_0_fa")}};
    for (const auto& [format, budget] : formats) {
      if (budget == 0) continue;  // the reference refuses this format for this model
      const auto compressed = session(format);
      ASSERT_TRUE(compressed);
      const auto logits = compressed->set_prompt(c["ids"].get<std::vector<Token>>());
      ASSERT_TRUE(logits) << logits.error().message;
      EXPECT_LE(rms_distance(*logits, expected), 1.5 * budget) << name_of(format);
    }
  }
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Logits);
INSTANTIATE_TEST_SUITE_P(Fixtures, Logits, testing::ValuesIn(all_cases()), [](const auto& info) {
  std::string name = info.param.device->name + "_" + info.param.fixture.stem().string();
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return name;
});

}  // namespace
}  // namespace parlance
