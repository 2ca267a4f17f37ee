// Apple's Foundation, as far as apple/Foundation declares it.
#include <objc/runtime.h>

#include <map>
#include <stdexcept>

#include "shaders/support/imitated_objects.h"

using parlance::metal::kept;
using parlance::metal::Owned;

static thread_local std::vector<std::vector<id>> pools;

@implementation NSObject
+ (id)alloc {
  return class_createInstance(self, 0);
}
- (id)init {
  return self;
}
- (id)retain {
  ++n_references_;
  return self;
}
- (void)release {
  if (n_references_-- == 0) [self dealloc];  // alloc's own is not counted
}
- (id)autorelease {
  if (pools.empty()) throw std::logic_error("autorelease without a pool");
  pools.back().push_back(self);
  return self;
}
- (void)dealloc {
  object_dispose(self);
}
@end

@implementation NSAutoreleasePool
- (id)init {
  pools.emplace_back();
  return self;
}
- (void)dealloc {
  const std::vector<id> objects = std::move(pools.back());
  pools.pop_back();
  for (const id object : objects) [object release];
  [super dealloc];
}
@end

@interface ImitatedString : NSString
HOLDS(std::string)
@end
@implementation ImitatedString
- (const char*)UTF8String {
  return held_->c_str();
}
DEALLOCATES
@end

@implementation NSString
+ (NSString*)stringWithUTF8String:(const char*)text {
  return [made_of<ImitatedString>(std::string(text)) autorelease];
}
- (const char*)UTF8String {
  return "";
}
@end

@interface ImitatedNumber : NSNumber
HOLDS(unsigned)
@end
@implementation ImitatedNumber
- (unsigned)unsignedIntValue {
  return *held_;
}
DEALLOCATES
@end

@implementation NSNumber
+ (NSNumber*)numberWithUnsignedInt:(unsigned)value {
  return [made_of<ImitatedNumber>(value) autorelease];
}
- (unsigned)unsignedIntValue {
  return 0;
}
@end

struct Entries {
  std::map<std::string, Owned<id>> objects;
};

@implementation NSDictionary
- (id)objectForKey:(NSString*)key {
  (void)key;
  return nil;
}
@end
@implementation NSMutableDictionary
- (id)init {
  held_ = new Entries;
  return self;
}
- (id)objectForKey:(NSString*)key {
  const auto found = held_->objects.find([key UTF8String]);
  return found == held_->objects.end() ? nil : found->second.get();
}
- (void)setObject:(id)object forKey:(NSString*)key {
  const std::string name = [key UTF8String];
  held_->objects[name] = kept(object);
}
DEALLOCATES
@end

using Objects = std::vector<Owned<id>>;

@interface ImitatedArray : NSArray
HOLDS(Objects)
@end
@implementation ImitatedArray
- (NSUInteger)count {
  return held_->size();
}
- (id)objectAtIndex:(NSUInteger)index {
  return held_->at(index).get();
}
DEALLOCATES
@end
@implementation NSArray
- (NSUInteger)count {
  return 0;
}
- (id)objectAtIndex:(NSUInteger)index {
  (void)index;
  return nil;
}
@end

@interface ImitatedError : NSError
HOLDS(std::string)
@end
@implementation ImitatedError
- (NSString*)localizedDescription {
  return [NSString stringWithUTF8String:held_->c_str()];
}
DEALLOCATES
@end
@implementation NSError
- (NSString*)localizedDescription {
  return nil;
}
@end

// Of the leak sanitizer: lists that GNU's runtime library makes when it loads classes. Objects are another
// call's.
extern "C" const char* __lsan_default_suppressions() {
  return "leak:objc_malloc";
}

namespace parlance::test {

NSArray* array_of(std::vector<Owned<id>> objects) {
  return made_of<ImitatedArray>(std::move(objects));
}

void tell(NSError** error, const std::string& words) {
  if (error) *error = [made_of<ImitatedError>(words) autorelease];
}

}  // namespace parlance::test
