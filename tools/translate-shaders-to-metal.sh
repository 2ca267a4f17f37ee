#!/usr/bin/env bash
# Translates the Vulkan shaders to Metal's shading language: src/kernels/vulkan/**/*.comp to
# src/kernels/metal/*.metal, by way of SPIR-V. Needs glslc and spirv-cross.
#   tools/translate-shaders-to-metal.sh           writes the files
#   tools/translate-shaders-to-metal.sh --check   compares them and names those that are stale (exit code 1);
#       77 when that cannot be told: a translator is missing, or another version than wrote the files
set -euo pipefail
export LC_ALL=C
cd "$(dirname "$0")/.."

readonly from=src/kernels/vulkan
readonly to=src/kernels/metal
readonly command=tools/translate-shaders-to-metal.sh
readonly metal_version=20100  # 2.1, the first with sums over simdgroups
readonly push_index=30        # push constants' buffer: the last that Metal has, behind all bindings
readonly cannot_tell=77

check=false
case "$*" in
  "") ;;
  --check) check=true ;;
  *) sed -n '2,6s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac

# Cannot translate: for --check not a failure.
give_up() {
  echo "$1" >&2
  $check && exit $cannot_tell
  exit 1
}

fail() {
  echo "$1" >&2
  exit 1
}

list_names() {  # FOLDER EXTENSION
  find "$1" -name "*.$2" -printf '%f\n' | sed "s/\.$2\$//" | sort
}

mapfile -t shaders < <(list_names $from comp)

# Missing and surplus files are found without the translators.
mapfile -t missing < <(comm -23 <(printf '%s\n' "${shaders[@]}") <(list_names $to metal))
mapfile -t surplus < <(comm -13 <(printf '%s\n' "${shaders[@]}") <(list_names $to metal))
if $check && ((${#missing[@]} + ${#surplus[@]})); then
  for name in "${missing[@]}"; do echo "missing: $to/$name.metal" >&2; done
  for name in "${surplus[@]}"; do echo "of no shader: $to/$name.metal" >&2; done
  fail "repaired by: $command"
fi

for tool in glslc spirv-cross; do
  command -v $tool >/dev/null || give_up "$tool is not installed: Metal shaders are neither made nor checked \
(tools/install-dependencies.sh build test installs it)"
done

# Debian's spirv-cross does not say its version; its package does.
spirv_cross_version() {
  local revision
  revision=$(spirv-cross --revision 2>&1 | head -n 1)
  [[ $revision != "(Debian package)" ]] || revision=$(dpkg-query -W -f '${Version}' spirv-cross)
  echo "$revision"
}
glslc_version=$(glslc --version | sed -nE 's/^(shaderc|glslang) +([^ ]+).*/\1 \2/p' |
  paste -sd, | sed 's/,/, /')
generator="glslc ($glslc_version) and spirv-cross ($(spirv_cross_version))"

# The text differs between versions, which is not staleness.
if $check; then
  others=$(sed -sn '1s/.*, translated by \(.*\); do not edit\.$/\1/p' $to/*.metal | sort -u |
    { grep -vxF "$generator" || true; })
  [[ -z $others ]] || give_up "$to was written by $others; here are $generator"
fi

# spirv-cross puts push constants at any index; they are the only operand in Metal's constant memory.
move_push_constants() {  # FILE
  sed -E "/^kernel void /s/(constant [A-Za-z_0-9]+& [A-Za-z_0-9]+ \[\[buffer\()[0-9]+/\1$push_index/" "$1"
}

translate() {  # NAME FOLDER
  local source spirv=$2/$1.spv metal=$2/$1.metal twice
  source=$(find $from -name "$1.comp")
  # Not optimised: names and functions survive, and Metal's compiler optimises anyway. Metal has no product of four
  # bytes at once.
  glslc --target-env=vulkan1.1 -O0 -Werror -DPARLANCE_EMULATED_DOT -I $from -o "$spirv" "$source"
  spirv-cross --msl --msl-version $metal_version --msl-decoration-binding \
    --rename-entry-point main "$1" comp --output "$metal.raw" "$spirv" ||
    fail "spirv-cross cannot translate $1.comp (above): change the shader"
  {
    echo "// $source, translated by $generator; do not edit."
    move_push_constants "$metal.raw" | sed 's/[[:blank:]]*$//'
  } >"$metal"
  twice=$(grep '^kernel void ' "$metal" | grep -oE '\[\[buffer\([0-9]+' | sort | uniq -d)
  [[ -z $twice ]] ||
    fail "$1.comp: two operands at $twice)]]; only storage buffers of set 0 and push constants have places"
  rm "$metal.raw" "$spirv"
}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
for name in "${shaders[@]}"; do translate "$name" "$scratch"; done

if $check; then
  stale=()
  for name in "${shaders[@]}"; do
    cmp -s "$scratch/$name.metal" $to/"$name.metal" || stale+=("$name")
  done
  ((${#stale[@]})) || { echo "${#shaders[@]} files of $to are what their shaders give"; exit 0; }
  for name in "${stale[@]}"; do echo "stale: $to/$name.metal" >&2; done
  fail "repaired by: $command"
fi
for name in "${surplus[@]}"; do rm $to/"$name.metal"; done
cp "$scratch"/*.metal $to/
echo "$to: ${#shaders[@]} files"
