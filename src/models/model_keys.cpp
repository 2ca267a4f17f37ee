#include "models/model_keys.h"

#include <cmath>

namespace parlance {

Result<int64_t> ModelKeys::integer(std::string_view name, int64_t min, int64_t max) const {
  return file_.get_int(key(name), min, max);
}

Result<int64_t> ModelKeys::integer_or(std::string_view name, int64_t fallback, int64_t min,
                                      int64_t max) const {
  PARLANCE_TRY(const auto value, file_.find_int(key(name), min, max));
  return value.value_or(fallback);
}

Result<std::optional<int64_t>> ModelKeys::uniform(std::string_view name, int64_t min, int64_t max) const {
  PARLANCE_TRY(const auto values, file_.find_ints(key(name), min, max));
  if (!values) return std::nullopt;
  if (values->empty()) {
    return fail(ErrorCode::corrupt_file, "{}: {} is empty; export the model again", file_.name(), key(name));
  }
  for (const int64_t value : *values) {
    if (value != values->front()) {
      return fail(
          ErrorCode::unsupported,
          "{}: {} differs between layers ({} and {}), which this architecture's code does not support",
          file_.name(), key(name), values->front(), value);
    }
  }
  return values->front();
}

Result<int64_t> ModelKeys::uniform_required(std::string_view name, int64_t min, int64_t max) const {
  PARLANCE_TRY(const auto value, uniform(name, min, max));
  if (value) return *value;
  return fail(ErrorCode::corrupt_file,
              "{}: key {} is missing; export the model again with a current converter", file_.name(),
              key(name));
}

Result<double> ModelKeys::number_or(std::string_view name, double fallback) const {
  PARLANCE_TRY(const auto value, file_.find_float(key(name)));
  return value.value_or(fallback);
}

Result<double> ModelKeys::positive_or(std::string_view name, double fallback) const {
  PARLANCE_TRY(const double value, number_or(name, fallback));
  if (std::isfinite(value) && value > 0) return value;
  return fail(ErrorCode::corrupt_file,
              "{}: {} must be a positive number, the file has {}; export the model again", file_.name(),
              key(name), value);
}

}  // namespace parlance
