#include "kernels/metal/host/stream.h"

#include <cstring>

#include "kernels/vulkan/runtime/copy.h"

namespace parlance::metal {

namespace {

constexpr NSUInteger kPushIndex = 30;  // as tools/translate-shaders-to-metal.sh has it
constexpr int kMostOpen = 256;         // launches before the GPU begins with them
constexpr size_t kNothingBytes = 256;
constexpr size_t kCopyAlignment = 4;  // of Metal's copies

size_t offset_in(const Tensor& tensor) {
  const auto& buffer = static_cast<const MetalBuffer&>(*tensor.buffer);
  return buffer.first() + static_cast<size_t>(tensor.data - buffer.base());
}

}  // namespace

MetalStream::MetalStream(MetalDevice& device)
    : ShaderStream(device), metal_(device), queue_([device.metal() newCommandQueue]) {
  nothing_ = Owned<MtlBuffer>([device.metal() newBufferWithLength:kNothingBytes
                                                          options:MTLResourceStorageModeShared]);
  if (!queue_ || !nothing_)
    note(Error{ErrorCode::out_of_memory, std::string(device.name()) + ": no queue for commands can be had"});
}

MetalStream::~MetalStream() {
  (void)finish();
  release_memory();
}

void MetalStream::note(const Error& error) {
  if (!error_) error_ = error;
}

MtlCommands MetalStream::commands() {
  if (!open_) open_ = kept([queue_.get() commandBuffer]);
  if (++n_open_ % kMostOpen == 0) {
    commit();
    open_ = kept([queue_.get() commandBuffer]);
  }
  return open_.get();
}

void MetalStream::end_encoder() {
  [computing_.get() endEncoding];
  [copying_.get() endEncoding];
  computing_ = {};
  copying_ = {};
}

MtlComputing MetalStream::computing() {
  const MtlCommands commands = this->commands();
  if (copying_) end_encoder();
  if (!computing_) computing_ = kept([commands computeCommandEncoderWithDispatchType:MTLDispatchTypeSerial]);
  return computing_.get();
}

MtlCopying MetalStream::copying() {
  const MtlCommands commands = this->commands();
  if (computing_) end_encoder();
  if (!copying_) copying_ = kept([commands blitCommandEncoder]);
  return copying_.get();
}

void MetalStream::commit() {
  if (!open_) return;
  end_encoder();
  [open_.get() commit];
  committed_.push_back(std::move(open_));
}

Result<void> MetalStream::finish() {
  const AutoreleasePool pool;
  commit();
  n_open_ = 0;
  for (const Owned<MtlCommands>& commands : committed_) {
    [commands.get() waitUntilCompleted];
    if ([commands.get() status] == MTLCommandBufferStatusError)
      note(Error{ErrorCode::device_failed,
                 std::string(metal_.name()) + ": a step failed, " + words_of([commands.get() error])});
  }
  committed_.clear();
  if (error_) return tl::unexpected(*error_);
  return {};
}

// Memory is shared: what is on its way ends, then bytes are written where they belong.
void MetalStream::upload(const Tensor& dst, std::span<const std::byte> bytes) {
  if (finish() && !bytes.empty()) std::memcpy(dst.data, bytes.data(), bytes.size());
}

Result<void> MetalStream::download(std::span<std::byte> bytes, const Tensor& src) {
  PARLANCE_CHECK(finish());
  if (!bytes.empty()) std::memcpy(bytes.data(), src.data, bytes.size());
  return {};
}

void MetalStream::copy(const Tensor& dst, const Tensor& src) {
  const size_t bytes = src.size();
  if (error_ || bytes == 0) return;
  const size_t from = offset_in(src), to = offset_in(dst);
  if (vulkan::copy_by_shader(*this, dst, src)) return;
  if ((bytes | from | to) % kCopyAlignment != 0) {
    if (finish()) std::memmove(dst.data, src.data, bytes);
    return;
  }
  const AutoreleasePool pool;
  [copying() copyFromBuffer:static_cast<const MetalBuffer&>(*src.buffer).memory()
               sourceOffset:from
                   toBuffer:static_cast<const MetalBuffer&>(*dst.buffer).memory()
          destinationOffset:to
                       size:bytes];
}

void MetalStream::dispatch(std::string_view shader, std::span<const uint32_t> specialization,
                           std::span<const vulkan::Operand> operands, std::span<const std::byte> push,
                           vulkan::Groups groups) {
  if (error_) return;
  const auto pipeline = metal_.pipelines().find(shader, specialization);
  if (!pipeline) return note(pipeline.error());
  const AutoreleasePool pool;
  const MtlComputing encoder = computing();
  [encoder setComputePipelineState:(*pipeline)->state.get()];
  for (size_t i = 0; i < operands.size(); ++i) {
    const auto* const buffer = static_cast<const MetalBuffer*>(operands[i].buffer);
    [encoder setBuffer:buffer ? buffer->memory() : nothing_.get()
                offset:buffer ? buffer->first() + operands[i].offset : 0
               atIndex:i];
  }
  if (!push.empty()) [encoder setBytes:push.data() length:push.size() atIndex:kPushIndex];
  [encoder dispatchThreadgroups:MTLSizeMake(groups.x, groups.y, groups.z)
          threadsPerThreadgroup:MTLSizeMake((*pipeline)->n_threads, 1, 1)];
}

vulkan::Operand MetalStream::scratch_operand() {
  return {.buffer = scratch_buffer()};
}

// A kernel may be shown bytes of one buffer alone.
std::optional<ptrdiff_t> MetalStream::bytes_between(const Buffer& from, const Buffer& to) const {
  return &from == &to ? std::optional<ptrdiff_t>(0) : std::nullopt;
}

vulkan::Operand MetalStream::constants(std::string_view name, FunctionRef<std::vector<float>()> make) {
  const auto buffer = metal_.constants(name, make);
  if (buffer) return {.buffer = *buffer};
  note(buffer.error());
  return {};
}

vulkan::Operand MetalStream::counters() {
  if (!counters_) {
    auto buffer = metal_.allocate(vulkan::kCounters * sizeof(uint32_t));
    if (!buffer) {
      note(buffer.error());
      return {};
    }
    std::memset((*buffer)->base(), 0, (*buffer)->size());
    counters_ = std::move(*buffer);
  }
  return {.buffer = counters_.get()};
}

}  // namespace parlance::metal
