#include "shaders/support/imitated_metal.h"

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <random>
#include <stdexcept>

#include "kernels/metal/host/device.h"
#include "shaders/support/imitated_objects.h"

using namespace parlance;
using parlance::metal::kept;
using parlance::metal::Owned;
using parlance::test::ImitatedGpu;
using parlance::test::MetalKernel;
using parlance::test::tell;

struct Memory {
  std::byte* data;
  size_t length;
  bool is_own;
};

@interface ImitatedBuffer : NSObject <MTLBuffer>
HOLDS(Memory)
@end
@implementation ImitatedBuffer
- (void*)contents {
  return held_->data;
}
- (NSUInteger)length {
  return held_->length;
}
- (void)dealloc {
  if (held_->is_own) std::free(held_->data);
  delete held_;
  [super dealloc];
}
@end

using test::ConstantValues;
using Values = ConstantValues;

struct FunctionValues {
  Values values;
  std::map<uint32_t, MTLDataType> types;
};

@implementation MTLFunctionConstantValues
- (id)init {
  held_ = new FunctionValues;
  return self;
}
- (void)setConstantValue:(const void*)value type:(MTLDataType)type atIndex:(NSUInteger)index {
  const auto at = static_cast<uint32_t>(index);
  uint32_t number = 0;
  std::memcpy(&number, value, type == MTLDataTypeBool ? 1 : sizeof number);
  held_->values[at] = number;
  held_->types[at] = type;
}
DEALLOCATES
@end

@implementation MTLCompileOptions
- (void)setLanguageVersion:(MTLLanguageVersion)version {
  version_ = version;
}
- (void)setFastMathEnabled:(BOOL)is_enabled {
  is_exact_ = !is_enabled;
}
- (void)setPreprocessorMacros:(NSDictionary*)macros {
  macros_ = [macros retain];
}
- (void)dealloc {
  [macros_ release];
  [super dealloc];
}
@end

struct Function {
  std::string name;
  MetalKernel kernel;
};

@interface ImitatedFunction : NSObject <MTLFunction>
HOLDS(Function)
@end
@implementation ImitatedFunction
DEALLOCATES
@end

struct Pipeline {
  Function function;
  size_t simd_width;
};

@interface ImitatedPipeline : NSObject <MTLComputePipelineState>
HOLDS(Pipeline)
@end
@implementation ImitatedPipeline
- (NSUInteger)maxTotalThreadsPerThreadgroup {
  return 1024;
}
- (NSUInteger)threadExecutionWidth {
  return held_->simd_width;
}
DEALLOCATES
@end

struct Library {
  std::string source;
  Values macros;
};

// Compiled once for all devices.
static const MetalKernel& kernel_of(const Library& library, const std::string& name, const Values& values) {
  using Key = std::tuple<std::string, Values, Values, size_t>;
  static std::map<Key, MetalKernel> kernels;
  const Key key(name, library.macros, values, std::hash<std::string>()(library.source));
  const auto found = kernels.find(key);
  if (found != kernels.end()) return found->second;
  const std::string text = test::prepared_kernel(library.source, name, library.macros, values);
  return kernels[key] = test::load_kernel(text, name, test::metal_build_folder());
}

@interface ImitatedLibrary : NSObject <MTLLibrary>
HOLDS(Library)
@end
@implementation ImitatedLibrary
- (id<MTLFunction>)newFunctionWithName:(NSString*)name
                        constantValues:(MTLFunctionConstantValues*)values
                                 error:(NSError**)error {
  const std::string known = [name UTF8String];
  for (const auto& [index, type] : values->held_->types) {
    const char* word = type == MTLDataTypeBool ? "bool" : "uint";
    const size_t at = held_->source.find(fmt::format("[[function_constant({})]]", index));
    const size_t line = at == std::string::npos ? at : held_->source.rfind('\n', at) + 1;
    if (at == std::string::npos ||
        !held_->source.substr(line).starts_with(fmt::format("constant {} ", word))) {
      tell(error, fmt::format("constant {} is no {} of {}", index, word, known));
      return nil;
    }
  }
  try {
    return made_of<ImitatedFunction>(Function{known, kernel_of(*held_, known, values->held_->values)});
  } catch (const std::runtime_error& problem) {
    tell(error, problem.what());
    return nil;
  }
}
DEALLOCATES
@end

