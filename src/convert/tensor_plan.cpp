#include "convert/tensor_plan.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/checked.h"
#include "base/os/disk.h"
#include "gguf/contents.h"
#include "quant/block_format.h"

namespace parlance {

namespace {

constexpr int64_t kChunkValues = 1 << 15;  // a multiple of every block

int64_t n_values_of(const TensorPlan& tensor) {
  int64_t n = 1;
  for (const int64_t size : tensor.ne) n *= size;
  return n;
}

// Values as another type, piece by piece.
class Encoder {
 public:
  Encoder(const TensorPlan& tensor, std::string_view file) : tensor_(tensor), file_(file) {}

  Result<void> encode(const float* x, int64_t n, std::byte* out) {
    const BlockFormat& format = block_format(tensor_.dtype);
    const auto is_number = [](float value) { return std::isfinite(value); };
    if (!std::all_of(x, x + n, is_number)) {
      return fail(ErrorCode::corrupt_file,
                  "{}: {} has a value that is not a finite number; fetch the weights again", file_,
                  printable(tensor_.name));
    }
    format.encode_row(x, out, n);
    if (tensor_.dtype == DType::f32 || tensor_.dtype == DType::bf16) return {};
    back_.resize(static_cast<size_t>(n));
    format.decode_row(out, back_.data(), n);
    if (std::all_of(back_.begin(), back_.end(), is_number)) return {};
    return fail(ErrorCode::unsupported, "{}: {} has a value that is too large for {}; choose --type bf16",
                file_, printable(tensor_.name), name_of(tensor_.dtype));
  }

 private:
  const TensorPlan& tensor_;
  const std::string_view file_;
  std::vector<float> back_;
};

Result<std::vector<std::byte>> bytes_of(const WeightFolder& folder, const TensorPlan& tensor) {
  const int64_t n = n_values_of(tensor);
  std::vector<std::byte> out(row_bytes(tensor.dtype, n));
  const std::string file = folder.path().string();
  Encoder encoder(tensor, file);
  if (!tensor.source) {
    PARLANCE_TRY(const std::vector<float> values, tensor.values());
    for (int64_t at = 0; at < n; at += kChunkValues) {
      const int64_t length = std::min(kChunkValues, n - at);
      PARLANCE_CHECK(encoder.encode(values.data() + at, length, out.data() + row_bytes(tensor.dtype, at)));
    }
    return out;
  }
  PARLANCE_TRY(std::vector<std::byte> bytes, folder.read(*tensor.source));
  const DType from = *tensor.source->dtype;
  if (tensor.reorder) tensor.reorder(bytes, row_bytes(from, tensor.ne.front()));
  std::vector<float> x(static_cast<size_t>(std::min(kChunkValues, n)));
  for (int64_t at = 0; at < n; at += kChunkValues) {
    const int64_t length = std::min(kChunkValues, n - at);
    block_format(from).decode_row(bytes.data() + row_bytes(from, at), x.data(), length);
    PARLANCE_CHECK(encoder.encode(x.data(), length, out.data() + row_bytes(tensor.dtype, at)));
  }
  return from == tensor.dtype ? std::move(bytes) : std::move(out);
}

}  // namespace

DType usual_type(const SafeTensor& source, std::string_view name, const ConvertType& type) {
  if (source.shape.size() <= 1 || name.ends_with("_norm.weight")) return DType::f32;
  return type.of(source.dtype.value_or(DType::f32));
}

Result<TensorPlan> plan_tensor(const WeightFolder& folder, const SafeTensor& source, std::string name,
                               DType dtype, std::vector<int64_t> ne) {
  if (ne.empty()) ne.assign(source.shape.rbegin(), source.shape.rend());
  if (ne.empty()) ne = {1};
  if (!source.dtype) {
    return fail(ErrorCode::unsupported,
                "{}: {} is {}; weights in F32, F16 or BF16 can be converted, fetch those",
                folder.path().string(), printable(source.name), source.type_name);
  }
  if (ne.size() > kGgufMaxDims || source.n_values() == 0) {
    return fail(ErrorCode::unsupported, "{}: {} has the shape [{}], which no model that is known here has",
                folder.path().string(), printable(source.name), fmt::join(source.shape, ", "));
  }
  TensorPlan plan{.name = std::move(name), .ne = std::move(ne), .dtype = dtype, .source = &source};
  if (plan.ne.front() % traits(dtype).block_elements != 0) plan.dtype = DType::f16;
  return plan;
}

Result<uint64_t> write_model(GgufWriter& writer, const WeightFolder& folder,
                             const std::vector<TensorPlan>& tensors, const std::filesystem::path& path,
                             const std::function<bool(const ConvertProgress&)>& progress) {
  uint64_t n_bytes = 0;
  for (const TensorPlan& tensor : tensors) {
    writer.add_tensor(tensor.name, tensor.dtype, tensor.ne);
    n_bytes += align_up<uint64_t>(row_bytes(tensor.dtype, n_values_of(tensor)), kGgufDefaultAlignment);
  }
  const auto free = free_disk_bytes(path);
  if (free && *free < n_bytes) {
    return fail(ErrorCode::io,
                "{}: {} bytes are to be written, {} are free; free some disk space or choose another disk",
                path.string(), n_bytes, *free);
  }
  const std::string file = path.filename().string();
  PARLANCE_CHECK(writer.begin(path));
  for (size_t i = 0; i < tensors.size(); ++i) {
    PARLANCE_TRY(const std::vector<std::byte> bytes, bytes_of(folder, tensors[i]));
    PARLANCE_CHECK(writer.write_tensor(bytes));
    if (progress && !progress({file, tensors[i].name, i + 1, tensors.size()})) {
      return fail(ErrorCode::cancelled, "{}: stopped; nothing was written", path.string());
    }
  }
  PARLANCE_CHECK(writer.finish());
  return n_bytes;
}

}  // namespace parlance
