#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The preloaded library exports what its map lists, nothing else, and needs the C library only.
. "$(dirname "$0")/lib.sh"

LIBRARY=${LIBRARY:-$(dirname "$BERTH")/worker/libberth-worker.so}
EXPORTS_MAP=${EXPORTS_MAP:-$HERE/../../fpm/worker/exports.map}

nm -D --defined-only "$LIBRARY" | awk '{ print $3 }' | sort >"$T/exported"
awk '/global:/ { on = 1; next } /local:/ { on = 0 } on { gsub(/[;[:space:]]/, ""); if ($0) print }' \
	"$EXPORTS_MAP" | sort >"$T/listed"
check "the map lists something" test -s "$T/listed"
contains "accept() is exported" "$T/exported" '^accept$'
equal "exported names" "$(xargs <"$T/exported")" "$(xargs <"$T/listed")"
equal "names of libraries that must not be taken" "$(grep -Ec '^(fcgi_|FCGX_|FCGI_)' "$T/exported")" 0

readelf -dW "$LIBRARY" >"$T/dynamic"
equal "needed libraries" "$(sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' "$T/dynamic" |
	grep -Ev '^(libc\.so\.|ld-linux)' | xargs)" ""
contains "it needs the C library" "$T/dynamic" '\(NEEDED\).*\[libc\.so'
# Bound at the first call, a name could be looked up in a script's copy that holds a lock.
contains "all names are bound at the start" "$T/dynamic" 'NOW'
equal "relocations of code" "$(grep -c TEXTREL "$T/dynamic")" 0
equal "executable stack" "$(readelf -lW "$LIBRARY" | awk '/GNU_STACK/ && /RWE/' | wc -l)" 0
