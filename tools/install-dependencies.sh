#!/usr/bin/env bash
# Installs the Debian packages that building Parlance needs and that this machine lacks.
#   tools/install-dependencies.sh [build|test|training|browser|bench|clang|aarch64]...   (default: build)
set -euo pipefail

declare -A packages=(
  [build]="g++ cmake ninja-build ccache libfmt-dev libexpected-dev nlohmann-json3-dev libcli11-dev libutf8proc-dev libedit-dev libvulkan-dev libvulkan-volk-dev libxxhash-dev libsndfile1-dev libsoxr-dev nettle-dev portaudio19-dev libcurl4-openssl-dev libboost1.81-dev prometheus-cpp-dev glslc spirv-tools"
  [test]="libgtest-dev librapidcheck-dev python3 python3-jinja2 libvulkan1 mesa-vulkan-drivers vulkan-validationlayers spirv-cross gobjc++"
  [training]="python3 python3-numpy python3-zxcvbn scowl festlex-cmu festlex-poslex wordnet-base"
  [browser]="chromium"
  [bench]="libbenchmark-dev python3 pocketsphinx pocketsphinx-en-us"
  [clang]="clang-19 libclang-rt-19-dev"
  [aarch64]="g++-aarch64-linux-gnu qemu-user libfmt-dev:arm64 libutf8proc-dev:arm64 libedit-dev:arm64 libsndfile1-dev:arm64 libsoxr-dev:arm64 libcurl4-openssl-dev:arm64 nettle-dev:arm64 libprometheus-cpp-core1.0:arm64 libgtest-dev:arm64 librapidcheck-dev:arm64"
)

wanted=()
for group in "${@:-build}"; do
  [[ -v packages[$group] ]] || { echo "unknown group $group; known: ${!packages[*]}" >&2; exit 2; }
  read -ra names <<<"${packages[$group]}"
  wanted+=("${names[@]}")
  [[ $group != aarch64 ]] || foreign=arm64
done

missing=()
for name in "${wanted[@]}"; do
  dpkg-query -W -f='${Status}\n' "$name" 2>/dev/null | grep -q '^install ok installed' || missing+=("$name")
done
[[ ${#missing[@]} -gt 0 ]] || exit 0

if ! command -v apt-get >/dev/null; then
  echo "missing: ${missing[*]}; this script installs Debian packages, install the equivalents by hand" >&2
  exit 1
fi
as_root=()
if [[ $EUID -ne 0 ]]; then
  command -v sudo >/dev/null || { echo "missing: ${missing[*]}; run as root: apt-get install ${missing[*]}" >&2; exit 1; }
  as_root=(sudo)
fi
echo "installing: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
[[ -z ${foreign:-} ]] || "${as_root[@]}" dpkg --add-architecture "$foreign"
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
