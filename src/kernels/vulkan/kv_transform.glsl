// The transforms between head vectors and what caches store of them (quant/kv_transform.h), by a group on the
// vector x in shared memory, with a barrier behind each step. Butterflies are the scalar definition's, so that
// they give its bits. Needs kLanes, x[] and constants[].

const uint kNone = 0, kHadamard = 1, kSignedHadamard32 = 2, kSignedHadamard128 = 3, kHadamard128 = 4;
const uint kSketch = 5, kSketchLeastSquares = 6;  // in the order of KvTransform
const uint kSketchIn = 128, kSketchOut = 256;
const float kInverseRoot32 = 0.1767766952966369, kInverseRoot128 = 0.08838834764831845;

// Blocks of a power of two of the first n values.
void hadamard(uint n, uint block) {
  for (uint len = 1; len < block; len *= 2) {
    for (uint pair = gl_LocalInvocationID.x; pair < n / 2; pair += kLanes) {
      const uint first = (pair & ~(len - 1)) * 2 + (pair & (len - 1));
      const float a = x[first], b = x[first + len];
      x[first] = a + b;
      x[first + len] = a - b;
    }
    barrier();
  }
}

void multiply(uint n, float factor) {
  for (uint i = gl_LocalInvocationID.x; i < n; i += kLanes) x[i] *= factor;
  barrier();
}

// Signs that repeat after `period` values, a power of two.
void multiply_signs(uint n, uint first, uint period, float factor) {
  for (uint i = gl_LocalInvocationID.x; i < n; i += kLanes)
    x[i] *= factor * constants[first + (i & (period - 1))];
  barrier();
}

// `block` and `root`: of KvTransform::hadamard.
void to_stored(uint transform, uint n, uint block, float root) {
  switch (transform) {
    case kHadamard:
      if (block > 1) {
        hadamard(n, block);
        multiply(n, root);
      }
      break;
    case kSignedHadamard32:
      multiply_signs(n, kSigns32At, 32, 1);
      hadamard(n, 32);
      multiply(n, kInverseRoot32);
      break;
    case kSignedHadamard128:
      multiply_signs(n, kSignsBefore128At, 128, 1);
      hadamard(n, 128);
      multiply_signs(n, kSignsAfter128At, 128, kInverseRoot128);
      break;
    case kHadamard128:
      hadamard(n, 128);
      multiply(n, 1.0 / 128);
      break;
  }
}

void from_stored(uint transform, uint n, uint block, float root) {
  switch (transform) {
    case kSignedHadamard32:
      hadamard(n, 32);
      multiply_signs(n, kSigns32At, 32, kInverseRoot32);
      break;
    case kSignedHadamard128:
      multiply_signs(n, kSignsAfter128At, 128, 1);
      hadamard(n, 128);
      multiply_signs(n, kSignsBefore128At, 128, kInverseRoot128);
      break;
    default: to_stored(transform, n, block, root);  // symmetric
  }
}
