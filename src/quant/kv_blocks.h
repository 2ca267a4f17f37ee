// The blocks of all formats of the cache, their codebooks and signs: for kernels that serve every one of them.
#pragma once

#include "quant/codebook.h"
#include "quant/q4_0.h"
#include "quant/q4_polar.h"
#include "quant/q8_0.h"
#include "quant/qjl1_256.h"
#include "quant/signs.h"
#include "quant/tbq.h"
#include "quant/tbq3_tcq.h"
