// As much of Apple's Foundation as the host code of kernels/metal uses, written for its tests: the names and
// types are Apple's, what is behind them is in ../imitation.mm.
#pragma once

#include <objc/objc.h>

#include <cstddef>

using NSUInteger = unsigned long;

@protocol NSObject
- (id)retain;
- (void)release;
- (id)autorelease;
@end

@interface NSObject <NSObject> {
  Class isa;
  int n_references_;
}
+ (id)alloc;
- (id)init;
- (void)dealloc;
@end

@interface NSAutoreleasePool : NSObject
@end

@interface NSString : NSObject
+ (NSString*)stringWithUTF8String:(const char*)text;
- (const char*)UTF8String;
@end

@interface NSNumber : NSObject
+ (NSNumber*)numberWithUnsignedInt:(unsigned)value;
- (unsigned)unsignedIntValue;
@end

@interface NSDictionary : NSObject
- (id)objectForKey:(NSString*)key;
@end

@interface NSMutableDictionary : NSDictionary {
  struct Entries* held_;
}
- (void)setObject:(id)object forKey:(NSString*)key;
@end

@interface NSArray : NSObject
- (NSUInteger)count;
- (id)objectAtIndex:(NSUInteger)index;
@end

@interface NSError : NSObject
- (NSString*)localizedDescription;
@end
