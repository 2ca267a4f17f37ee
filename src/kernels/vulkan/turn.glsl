// The rotation of a pair by an angle, as (cos, sin): the same bits in every shader that has it.
vec2 turned(vec2 pair, vec2 angle) {
  precise const vec2 result = vec2(pair.x * angle.x - pair.y * angle.y, pair.x * angle.y + pair.y * angle.x);
  return result;
}
