// A workgroup of matmul for many tokens and its tile of rows times tokens (gemm_tile.h chooses both). For the
// shader that includes this below its local size, which is kRowLanes * kTokenLanes.

layout(constant_id = 9) const uint kRowLanes = 8;     // a multiple of 8
layout(constant_id = 10) const uint kTokenLanes = 4;  // a multiple of 4
const uint kRows = 8, kTokens = 4;                    // of a lane

const uint kLanes = kRowLanes * kTokenLanes;
const uint kTileRows = kRowLanes * kRows;
const uint kTileTokens = kTokenLanes * kTokens;

// A lane's place among the others: 32 neighbours are 8 beside 4. Of two that differ in the lowest bit, both
// read the same row, and of two that differ in the next one, the same token: then shared memory serves halves
// of 32 at once.
uvec2 place_of(uint lane) {
  const uint block = lane / 32;
  const uint blocks_beside = kRowLanes / 8;
  const uint row = (lane >> 1 & 1) | (lane >> 2 & 6);
  const uint token = (lane & 1) | (lane >> 1 & 2);
  return uvec2(row + 8 * (block % blocks_beside), token + 4 * (block / blocks_beside));
}
