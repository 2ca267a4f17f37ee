// As much of Apple's Metal as the host code of kernels/metal uses, written for its tests: the names and types
// are Apple's, what is behind them is in ../imitation.mm.
#pragma once

#import <Foundation/Foundation.h>

struct MTLSize {
  NSUInteger width, height, depth;
};
inline MTLSize MTLSizeMake(NSUInteger width, NSUInteger height, NSUInteger depth) {
  return {width, height, depth};
}

enum MTLResourceOptions : NSUInteger { MTLResourceStorageModeShared = 0 };
enum MTLDispatchType : NSUInteger { MTLDispatchTypeSerial = 0, MTLDispatchTypeConcurrent = 1 };
enum MTLLanguageVersion : NSUInteger { MTLLanguageVersion2_1 = (2 << 16) + 1 };
enum MTLDataType : NSUInteger { MTLDataTypeUInt = 33, MTLDataTypeBool = 53 };
enum MTLGPUFamily : long { MTLGPUFamilyApple7 = 1007 };
enum MTLCommandBufferStatus : NSUInteger {
  MTLCommandBufferStatusNotEnqueued = 0,
  MTLCommandBufferStatusCompleted = 4,
  MTLCommandBufferStatusError = 5,
};

@protocol MTLBuffer <NSObject>
- (void*)contents;
- (NSUInteger)length;
@end

@protocol MTLFunction <NSObject>
@end

@interface MTLFunctionConstantValues : NSObject {
 @public
  struct FunctionValues* held_;
}
- (void)setConstantValue:(const void*)value type:(MTLDataType)type atIndex:(NSUInteger)index;
@end

@protocol MTLLibrary <NSObject>
- (id<MTLFunction>)newFunctionWithName:(NSString*)name
                        constantValues:(MTLFunctionConstantValues*)values
                                 error:(NSError**)error;
@end

@interface MTLCompileOptions : NSObject {
 @public
  MTLLanguageVersion version_;
  BOOL is_exact_;
  NSDictionary* macros_;
}
- (void)setLanguageVersion:(MTLLanguageVersion)version;
- (void)setFastMathEnabled:(BOOL)is_enabled;
- (void)setPreprocessorMacros:(NSDictionary*)macros;
@end

@protocol MTLComputePipelineState <NSObject>
- (NSUInteger)maxTotalThreadsPerThreadgroup;
- (NSUInteger)threadExecutionWidth;
@end

@protocol MTLCommandEncoder <NSObject>
- (void)endEncoding;
@end

@protocol MTLComputeCommandEncoder <MTLCommandEncoder>
- (void)setComputePipelineState:(id<MTLComputePipelineState>)state;
- (void)setBuffer:(id<MTLBuffer>)buffer offset:(NSUInteger)offset atIndex:(NSUInteger)index;
- (void)setBytes:(const void*)bytes length:(NSUInteger)length atIndex:(NSUInteger)index;
- (void)dispatchThreadgroups:(MTLSize)groups threadsPerThreadgroup:(MTLSize)threads;
@end

@protocol MTLBlitCommandEncoder <MTLCommandEncoder>
- (void)copyFromBuffer:(id<MTLBuffer>)from
          sourceOffset:(NSUInteger)from_offset
              toBuffer:(id<MTLBuffer>)to
     destinationOffset:(NSUInteger)to_offset
                  size:(NSUInteger)size;
@end

@protocol MTLCommandBuffer <NSObject>
- (id<MTLComputeCommandEncoder>)computeCommandEncoderWithDispatchType:(MTLDispatchType)type;
- (id<MTLBlitCommandEncoder>)blitCommandEncoder;
- (void)commit;
- (void)waitUntilCompleted;
- (MTLCommandBufferStatus)status;
- (NSError*)error;
@end

@protocol MTLCommandQueue <NSObject>
- (id<MTLCommandBuffer>)commandBuffer;
@end

@protocol MTLDevice <NSObject>
- (NSString*)name;
- (BOOL)hasUnifiedMemory;
- (BOOL)supportsFamily:(MTLGPUFamily)family;
- (MTLSize)maxThreadsPerThreadgroup;
- (NSUInteger)maxThreadgroupMemoryLength;
- (NSUInteger)maxBufferLength;
- (NSUInteger)recommendedMaxWorkingSetSize;
- (NSUInteger)currentAllocatedSize;
- (id<MTLCommandQueue>)newCommandQueue;
- (id<MTLBuffer>)newBufferWithLength:(NSUInteger)length options:(MTLResourceOptions)options;
- (id<MTLBuffer>)newBufferWithBytesNoCopy:(void*)bytes
                                   length:(NSUInteger)length
                                  options:(MTLResourceOptions)options
                              deallocator:(id)deallocator;
- (id<MTLLibrary>)newLibraryWithSource:(NSString*)source
                               options:(MTLCompileOptions*)options
                                 error:(NSError**)error;
- (id<MTLComputePipelineState>)newComputePipelineStateWithFunction:(id<MTLFunction>)function
                                                             error:(NSError**)error;
@end

NSArray* MTLCopyAllDevices();