struct Commands;

// What is committed runs, in order, when somebody waits for it: who does not wait finds nothing done.
struct Gpu {
  ImitatedGpu about;
  std::mt19937 random;
  std::deque<std::shared_ptr<Commands>> committed = {};

  void run_up_to(const Commands* last);
};

// What was encoded, and whether that kept the rules.
struct Commands {
  explicit Commands(std::shared_ptr<Gpu> of) : gpu(std::move(of)) {}
  std::shared_ptr<Gpu> gpu;
  std::vector<std::function<void()>> calls;
  std::vector<Owned<id>> used;
  bool has_encoder = false, is_committed = false;
  std::string problem;
  MTLCommandBufferStatus status = MTLCommandBufferStatusNotEnqueued;

  void begin_encoder() {
    if (has_encoder) break_rule("an encoder is begun before the last one has ended");
    if (is_committed) break_rule("commands are encoded behind their commit");
    has_encoder = true;
  }
  void break_rule(const std::string& words) {
    if (problem.empty()) problem = words;
  }
  void run() {
    if (has_encoder) break_rule("the last encoder has not ended");
    try {
      for (const auto& call : calls) {
        if (problem.empty()) call();
      }
    } catch (const std::runtime_error& error) {
      break_rule(error.what());
    }
    status = problem.empty() ? MTLCommandBufferStatusCompleted : MTLCommandBufferStatusError;
  }
};
using SharedCommands = std::shared_ptr<Commands>;

void Gpu::run_up_to(const Commands* last) {
  while (last->status == MTLCommandBufferStatusNotEnqueued && !committed.empty()) {
    const SharedCommands next = std::move(committed.front());
    committed.pop_front();
    next->run();
  }
}

static std::set<std::string>& launched() {
  static std::set<std::string> names;
  return names;
}

struct Launch {
  std::shared_ptr<Gpu> gpu;
  MetalKernel kernel;
  std::vector<metal_shim::Binding> bindings;
  std::map<size_t, std::vector<std::byte>> bytes;
  uint32_t n_groups[3];

  void operator()() {
    for (auto& [index, constants] : bytes) bindings.at(index) = {constants.data(), constants.size()};
    test::run_workgroups(kernel, bindings, n_groups, gpu->about.limits, gpu->random);
  }
};

struct Encoder {
  explicit Encoder(SharedCommands of) : commands(std::move(of)) {}
  SharedCommands commands;
  const Pipeline* pipeline = nullptr;
  std::vector<metal_shim::Binding> bindings = std::vector<metal_shim::Binding>(31, {nullptr, 0});
  std::map<size_t, std::vector<std::byte>> bytes;
  bool has_ended = false;

  void end() {
    if (has_ended) commands->break_rule("an encoder ends twice");
    has_ended = true;
    commands->has_encoder = false;
  }
};

static metal_shim::Binding place_in(Encoder& encoder, id<MTLBuffer> buffer, size_t offset, size_t size) {
  const size_t length = [buffer length];
  if (!buffer || offset % 4 != 0 || offset + size > length)
    encoder.commands->break_rule(
        fmt::format("{} bytes from {} are no place in a buffer of {}", size, offset, length));
  encoder.commands->used.push_back(kept(static_cast<id>(buffer)));
  return {static_cast<std::byte*>([buffer contents]) + offset, length - offset};
}

