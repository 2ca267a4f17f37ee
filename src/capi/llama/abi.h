// llama.cpp's interface as this library implements it.
#pragma once

#include "capi/llama/types.h"
// types first
#include "capi/llama/functions.h"
