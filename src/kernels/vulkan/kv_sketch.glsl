// The transforms that are sketches, of the vector x in shared memory; `sketch` is the matrix (128, 256).

// Value j of M^T x.
float to_sketch(uint j) {
  const uint first = j / kSketchOut * kSketchIn;
  precise float sum = 0;
  for (uint i = 0; i < kSketchIn; ++i) sum = sum + x[first + i] * sketch[i * kSketchOut + j % kSketchOut];
  return sum;
}

// Value i of M x.
float from_sketch(uint i) {
  const uint first = i / kSketchIn * kSketchOut;
  float sum = 0;
  for (uint j = 0; j < kSketchOut; ++j) sum += sketch[i % kSketchIn * kSketchOut + j] * x[first + j];
  return sum;
}