@interface ImitatedComputing : NSObject <MTLComputeCommandEncoder>
HOLDS(Encoder)
@end
@implementation ImitatedComputing
- (void)setComputePipelineState:(id<MTLComputePipelineState>)state {
  held_->commands->used.push_back(kept(static_cast<id>(state)));
  held_->pipeline = static_cast<ImitatedPipeline*>(state)->held_;
}
- (void)setBuffer:(id<MTLBuffer>)buffer offset:(NSUInteger)offset atIndex:(NSUInteger)index {
  held_->bindings.at(index) = place_in(*held_, buffer, offset, 0);
}
- (void)setBytes:(const void*)bytes length:(NSUInteger)length atIndex:(NSUInteger)index {
  if (length > 4096) held_->commands->break_rule("setBytes takes 4096 bytes");
  const auto* first = static_cast<const std::byte*>(bytes);
  held_->bytes[index].assign(first, first + length);
}
- (void)dispatchThreadgroups:(MTLSize)groups threadsPerThreadgroup:(MTLSize)threads {
  if (!held_->pipeline || held_->has_ended) return held_->commands->break_rule("a launch without a pipeline");
  const Function& function = held_->pipeline->function;
  if (threads.width != function.kernel.n_threads || threads.height != 1 || threads.depth != 1)
    held_->commands->break_rule(fmt::format("{} has {} threads in a group, and is given {}", function.name,
                                            function.kernel.n_threads, threads.width));
  launched().insert(function.name);
  held_->commands->calls.push_back(
      Launch{held_->commands->gpu,
             function.kernel,
             held_->bindings,
             held_->bytes,
             {static_cast<uint32_t>(groups.width), static_cast<uint32_t>(groups.height),
              static_cast<uint32_t>(groups.depth)}});
}
- (void)endEncoding {
  held_->end();
}
DEALLOCATES
@end

@interface ImitatedCopying : NSObject <MTLBlitCommandEncoder>
HOLDS(Encoder)
@end
@implementation ImitatedCopying
- (void)copyFromBuffer:(id<MTLBuffer>)from
          sourceOffset:(NSUInteger)from_offset
              toBuffer:(id<MTLBuffer>)to
     destinationOffset:(NSUInteger)to_offset
                  size:(NSUInteger)size {
  if (size % 4 != 0) held_->commands->break_rule("copies are of whole words");
  const auto source = place_in(*held_, from, from_offset, size),
             target = place_in(*held_, to, to_offset, size);
  held_->commands->calls.push_back([=] { std::memcpy(target.data, source.data, size); });
}
- (void)endEncoding {
  held_->end();
}
DEALLOCATES
@end

@interface ImitatedCommands : NSObject <MTLCommandBuffer>
HOLDS(SharedCommands)
@end
@implementation ImitatedCommands
- (id<MTLComputeCommandEncoder>)computeCommandEncoderWithDispatchType:(MTLDispatchType)type {
  if (type != MTLDispatchTypeSerial) (*held_)->break_rule("launches that may overlap are not imitated");
  (*held_)->begin_encoder();
  return [made_of<ImitatedComputing>(Encoder(*held_)) autorelease];
}
- (id<MTLBlitCommandEncoder>)blitCommandEncoder {
  (*held_)->begin_encoder();
  return [made_of<ImitatedCopying>(Encoder(*held_)) autorelease];
}
- (void)commit {
  (*held_)->is_committed = true;
  (*held_)->gpu->committed.push_back(*held_);
}
- (void)waitUntilCompleted {
  (*held_)->gpu->run_up_to(held_->get());
}
- (MTLCommandBufferStatus)status {
  return (*held_)->status;
}
- (NSError*)error {
  NSError* error = nil;
  if (!(*held_)->problem.empty()) tell(&error, (*held_)->problem);
  return error;
}
DEALLOCATES
@end

using SharedGpu = std::shared_ptr<Gpu>;

@interface ImitatedQueue : NSObject <MTLCommandQueue>
HOLDS(SharedGpu)
@end
@implementation ImitatedQueue
- (id<MTLCommandBuffer>)commandBuffer {
  return [made_of<ImitatedCommands>(std::make_shared<Commands>(*held_)) autorelease];
}
DEALLOCATES
@end

