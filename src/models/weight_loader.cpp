#include "models/weight_loader.h"

#include <span>

#include "gguf/contents.h"
#include "models/tensor_names.h"
#include "quant/block_format.h"

namespace parlance {

namespace {

std::string describe_wanted(std::initializer_list<int64_t> ne) {
  std::string text = "[";
  for (const int64_t n : ne) text += fmt::format("{}{}", text.size() > 1 ? ", " : "", n);
  return text + "]";
}

std::string describe_found(const GgufTensor& tensor) {
  Tensor view;
  view.dtype = tensor.dtype;
  view.ne = tensor.ne;
  return describe(view);
}

}  // namespace

Result<int64_t> size_of_tensor(const GgufFile& file, const std::string& name, size_t dimension) {
  if (const GgufTensor* tensor = file.find_tensor(name)) return tensor->ne[dimension];
  return fail(ErrorCode::corrupt_file, "{}: tensor {} is missing; the file is incomplete, download it again",
              file.name(), name);
}

Result<WeightLoader> WeightLoader::create(const GgufFile& file, WeightPrecision precision) {
  if (!file.still_whole()) {
    return fail(ErrorCode::io,
                "{} became shorter while it was being read; wait until it is complete and try again",
                file.name());
  }
  return WeightLoader(file, precision);
}

Result<const GgufTensor*> WeightLoader::ask(const std::string& name, std::initializer_list<int64_t> ne) {
  asked_.insert(name);
  const GgufTensor* tensor = file_.find_tensor(name);
  if (!tensor) {
    return fail(ErrorCode::corrupt_file,
                "{}: tensor {} {} is missing; the file is incomplete or of another architecture",
                file_.name(), name, describe_wanted(ne));
  }
  std::array<int64_t, 4> wanted{1, 1, 1, 1};
  std::copy(ne.begin(), ne.end(), wanted.begin());
  if (tensor->ne != wanted) {
    return fail(ErrorCode::corrupt_file,
                "{}: {}: expected {}, file has {}; its metadata and tensors disagree, export it again",
                file_.name(), name, describe_wanted(ne), describe_found(*tensor));
  }
  if (!block_format(tensor->dtype).decode_row) {
    return fail(
        ErrorCode::unsupported,
        "{}: {} is stored as {}, which this program cannot read; use a file quantised to q4_k or q8_0",
        file_.name(), name, name_of(tensor->dtype));
  }
  return tensor;
}

Result<Tensor> WeightLoader::place(const GgufTensor& source) {
  Tensor& tensor = placed_[{&source, device_}];
  if (tensor) return tensor;
  if (precision_ == WeightPrecision::f32 && source.dtype != DType::f32) {
    PARLANCE_TRY(tensor, as_f32(source));
    return tensor;
  }
  PARLANCE_TRY(auto imported, device_->import_weights(source.bytes));
  tensor.dtype = source.dtype;
  tensor.ne = source.ne;
  tensor.name = source.name;
  tensor.buffer = imported.get();
  tensor.data = imported->base();
  buffers_.push_back(std::move(imported));
  return tensor;
}

Result<Tensor> WeightLoader::matrix(const std::string& name, int64_t n_in, int64_t n_out) {
  PARLANCE_TRY(const GgufTensor* source, ask(name, {n_in, n_out}));
  return place(*source);
}

Result<Linear> WeightLoader::filters(const std::string& name, std::initializer_list<int64_t> ne) {
  Linear linear;
  const int64_t n_out = *(ne.end() - 1);
  PARLANCE_TRY(const GgufTensor* source, ask(name + ".weight", ne));
  PARLANCE_TRY(linear.weight, place(*source));
  linear.weight.ne = {linear.weight.n_elements() / n_out, n_out, 1, 1};
  const std::string bias = name + ".bias";
  if (!has(bias)) return linear;
  // Some converters add two sizes of 1 in front.
  const bool is_plain = file_.find_tensor(bias)->ne[0] == n_out;
  PARLANCE_TRY(const GgufTensor* values, is_plain ? ask(bias, {n_out}) : ask(bias, {1, 1, n_out}));
  PARLANCE_TRY(linear.bias, as_f32(*values));
  linear.bias.ne = {n_out, 1, 1, 1};
  return linear;
}

Result<Linear> WeightLoader::linear(const std::string& name, int64_t n_in, int64_t n_out) {
  PARLANCE_TRY(const Tensor weight, matrix(name + ".weight", n_in, n_out));
  Linear linear = this->linear(weight);
  if (has(name + ".bias")) {
    PARLANCE_TRY(linear.bias, vector(name + ".bias", n_out));
  }
  return linear;
}

Linear WeightLoader::linear(const Tensor& weight) {
  if (auto copy = device_->copy_for_products(weight)) file_.copy_when_moved(*std::move(copy));
  return {.weight = weight, .bias = {}};
}

Result<Tensor> WeightLoader::vector(const std::string& name, int64_t n) {
  PARLANCE_TRY(const GgufTensor* source, ask(name, {n}));
  return as_f32(*source);
}

Result<Tensor> WeightLoader::vector(const std::string& name, std::initializer_list<int64_t> ne) {
  PARLANCE_TRY(const GgufTensor* source, ask(name, ne));
  PARLANCE_TRY(Tensor tensor, as_f32(*source));
  tensor.ne = {tensor.n_elements(), 1, 1, 1};
  return tensor;
}

Result<NormWeights> WeightLoader::layer_norm(const std::string& name, int64_t n) {
  NormWeights norm;
  PARLANCE_TRY(norm.weight, vector(name + ".weight", n));
  PARLANCE_TRY(norm.bias, vector(name + ".bias", n));
  return norm;
}

Result<Tensor> WeightLoader::f32_matrix(const std::string& name, int64_t n0, int64_t n1) {
  PARLANCE_TRY(const GgufTensor* source, ask(name, {n0, n1}));
  return as_f32(*source);
}

namespace {

std::vector<float> decode(const GgufTensor& source) {
  const auto n = static_cast<size_t>(source.ne[0]);
  const auto n_rows = static_cast<size_t>(source.ne[1] * source.ne[2] * source.ne[3]);
  std::vector<float> values(n * n_rows);
  for (size_t row = 0; row < n_rows; ++row) {
    block_format(source.dtype)
        .decode_row(source.bytes.data() + row * row_bytes(source.dtype, source.ne[0]),
                    values.data() + row * n, source.ne[0]);
  }
  return values;
}

}  // namespace

Result<Tensor> WeightLoader::as_f32(const GgufTensor& source) {
  if (source.dtype == DType::f32) return place(source);
  return upload(*device_, source.name, DType::f32, source.ne,
                std::as_bytes(std::span<const float>(decode(source))));
}

Result<std::vector<float>> WeightLoader::values(const std::string& name, std::initializer_list<int64_t> ne) {
  PARLANCE_TRY(const GgufTensor* source, ask(name, ne));
  return decode(*source);
}

Result<std::vector<Linear>> WeightLoader::column_blocks(const std::string& name, int64_t n_in,
                                                        std::span<Device* const> devices, int64_t n_out) {
  const int64_t n_blocks = std::ssize(devices);
  PARLANCE_TRY(const GgufTensor* source, ask(name + ".weight", {n_blocks * n_in, n_out}));
  const bool is_whole = n_in % traits(source->dtype).block_elements == 0;  // no block lies on a boundary
  const std::vector<float> decoded = is_whole ? std::vector<float>() : decode(*source);
  const DType dtype = is_whole ? source->dtype : DType::f32;
  const std::span<const std::byte> all = is_whole ? source->bytes : std::as_bytes(std::span(decoded));
  const size_t part = row_bytes(dtype, n_in), row = part * static_cast<size_t>(n_blocks);
  std::vector<Linear> blocks;
  std::vector<std::byte> bytes(part * static_cast<size_t>(n_out));
  for (int64_t block = 0; block < n_blocks; ++block) {
    for (size_t i = 0; i < static_cast<size_t>(n_out); ++i)
      std::ranges::copy(all.subspan(i * row + static_cast<size_t>(block) * part, part), &bytes[i * part]);
    PARLANCE_TRY(blocks.emplace_back().weight, upload(*devices[static_cast<size_t>(block)], source->name,
                                                      dtype, {n_in, n_out, 1, 1}, bytes));
  }
  return blocks;
}

Result<Tensor> WeightLoader::constant(std::span<const float> values, int64_t n0, int64_t n1) {
  return upload(*device_, {}, DType::f32, {n0, n1, 1, 1}, std::as_bytes(values));
}

Result<Tensor> WeightLoader::constant(std::span<const int32_t> values) {
  return upload(*device_, {}, DType::i32, {std::ssize(values), 1, 1, 1}, std::as_bytes(values));
}

Result<Tensor> WeightLoader::constant(const Tensor& like, std::span<const std::byte> bytes) {
  return upload(*device_, like.name, like.dtype, like.ne, bytes);
}

Result<Tensor> WeightLoader::upload(Device& device, std::string_view name, DType dtype,
                                    const std::array<int64_t, 4>& ne, std::span<const std::byte> bytes) {
  PARLANCE_TRY(auto buffer, device.allocate(bytes.size()));
  Tensor tensor;
  tensor.data = buffer->base();
  tensor.buffer = buffer.get();
  tensor.dtype = dtype;
  tensor.ne = ne;
  tensor.name = name;
  buffers_.push_back(std::move(buffer));
  const auto stream = device.make_stream();
  stream->upload(tensor, bytes);
  PARLANCE_CHECK(stream->synchronize());
  return tensor;
}

void WeightLoader::ignore_layer(int64_t layer) {
  for (const GgufTensor& tensor : file_.tensors()) {
    if (layer_of(tensor.name) == layer) ignore(tensor.name);
  }
}

Result<WeightBuffers> WeightLoader::finish() && {
  for (const GgufTensor& tensor : file_.tensors()) {
    if (!asked_.contains(std::string(tensor.name))) {
      return fail(ErrorCode::unsupported,
                  "{}: tensor {} {} has no place in this architecture; the file is of a variant that this "
                  "program does not support",
                  file_.name(), printable(tensor.name), describe_found(tensor));
    }
  }
  return std::move(buffers_);
}

}  // namespace parlance
