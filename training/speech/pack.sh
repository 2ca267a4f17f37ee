#!/usr/bin/env bash
# Packs the synthesizers for a machine on which nothing can be installed:
#   training/speech/pack.sh OUT           writes OUT/synthesizers.tar.xz and OUT/synthesizers.sh (22 MB)
#   . OUT/synthesizers.sh                 there: unpacks once to /tmp/synthesizers and lets engines.py find them
# Needs Debian's espeak-ng-data, libespeak-ng1, libflite1, festival, festvox-kdlpc16k, festvox-us-slt-hts, festlex-cmu,
# festlex-poslex, scowl, python3-zxcvbn, wordnet-base and gcc here, and glibc 2.34 or later there.
set -euo pipefail
out=$(mkdir -p "$1" && cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
from=/usr/lib/x86_64-linux-gnu
mkdir -p "$work/synthesizers/lib" "$work/synthesizers/espeak-ng-data/lang"
cd "$work/synthesizers"
for name in espeak-ng sonic flite flite_cmulex flite_usenglish flite_cmu_us_{slt,rms,awb,kal16}; do
  cp -L "$from"/lib$name.so.[01] lib/
done
cp -L "$from"/libest{ools,base,string}.so.2.5 lib/
mkdir bin && cp -L /usr/bin/festival bin/
cp -rL /usr/share/festival festival
mkdir scowl && cp /usr/share/dict/scowl/{english,american}-words.{10,20,35,40,50} scowl/
mkdir zxcvbn && cp /usr/lib/python3/dist-packages/zxcvbn/frequency_lists.py zxcvbn/
mkdir wordnet && (cd /usr/share/wordnet && for part in noun verb adj adv; do grep '"' data.$part >"$OLDPWD/wordnet/data.$part"; done)
find festival -name '*.scm' -exec sed -i 's|/usr/share/festival|/tmp/synthesizers/festival|g' {} +
# Devices for sound are linked, but never opened: libraries with the names that are asked for do.
stub() {  # stub SONAME USERS PATTERN: functions which those libraries lack and which match, with their versions
  local symbols version
  symbols=$(for user in $2; do nm -D --undefined-only "lib/$user"; done | awk '{print $NF}' | grep -E "$3" | sort -u)
  sed 's/@.*//; s/.*/void &(void) {}/' <<<"$symbols" >"$work/stub.c"
  for version in $(grep -o '@.*' <<<"$symbols" | tr -d @ | sort -u); do
    echo "$version { $(sed -n "s/@\{1,2\}$version\$/;/p" <<<"$symbols" | tr '\n' ' ') };"
  done >"$work/stub.map"
  [[ -s $work/stub.map ]] || echo '{ *; };' >"$work/stub.map"
  gcc -shared -fPIC -w -Wl,-soname,"$1" -Wl,--version-script="$work/stub.map" -o "lib/$1" "$work/stub.c"
}
stub libpcaudio.so.0 libespeak-ng.so.1 '^(audio_object|create_audio)'
stub libpulse-simple.so.0 libestbase.so.2.5 '^pa_simple'
stub libasound.so.2 "libflite.so.1 libestbase.so.2.5" '^snd_'
cp "$from"/espeak-ng-data/{en_dict,intonations,phondata,phonindex,phontab} espeak-ng-data/
cp -r --parents "$from"/espeak-ng-data/voices/\!v "$work"
mkdir -p espeak-ng-data/voices && mv "$work$from/espeak-ng-data/voices/!v" espeak-ng-data/voices/
mkdir -p espeak-ng-data/lang/gmw && cp "$from"/espeak-ng-data/lang/gmw/en* espeak-ng-data/lang/gmw/
tar cJf "$out/synthesizers.tar.xz" -C "$work" synthesizers
cat >"$out/synthesizers.sh" <<'SOURCE'
if [ ! -e /tmp/synthesizers/lib/libflite.so.1 ]; then
  tar xJf "$(dirname "${BASH_SOURCE[0]}")/synthesizers.tar.xz" -C /tmp 2>/dev/null ||
    python3 -c 'import sys, tarfile; tarfile.open(sys.argv[1], "r:xz").extractall("/tmp")' "$(dirname "${BASH_SOURCE[0]}")/synthesizers.tar.xz"
fi
export PATH=/tmp/synthesizers/bin:$PATH FESTIVAL_DATA_PATH=/tmp/synthesizers/festival
export SCOWL_PATH=/tmp/synthesizers/scowl ZXCVBN_PATH=/tmp/synthesizers/zxcvbn WORDNET_PATH=/tmp/synthesizers/wordnet
export LD_LIBRARY_PATH=/tmp/synthesizers/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} ESPEAK_DATA_PATH=/tmp/synthesizers
SOURCE
ls -l "$out"/synthesizers.*