@interface ImitatedDevice : NSObject <MTLDevice>
HOLDS(SharedGpu)
@end
@implementation ImitatedDevice
- (NSString*)name {
  return [NSString stringWithUTF8String:"Metal, imitated on the CPU"];
}
- (BOOL)hasUnifiedMemory {
  return YES;
}
- (BOOL)supportsFamily:(MTLGPUFamily)family {
  return family == MTLGPUFamilyApple7 && (*held_)->about.is_recent;
}
- (MTLSize)maxThreadsPerThreadgroup {
  return MTLSizeMake(1024, 1024, 1024);
}
- (NSUInteger)maxThreadgroupMemoryLength {
  return (*held_)->about.limits.threadgroup_bytes;
}
- (NSUInteger)maxBufferLength {
  return NSUInteger{1} << 31;
}
- (NSUInteger)recommendedMaxWorkingSetSize {
  return NSUInteger{1} << 33;
}
- (NSUInteger)currentAllocatedSize {
  return NSUInteger{1} << 20;
}
- (id<MTLCommandQueue>)newCommandQueue {
  return made_of<ImitatedQueue>(SharedGpu(*held_));
}
- (id<MTLBuffer>)newBufferWithLength:(NSUInteger)length options:(MTLResourceOptions)options {
  (void)options;
  if (length == 0 || !(*held_)->about.has_room) return nil;
  const size_t whole = (length + 255) / 256 * 256;
  auto* data = static_cast<std::byte*>(std::aligned_alloc(256, whole));
  std::memset(data, 0xff, whole);  // as numbers, none
  return made_of<ImitatedBuffer>(Memory{data, length, true});
}
- (id<MTLBuffer>)newBufferWithBytesNoCopy:(void*)bytes
                                   length:(NSUInteger)length
                                  options:(MTLResourceOptions)options
                              deallocator:(id)deallocator {
  (void)options;
  (void)deallocator;
  if ((reinterpret_cast<size_t>(bytes) | length) % 4096 != 0 || length == 0) return nil;
  return made_of<ImitatedBuffer>(Memory{static_cast<std::byte*>(bytes), length, false});
}
- (id<MTLLibrary>)newLibraryWithSource:(NSString*)source
                               options:(MTLCompileOptions*)options
                                 error:(NSError**)error {
  if (options->version_ != MTLLanguageVersion2_1 || !options->is_exact_) {
    tell(error, "the text is of Metal 2.1 and wants exact arithmetic");
    return nil;
  }
  Values macros;
  for (uint32_t i = 0; i < 32; ++i) {
    NSString* name = [NSString stringWithUTF8String:fmt::format("SPIRV_CROSS_CONSTANT_ID_{}", i).c_str()];
    if (NSNumber* number = [options->macros_ objectForKey:name]) macros[i] = [number unsignedIntValue];
  }
  return made_of<ImitatedLibrary>(Library{[source UTF8String], macros});
}
- (id<MTLComputePipelineState>)newComputePipelineStateWithFunction:(id<MTLFunction>)function
                                                             error:(NSError**)error {
  (void)error;
  return made_of<ImitatedPipeline>(
      Pipeline{*static_cast<ImitatedFunction*>(function)->held_, (*held_)->about.limits.simd_width});
}
DEALLOCATES
@end

static std::vector<ImitatedGpu>& gpus_of_this_machine() {
  static std::vector<ImitatedGpu> gpus;
  return gpus;
}

NSArray* MTLCopyAllDevices() {
  std::vector<Owned<id>> devices;
  for (const ImitatedGpu& gpu : gpus_of_this_machine())
    devices.push_back(
        Owned<id>(made_of<ImitatedDevice>(std::make_shared<Gpu>(Gpu{gpu, std::mt19937(gpu.seed)}))));
  return test::array_of(std::move(devices));
}

// ---- For tests ----

namespace parlance::test {

std::filesystem::path metal_folder() {
  return PARLANCE_METAL_TEXT;
}
std::filesystem::path metal_build_folder() {
  return PARLANCE_METAL_BUILD;
}

void imitate_gpus(std::vector<ImitatedGpu> gpus) {
  gpus_of_this_machine() = std::move(gpus);
}

Result<std::unique_ptr<Device>> open_metal_device(int index) {
  return metal::open_device(index, {});
}

std::unique_ptr<Device> metal_device_on(const ImitatedGpu& gpu, bool has_integer_dot_product) {
  imitate_gpus({gpu});
  auto device = open_metal_device(0);
  if (!device) throw std::runtime_error(device.error().message);
  vulkan::DeviceLimits& limits = static_cast<metal::MetalDevice&>(**device).limits;
  limits.has_integer_dot_product = has_integer_dot_product;
  limits.orders_groups = gpu.limits.orders_groups;
  limits.is_software = true;
  return std::move(*device);
}

const std::set<std::string>& launched_kernels() {
  return launched();
}

}  // namespace parlance::test
