// What a model's file says of itself, as text. Arrays are not among it, as there.
#include <algorithm>
#include <array>
#include <cstring>

#include "base/ascii.h"
#include "capi/llama/model.h"
#include "capi/llama/report.h"
#include "capi/llama/text_out.h"
#include "gguf/totals.h"

namespace parlance::capi {

namespace {

template <class T>
T load_as(std::span<const std::byte> bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

// As llama.cpp writes them: fractions with six digits.
std::string scalar_text_of(const GgufValue& value) {
  switch (value.type) {
    case GgufType::u8:
      return fmt::format("{}", load_as<uint8_t>(value.bytes));
    case GgufType::i8:
      return fmt::format("{}", load_as<int8_t>(value.bytes));
    case GgufType::u16:
      return fmt::format("{}", load_as<uint16_t>(value.bytes));
    case GgufType::i16:
      return fmt::format("{}", load_as<int16_t>(value.bytes));
    case GgufType::u32:
      return fmt::format("{}", load_as<uint32_t>(value.bytes));
    case GgufType::i32:
      return fmt::format("{}", load_as<int32_t>(value.bytes));
    case GgufType::u64:
      return fmt::format("{}", load_as<uint64_t>(value.bytes));
    case GgufType::i64:
      return fmt::format("{}", load_as<int64_t>(value.bytes));
    case GgufType::f32:
      return fmt::format("{:f}", load_as<float>(value.bytes));
    case GgufType::f64:
      return fmt::format("{:f}", load_as<double>(value.bytes));
    case GgufType::boolean:
      return load_as<uint8_t>(value.bytes) != 0 ? "true" : "false";
    case GgufType::string:
      return {reinterpret_cast<const char*>(value.bytes.data()), value.bytes.size()};
    case GgufType::array:
      break;
  }
  return {};
}

// The i-th value that is no array; null: there are fewer.
const std::pair<std::string_view, GgufValue>* scalar_at(const GgufFile& file, int32_t i) {
  for (const auto& entry : file.metadata()) {
    if (entry.second.type != GgufType::array && i-- == 0) return &entry;
  }
  return nullptr;
}

int32_t nothing(char* buf, size_t buf_size) {
  if (buf && buf_size > 0) buf[0] = '\0';
  return -1;
}

// Writes what `read` yields of the model; -1 where that is nothing.
template <class Read>
int32_t text_about(const char* function, const llama_model* handle, char* buf, size_t buf_size, Read read) {
  return llama_answer(function, nothing(buf, buf_size), [&]() -> Result<int32_t> {
    const auto model = llama_model_of(function, handle);
    const std::optional<std::string> text = model ? read(*model) : std::nullopt;
    return text ? copy_terminated(*text, buf, buf_size) : -1;
  });
}

template <class Sum>
uint64_t sum_of_file(const char* function, const llama_model* handle, Sum sum) {
  return llama_answer(function, uint64_t{0}, [&]() -> Result<uint64_t> {
    const auto model = llama_model_of(function, handle);
    return model ? sum(model->file()) : 0;
  });
}

}  // namespace

}  // namespace parlance::capi

using namespace parlance;
using namespace parlance::capi;

uint64_t llama_model_n_params(const llama_model* model) {
  return sum_of_file(__func__, model, n_weights);
}

uint64_t llama_model_size(const llama_model* model) {
  return sum_of_file(__func__, model, weight_bytes);
}

int32_t llama_model_desc(const llama_model* model, char* buf, size_t buf_size) {
  return text_about(__func__, model, buf, buf_size, [](const LlamaModel& m) -> std::optional<std::string> {
    const auto architecture = m.file().find_string("general.architecture");
    constexpr double kMillion = 1e6;
    return fmt::format("{} {:.1f}M {}", architecture ? architecture->value_or("?") : "?",
                       static_cast<double>(n_weights(m.file())) / kMillion, dominant_type(m.file()));
  });
}

int32_t llama_model_meta_val_str(const llama_model* model, const char* key, char* buf, size_t buf_size) {
  return text_about(__func__, model, buf, buf_size, [&](const LlamaModel& m) -> std::optional<std::string> {
    const GgufValue* value = key ? m.file().find(key) : nullptr;
    if (!value || value->type == GgufType::array) return {};
    return scalar_text_of(*value);
  });
}

int32_t llama_model_meta_count(const llama_model* model) {
  return llama_answer(__func__, 0, [&, function = __func__]() -> Result<int32_t> {
    const auto m = llama_model_of(function, model);
    if (!m) return 0;
    return static_cast<int32_t>(std::ranges::count_if(
        m->file().metadata(), [](const auto& entry) { return entry.second.type != GgufType::array; }));
  });
}

int32_t llama_model_meta_key_by_index(const llama_model* model, int32_t i, char* buf, size_t buf_size) {
  return text_about(__func__, model, buf, buf_size, [&](const LlamaModel& m) -> std::optional<std::string> {
    const auto* entry = scalar_at(m.file(), i);
    return entry ? std::optional(std::string(entry->first)) : std::nullopt;
  });
}

int32_t llama_model_meta_val_str_by_index(const llama_model* model, int32_t i, char* buf, size_t buf_size) {
  return text_about(__func__, model, buf, buf_size, [&](const LlamaModel& m) -> std::optional<std::string> {
    const auto* entry = scalar_at(m.file(), i);
    return entry ? std::optional(scalar_text_of(entry->second)) : std::nullopt;
  });
}

// Keys of what a file recommends to sample with.
const char* llama_model_meta_key_str(llama_model_meta_key key) {
  static constexpr std::array kKeys = {
      "general.sampling.sequence", "general.sampling.top_k",           "general.sampling.top_p",
      "general.sampling.min_p",    "general.sampling.xtc_probability", "general.sampling.xtc_threshold",
      "general.sampling.temp",     "general.sampling.penalty_last_n",  "general.sampling.penalty_repeat",
      "general.sampling.mirostat", "general.sampling.mirostat_tau",    "general.sampling.mirostat_eta",
  };
  static_assert(kKeys.size() == LLAMA_MODEL_META_KEY_SAMPLING_MIROSTAT_ETA + 1);
  const auto i = static_cast<int64_t>(key);
  return i >= 0 && i < std::ssize(kKeys) ? kKeys[static_cast<size_t>(i)] : nullptr;
}

// One template of a file has a name of its own where its key does.
const char* llama_model_chat_template(const llama_model* model, const char* name) {
  return llama_answer(__func__, static_cast<const char*>(nullptr),
                      [&, function = __func__]() -> Result<const char*> {
                        const auto m = llama_model_of(function, model);
                        return m ? m->chat_template(name ? name : "") : nullptr;
                      });
}
