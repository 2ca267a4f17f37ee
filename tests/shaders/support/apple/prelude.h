// Before every Objective-C++ file, with GNU's compiler: `id` is a keyword to it, and a name to headers of
// C++.
#pragma once

#define id id_of_cpp
#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <random>
#include <set>

#include "base/parameter.h"
#include "kernels/fused_rows.h"
#include "kernels/vulkan/kernels.h"
#include "kernels/vulkan/runtime/shader_stream.h"
#undef id
