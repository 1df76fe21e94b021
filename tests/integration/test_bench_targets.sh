#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What berth-bench starts to measure it: alike in all that is not to be compared, and gone with us.
. "$(dirname "$0")/lib.sh"
export BERTH TMPDIR=$T
have() { PATH=$PATH:/usr/sbin command -v "$1" >/dev/null; }
kinds=("null unix" "null tcp" "null pipe" "berth unix" "berth tcp" "berth pipe")
have spawn-fcgi && kinds+=("spawn-fcgi unix" "spawn-fcgi tcp")
[ -n "$(compgen -G "/usr/sbin/php-fpm*")" ] && kinds+=("php-fpm unix" "php-fpm tcp")
workers=2

# target NAME ARG...: start the driver; its words are in $T/NAME, its pid is $DRIVER.
target() {
	local name=$1
	mkfifo "$T/$name.in"
	: >"$T/$name"
	"$HELPERS/bench-target" "${@:2}" <"$T/$name.in" >"$T/$name" 2>"$T/$name.err" &
	DRIVER=$!
	PIDS+=("$DRIVER")
	exec {IN}>"$T/$name.in"
	WORDS=$T/$name
	until_true 20 told || die "$*: $(cat "$T/$name" "$T/$name.err")"
	guard=$(children "$DRIVER" | xargs)
	# The guard ends with us, not with the test.
	mapfile -t all < <(descendants "$DRIVER")
}
told() { grep -Eq '^(ready|error)' "$WORDS"; }
word() { sed -n "s/^$1 //p" "$WORDS"; }
# over: the end of the driver's input.
over() {
	exec {IN}>&-
	wait "$DRIVER"
}
# each: has each worker an address of its own?
each() { [ "${words[0]}" = berth ] || [ "${words[1]}" = pipe ]; }
gone_all() { until_true 20 all_gone "${all[@]}"; }
owners() { for p in $(descendants "$(word pid)"); do stat -c %U "/proc/$p"; done | sort | uniq -c | xargs; }

# One that never answers, looked at last.
silent=$(script silent.sh '#!/bin/sh
exec sleep 1000')
chmod 755 "$silent"
FPM=$silent "$HELPERS/bench-target" php-fpm unix 1 </dev/null >"$T/silent" 2>&1 &
SILENT=$!
PIDS+=("$SILENT")

for kind in "${kinds[@]}"; do
	read -r -a words <<<"$kind"
	name=${kind/ /-}
	target "$name" "${words[@]}" $workers 5000
	endpoint=$(word endpoint | tail -1)
	php=yes
	[ "${words[0]}" = null ] && php=
	if [ "$php" ]; then
		contains "$kind: PHP tells what it is" "$WORDS" \
			'^version PHP [0-9.]+, (cgi-fcgi|fpm-fcgi), opcache (on|off), JIT (on|off); '
		word version | grep -Eo 'opcache (on|off), JIT (on|off)' >>"$T/caches"
		equal "$kind: body that is asked for" \
			"$(get "$endpoint" "$(word script)" QUERY_STRING=size=70001 | wc -c)" 70001
	fi
	equal "$kind: body" "$(get "$endpoint" "$(word script)" | wc -c)" 5000
	equal "$kind: endpoints" "$(word endpoint | wc -l)" \
		"$(each && echo $workers || echo 1)"
	[ "${words[1]}" = pipe ] || equal "$kind: backlog" "$(word backlog)" 511
	extra=$([ "${words[0]}" = berth ] && echo 2 || echo 1)
	equal "$kind: processes" "$(word processes)" $((workers + extra))
	check "$kind: memory is known" test "$(word pss)" -gt 100
	[ "$php" ] && [ "$(id -u)" = 0 ] && contains "$kind: PHP is not root" <(owners) ' www-data'
	check "$kind: a session of its own" \
		test "$(ps -o sid= "$(word pid)")" != "$(ps -o sid= "$DRIVER")"
	"$HELPERS/bench-target" attach "$(word endpoint | head -1)" </dev/null >"$T/attached"
	equal "$kind: found by its address" "$(sed -n 's/^pid //p' "$T/attached")" "$(word pid)"
	over
	equal "$kind: alive until we ended it" "$(word alive)" 1
	check "$kind: all ended" gone_all
	check "$kind: its folder is removed" test ! -e "$(word folder)"
done
equal "the cache is the same in all" "$(sort -u "$T/caches" | wc -l)" 1

# However we end.
for kind in "${kinds[@]}"; do
	read -r -a words <<<"$kind"
	name=killed-${kind/ /-}
	target "$name" "${words[@]}" $workers
	check "$kind: $((${#all[@]})) processes" test "${#all[@]}" -ge 5
	kill -KILL "$DRIVER"
	over 2>/dev/null
	check "$kind: we are killed, all ends" gone_all
	check "$kind: and its folder is removed" until_true 10 test ! -e "$(word folder)"

	target "guard-$name" "${words[@]}" $workers
	kill -KILL "$guard"
	until_true 10 gone "$guard"
	over
	check "$kind: its guard is killed, all ends" until_true 20 all_gone "${all[@]:1}"
	equal "$kind: and we know it" "$(word alive)" 0

	target "lost-$name" "${words[@]}" $workers
	kill -KILL "$(word pid)"
	check "$kind: it is killed, all it left ends" until_true 20 all_gone "${all[@]:1}"
	over
	equal "$kind: and we know it" "$(word alive)" 0
done

# What can't be started says why. Words are in the last line, of which there may be many.
fails() {
	"$HELPERS/bench-target" "$@" </dev/null >"$T/fails" 2>&1
	equal "$*: refused" $? 1
	check "$*: its folder is removed" test -z "$(compgen -G "$T/berth-bench.*")"
}
until_true 20 gone "$SILENT" || die "it waits for ever"
contains "one that is silent" "$T/silent" \
	'^error 110 php-fpm: no answer at .* within 10 s .*'
broken=$(script broken.sh '#!/bin/sh
yes filler | head -n 20000
echo "broken: no such thing" >&2
exit 3')
chmod 755 "$broken"
FPM=$broken fails php-fpm tcp 1
contains "one that ends" "$T/fails" '^error 10 php-fpm: it has ended; it said: broken: no such thing$'
PHP=$T/none fails berth tcp 1
contains "no php-cgi" "$T/fails" "^error 2 berth: $T/none: No such file"
fails spawn-fcgi pipe 1
contains "pipes" "$T/fails" "^error 22 spawn-fcgi can't answer over pipes"
fails address unix 1
PATH=/nowhere fails spawn-fcgi unix 1
contains "not installed" "$T/fails" 'not installed; Debian has it in the package spawn-fcgi'
