#include "models/quantize.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <map>
#include <memory>
#include <new>
#include <span>
#include <system_error>

#include "base/checked.h"
#include "base/log.h"
#include "base/os/thread.h"
#include "base/thread_pool.h"
#include "gguf/contents.h"
#include "gguf/reader.h"
#include "gguf/writer.h"
#include "models/mixture.h"
#include "quant/block_format.h"

namespace parlance {

namespace {

constexpr int64_t kChunkElements = 1 << 15;  // a task of one thread; a multiple of every block
constexpr float kLargestHalf = 65504;        // the largest finite f16, in which most types keep their scales

int64_t n_elements(const GgufTensor& tensor) {
  return tensor.ne[0] * tensor.ne[1] * tensor.ne[2] * tensor.ne[3];
}

std::string place_of(const GgufTensor& tensor, int64_t element) {
  return fmt::format("value {} of row {}", element % tensor.ne[0], element / tensor.ne[0]);
}

// Not finite when one of the values is not: magnitudes, and NaN above them, are ordered as their bits are.
float max_magnitude(const float* x, int64_t n) {
  uint32_t largest = 0;
  for (int64_t i = 0; i < n; ++i) largest = std::max(largest, std::bit_cast<uint32_t>(x[i]) & 0x7fffffff);
  return std::bit_cast<float>(largest);
}

// The index of the first value that is not finite; there is one.
int64_t first_not_finite(const float* x) {
  int64_t i = 0;
  while (std::isfinite(x[i])) ++i;
  return i;
}

class Converter {
 public:
  Converter(std::string file_name, int n_threads)
      : file_name_(std::move(file_name)),
        pool_(n_threads, false),
        scratch_(static_cast<size_t>(pool_.n_threads())) {
    for (std::vector<float>& x : scratch_) x.resize(kChunkElements);
  }

  // Encodes the tensor's values as `to` into out. Blocks are independent of each other and rows are whole
  // numbers of blocks, so that a tensor is one long row. With `to` the tensor's own type the values are only
  // checked.
  Result<void> convert(const GgufTensor& tensor, DType to, std::byte* out) {
    const bool is_copy = to == tensor.dtype;
    const BlockFormat& from_format = block_format(tensor.dtype);
    const BlockFormat& to_format = block_format(to);
    if (!from_format.decode_row) return {};  // copied unseen
    const int64_t n = n_elements(tensor);
    std::atomic<int64_t> first_invalid = n;
    std::atomic<int64_t> first_too_large = n;
    pool_.run(div_up(n, kChunkElements), [&](int64_t task, int thread) {
      const int64_t start = task * kChunkElements;
      const int64_t length = std::min(kChunkElements, n - start);
      float* x = scratch_[static_cast<size_t>(thread)].data();
      from_format.decode_row(tensor.bytes.data() + row_bytes(tensor.dtype, start), x, length);
      const float largest = max_magnitude(x, length);
      if (!std::isfinite(largest)) return note_earlier(first_invalid, start + first_not_finite(x));
      if (is_copy) return;
      std::byte* encoded = out + row_bytes(to, start);
      to_format.encode_row(x, encoded, length);
      if (largest < kLargestHalf) return;
      to_format.decode_row(encoded, x, length);
      if (!std::isfinite(max_magnitude(x, length)))
        note_earlier(first_too_large, start + first_not_finite(x));
    });
    if (first_invalid < n) {
      return fail(ErrorCode::corrupt_file,
                  "{}: {} has a {} that is not a finite number; the file is damaged, get it again",
                  file_name_, printable(tensor.name), place_of(tensor, first_invalid));
    }
    if (first_too_large < n) {
      return fail(ErrorCode::unsupported, "{}: {} has a {} that is too large for {}; use BF16 or F32",
                  file_name_, printable(tensor.name), place_of(tensor, first_too_large), name_of(to));
    }
    return {};
  }

 private:
  static void note_earlier(std::atomic<int64_t>& first, int64_t element) {
    int64_t known = first.load();
    while (element < known && !first.compare_exchange_weak(known, element)) {
    }
  }

