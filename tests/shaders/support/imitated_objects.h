// Objective-C's objects for the imitation of Metal: classes that hold what they are in C++.
#pragma once

#import <Foundation/Foundation.h>

#include <string>
#include <utility>
#include <vector>

#include "kernels/metal/host/objects.h"

// Variable and end of a class that holds a value of a type of C++; made_of() makes such objects.
#define HOLDS(Type) \
  {                 \
   @public          \
    Type* held_;    \
  }
#define DEALLOCATES  \
  -(void)dealloc {   \
    delete held_;    \
    [super dealloc]; \
  }

template <class Object, class Held>
Object* made_of(Held held) {
  Object* object = [Object alloc];
  object->held_ = new Held(std::move(held));
  return object;
}

namespace parlance::test {

// The caller's.
NSArray* array_of(std::vector<metal::Owned<id>> objects);

// Sets an error, where one is asked for.
void tell(NSError** error, const std::string& words);

}  // namespace parlance::test
