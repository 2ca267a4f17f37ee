#include "kernels/metal/host/pipelines.h"

namespace parlance::metal {

namespace {

std::string key_of(std::string_view shader, std::span<const uint32_t> values) {
  std::string key(shader);
  key.append(1, ' ').append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
  return key;
}

}  // namespace

Result<const Pipelines::Pipeline*> Pipelines::find(std::string_view shader,
                                                   std::span<const uint32_t> constants) {
  const std::lock_guard lock(mutex_);
  const std::string key = key_of(shader, constants);
  const auto found = pipelines_.find(key);
  if (found != pipelines_.end()) return &found->second;
  const AutoreleasePool pool;
  PARLANCE_TRY(Pipeline pipeline, make(shader, constants));
  return &pipelines_.emplace(key, std::move(pipeline)).first->second;
}

Result<Pipelines::Pipeline> Pipelines::make(std::string_view shader, std::span<const uint32_t> constants) {
  auto known = texts_.find(shader);
  if (known == texts_.end()) {
    const auto text = read_kernel_text(find_source(shader));
    if (!text) return fail(ErrorCode::device_failed, "metal: there is no kernel {}", shader);
    known = texts_.emplace(shader, *text).first;
  }
  const KernelText& text = known->second;
  PARLANCE_TRY(const MtlLibrary library, this->library(shader, text, constants));

  const Owned<MTLFunctionConstantValues*> values([[MTLFunctionConstantValues alloc] init]);
  for (const FunctionConstant& constant : text.constants) {
    if (constant.index >= constants.size()) continue;  // the text has a value of its own
    const uint32_t number = constants[constant.index];
    const bool is_set = number != 0;
    if (constant.is_bool)
      [values.get() setConstantValue:&is_set type:MTLDataTypeBool atIndex:constant.index];
    else
      [values.get() setConstantValue:&number type:MTLDataTypeUInt atIndex:constant.index];
  }
  NSError* error = nil;
  const Owned<MtlFunction> function([library newFunctionWithName:string_of(std::string(shader))
                                                  constantValues:values.get()
                                                           error:&error]);
  if (!function)
    return fail(ErrorCode::device_failed, "metal: kernel {} cannot be had, {}", shader, words_of(error));
  Pipeline pipeline{.state = Owned<MtlPipeline>([device_ newComputePipelineStateWithFunction:function.get()
                                                                                       error:&error]),
                    .n_threads = text.threads_with(constants)};
  if (!pipeline.state)
    return fail(ErrorCode::device_failed, "metal: kernel {} is not taken, {}", shader, words_of(error));
  const size_t most = [pipeline.state.get() maxTotalThreadsPerThreadgroup];
  if (pipeline.n_threads == 0 || pipeline.n_threads > most)
    return fail(ErrorCode::device_failed, "metal: kernel {} wants {} threads in a group; it may have 1 to {}",
                shader, pipeline.n_threads, most);
  return pipeline;
}

Result<MtlLibrary> Pipelines::library(std::string_view shader, const KernelText& text,
                                      std::span<const uint32_t> constants) {
  std::vector<uint32_t> given;
  const Owned<NSMutableDictionary*> macros([[NSMutableDictionary alloc] init]);
  for (const uint32_t index : text.macros) {
    if (index >= constants.size()) continue;
    given.insert(given.end(), {index, constants[index]});
    [macros.get() setObject:[NSNumber numberWithUnsignedInt:constants[index]]
                     forKey:string_of("SPIRV_CROSS_CONSTANT_ID_" + std::to_string(index))];
  }
  const std::string key = key_of(shader, given);
  const auto found = libraries_.find(key);
  if (found != libraries_.end()) return found->second.get();
  const Owned<MTLCompileOptions*> options([[MTLCompileOptions alloc] init]);
  [options.get() setLanguageVersion:MTLLanguageVersion2_1];
  [options.get() setFastMathEnabled:NO];  // rounding and angles follow the CPU's arithmetic step by step
  [options.get() setPreprocessorMacros:macros.get()];
  NSError* error = nil;
  Owned<MtlLibrary> library([device_ newLibraryWithSource:string_of(std::string(text.source))
                                                  options:options.get()
                                                    error:&error]);
  if (!library)
    return fail(ErrorCode::device_failed, "metal: kernel {} does not compile, {}", shader, words_of(error));
  return libraries_.emplace(key, std::move(library)).first->second.get();
}

}  // namespace parlance::metal
