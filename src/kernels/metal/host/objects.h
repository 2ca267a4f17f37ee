// Objective-C's objects in C++, without automatic reference counting.
#pragma once

#import <Foundation/Foundation.h>
#import <Metal/Metal.h>

#include <string>
#include <utility>

namespace parlance::metal {

using MtlDevice = id<MTLDevice>;
using MtlQueue = id<MTLCommandQueue>;
using MtlCommands = id<MTLCommandBuffer>;
using MtlComputing = id<MTLComputeCommandEncoder>;
using MtlCopying = id<MTLBlitCommandEncoder>;
using MtlBuffer = id<MTLBuffer>;
using MtlLibrary = id<MTLLibrary>;
using MtlFunction = id<MTLFunction>;
using MtlPipeline = id<MTLComputePipelineState>;

// One reference, given back with the object. What methods named new… and alloc give is one already; kept()
// takes one of what others give.
template <class T>
class Owned {
 public:
  Owned() = default;
  explicit Owned(T object) : object_(object) {}
  Owned(Owned&& other) noexcept : object_(std::exchange(other.object_, nil)) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Owned() { [object_ release]; }

  T get() const { return object_; }
  explicit operator bool() const { return object_ != nil; }

 private:
  T object_ = nil;
};

template <class T>
Owned<T> kept(T object) {
  [object retain];
  return Owned<T>(object);
}

// What methods give without a reference lives until here.
class AutoreleasePool {
 public:
  AutoreleasePool() : pool_([[NSAutoreleasePool alloc] init]) {}
  ~AutoreleasePool() { [pool_ release]; }
  AutoreleasePool(const AutoreleasePool&) = delete;
  AutoreleasePool& operator=(const AutoreleasePool&) = delete;

 private:
  NSAutoreleasePool* pool_;
};

// Within an AutoreleasePool.
inline NSString* string_of(const std::string& text) {
  return [NSString stringWithUTF8String:text.c_str()];
}
inline std::string words_of(NSError* error) {
  return error ? std::string([[error localizedDescription] UTF8String]) : std::string("no reason is given");
}

}  // namespace parlance::metal