  std::string file_name_;
  ThreadPool pool_;
  std::vector<std::vector<float>> scratch_;  // of each thread
};

bool is_quantised(DType dtype) {
  return traits(dtype).block_elements > 1;
}

std::vector<QuantizeReport::TypeCount> counts(const std::map<DType, QuantizeReport::TypeCount>& by_type) {
  std::vector<QuantizeReport::TypeCount> list;
  for (const auto& [dtype, count] : by_type) list.push_back(count);
  return list;
}

QuantizeReport report_of(const GgufFile& file, std::span<const TargetType> targets) {
  QuantizeReport report;
  std::map<DType, QuantizeReport::TypeCount> before;
  std::map<DType, QuantizeReport::TypeCount> after;
  const auto add = [](std::map<DType, QuantizeReport::TypeCount>& by_type, DType dtype, uint64_t bytes) {
    QuantizeReport::TypeCount& count =
        by_type.try_emplace(dtype, QuantizeReport::TypeCount{dtype, 0, 0}).first->second;
    ++count.n_tensors;
    count.bytes += bytes;
  };
  for (size_t i = 0; i < targets.size(); ++i) {
    const GgufTensor& tensor = file.tensors()[i];
    const uint64_t bytes_after = row_bytes(targets[i].dtype, n_elements(tensor));
    add(before, tensor.dtype, tensor.bytes.size());
    add(after, targets[i].dtype, bytes_after);
    report.bytes_before += tensor.bytes.size();
    report.bytes_after += bytes_after;
    report.n_fallback += targets[i].is_fallback;
    report.n_requantised += is_quantised(tensor.dtype) && targets[i].dtype != tensor.dtype;
  }
  report.before = counts(before);
  report.after = counts(after);
  return report;
}

// Before the work starts, so that it is not in vain.
Result<void> check_types(const GgufFile& file, std::span<const TargetType> targets) {
  for (size_t i = 0; i < targets.size(); ++i) {
    const GgufTensor& tensor = file.tensors()[i];
    const DType to = targets[i].dtype;
    if (to == tensor.dtype || (block_format(tensor.dtype).decode_row && block_format(to).encode_row))
      continue;
    return fail(ErrorCode::unsupported,
                "{}: {} is {}, which cannot be made into {}; start from a file in F32, F16 or BF16",
                file.name(), printable(tensor.name), name_of(tensor.dtype), name_of(to));
  }
  return {};
}

// Header and tensor records of the output. The alignment is left out: the default is what every reader
// expects.
void declare(GgufWriter& writer, const GgufFile& file, const Mixture& mixture,
             std::span<const TargetType> targets) {
  for (const auto& [key, value] : file.metadata()) {
    if (key != kGgufAlignmentKey) writer.copy(key, value);
  }
  constexpr uint32_t kQuantizationVersion = 2;
  writer.set_u32("general.quantization_version", kQuantizationVersion);
  writer.set_u32("general.file_type", mixture.file_type);
  for (size_t i = 0; i < targets.size(); ++i) {
    const GgufTensor& tensor = file.tensors()[i];
    writer.add_tensor(tensor.name, targets[i].dtype, std::span(tensor.ne.data(), tensor.n_dims));
  }
}

}  // namespace

Result<QuantizeReport> quantize_file(const std::filesystem::path& in_path,
                                     const std::filesystem::path& out_path, const QuantizeOptions& options) {
  const Mixture* mixture = find_mixture(options.mixture);
  if (!mixture) {
    return fail(ErrorCode::invalid_argument, "quantisation \"{}\" is not known; choose one of {}",
                options.mixture, mixture_names());
  }
  PARLANCE_TRY(const GgufFile file, GgufFile::open(in_path));
  std::error_code ignored;
  if (std::filesystem::equivalent(in_path, out_path, ignored)) {
    return fail(ErrorCode::invalid_argument, "{} is both input and output; give the output another name",
                file.name());
  }

  const std::vector<TargetType> targets = target_types(file, *mixture);
  PARLANCE_CHECK(check_types(file, targets));
  const QuantizeReport report = report_of(file, targets);
  if (report.n_requantised > 0) {
    log_warning(
        "{}: {} of {} tensors are quantised already and lose accuracy twice; F32, F16 or BF16 is a better "
        "start",
        file.name(), report.n_requantised, targets.size());
  }

  GgufWriter writer;
  declare(writer, file, *mixture, targets);
  PARLANCE_CHECK(writer.begin(out_path));

  size_t largest_bytes = 0;  // of a tensor that is encoded
  for (size_t i = 0; i < targets.size(); ++i) {
    const GgufTensor& tensor = file.tensors()[i];
    if (targets[i].dtype == tensor.dtype) continue;
    largest_bytes = std::max(largest_bytes, row_bytes(targets[i].dtype, n_elements(tensor)));
  }
  const std::unique_ptr<std::byte[]> encoded(new (std::nothrow) std::byte[largest_bytes]);
  if (!encoded) {
    return fail(ErrorCode::out_of_memory,
                "{}: {} bytes for the largest tensor cannot be had; close other programs", file.name(),
                largest_bytes);
  }

  const int n_threads =
      options.n_threads > 0 ? options.n_threads : static_cast<int>(usable_processors().size());
  Converter converter(file.name(), n_threads);
  QuantizeProgress progress{.tensor = {},
                            .from = {},
                            .to = {},
                            .n_tensors_done = 0,
                            .n_tensors = targets.size(),
                            .bytes_done = 0,
                            .bytes_total = report.bytes_before};
  for (size_t i = 0; i < targets.size(); ++i) {
    const GgufTensor& tensor = file.tensors()[i];
    const DType to = targets[i].dtype;
    if (!file.still_whole()) {
      return fail(ErrorCode::io, "{} was shortened while it was read; get it again", file.name());
    }
    PARLANCE_CHECK(converter.convert(tensor, to, encoded.get()));
    const std::span<const std::byte> bytes =
        to == tensor.dtype ? tensor.bytes
                           : std::span<const std::byte>(encoded.get(), row_bytes(to, n_elements(tensor)));
    PARLANCE_CHECK(writer.write_tensor(bytes));

    progress.tensor = tensor.name;
    progress.from = tensor.dtype;
    progress.to = to;
    ++progress.n_tensors_done;
    progress.bytes_done += tensor.bytes.size();
    if (options.progress && !options.progress(progress)) {
      return fail(ErrorCode::cancelled, "{}: quantising was stopped after {} of {} tensors", file.name(),
                  progress.n_tensors_done, progress.n_tensors);
    }
  }
  PARLANCE_CHECK(writer.finish());
  return report;
}

}  // namespace parlance
