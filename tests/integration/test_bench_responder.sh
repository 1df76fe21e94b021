#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The null responder: the same answers on every transport, known delays, and its end.
. "$(dirname "$0")/lib.sh"
. "$HERE/bench_lib.sh"

port=$(free_port 4)

# serve ADDRESS ARG...: start it and wait until it answers.
serve() {
	"$RESPONDER" --listen "$@" >"$T/responder" 2>&1 &
	SERVER=$!
	PIDS+=("$SERVER")
	until_true 10 answers "${1/+%n/}" || die "no responder at $1: $(cat "$T/responder")"
}
answers() {
	case $1 in
	pipe:*) [ -p "${1#pipe:}.in" ] ;;
	/*) [ -S "${1//%n/1}" ] ;;
	@*) grep -q "${1}\$" /proc/net/unix ;;
	*) port_open "${1##*:}" || port_open $((${1##*:} + 1)) ;;
	esac
}
# No file of it is left that answers() could take for the next one's.
unserve() {
	kill "$SERVER"
	until_true 10 gone "$SERVER" || die "the responder goes on"
	wait "$SERVER" 2>/dev/null
	rm -f "$T"/*.sock "$T"/*.in "$T"/*.out
}

for address in "$T/one.sock" "@berth-responder-$$" "127.0.0.1:$port" "pipe:$T/one"; do
	name=$(sed -E "s/^([a-z]+:|@|\/|1).*/\1/" <<<"$address")
	serve "$address" --body-size 1000
	for mode in --keep --new; do
		bench run --script /srv/null.php -n 100 $mode --expect-length 1000 --json "$T/j" "$address"
		equal "$name $mode: status" "$STATUS" 0
		equal "$name $mode: answers" "$(value "$T/j" cells 0 total answered)" 100
		for size in 0 9000 300000; do
			bench run --script /srv/null.php -n 20 $mode --query "a=b&size=$size" --expect-length $size "$address"
			equal "$mode, size=$size" "$STATUS" 0
		done
		head -c 200000 /dev/zero >"$T/body"
		bench run --script /srv/null.php -n 20 $mode --data "@$T/body" --expect-length 1000 "$address"
		equal "$mode, a body that nobody wants" "$STATUS" 0
	done
	unserve
done

# A place for each worker, so that as many kept connections are served at once.
for address in "$T/each-%n.sock" "127.0.0.1:$port+%n" "pipe:$T/each-%n"; do
	case $address in
	pipe:*)
		"$RESPONDER" --listen "$address" --workers 3 &
		SERVER=$!
		PIDS+=("$SERVER")
		until_true 10 test -p "$T/each-3.in" || die "no responder"
		;;
	*) serve "$address" --workers 3 ;;
	esac
	bench run --script /srv/null.php -n 300 -c 3 --workers 3 --timeout 5s --json "$T/j" "$address"
	equal "three workers: status" "$STATUS" 0
	equal "three workers: connections" "$(value "$T/j" cells 0 total connections_made)" 3
	until_true 10 test "$(children "$SERVER" | wc -w)" = 3 || fail "not three workers"
	workers=$(children "$SERVER")
	unserve
	until_true 10 all_gone $workers || fail "workers outlive the responder"
done

service() { value "$T/j" cells 0 total histograms service "$1"; }

# Known delays: 0, 0, 30 ms over and over.
serve "$T/slow.sock" --delay-ms 0,0,30
bench run --script /srv/null.php -n 30 --json "$T/j" "$T/slow.sock"
check "ten of thirty answers take 30 ms" awk -v sum="$(service sum_ns)" -v min="$(service min_ns)" \
	'BEGIN { exit !(sum >= 300e6 && sum < 1e9 && min < 20e6) }'
unserve
serve "$T/stall.sock" --stall-once-ms 300 --stall-after 5
bench run --script /srv/null.php -n 40 --json "$T/j" "$T/stall.sock"
check "one answer takes 300 ms" awk -v sum="$(service sum_ns)" -v max="$(service max_ns)" \
	'BEGIN { exit !(max >= 300e6 && sum - max < 200e6) }'
unserve

# It ends with the shell that has started it, and its workers with it.
bash -c "'$RESPONDER' --listen '$T/orphan.sock' --workers 2 --end-with-parent & echo \$! >'$T/pid'; sleep 60" &
parent=$!
PIDS+=("$parent")
until_true 10 test -S "$T/orphan.sock" || die "no responder"
until_true 10 test "$(children "$(cat "$T/pid")" | wc -w)" = 2 || fail "not two workers"
family="$(cat "$T/pid") $(children "$(cat "$T/pid")")"
kill -KILL $(children "$parent" | tr ' ' '\n' | grep -vx "$(cat "$T/pid")") "$parent"
wait "$parent" 2>/dev/null
until_true 10 all_gone $family || fail "the responder outlives its parent"

# What is wrong is said.
for arguments in "" "--listen" "--listen nonsense" "--listen $T/x --workers 0" "--listen $T/x --delay-ms 1,x" \
	"--listen $T/x --unknown" "--listen $T/x more"; do
	# shellcheck disable=SC2086 # several words
	"$RESPONDER" $arguments >"$T/responder" 2>&1 </dev/null
	equal "status of \"$arguments\"" $? 100
	check "something is said" test -s "$T/responder"
done
"$RESPONDER" --listen "$T/no/such/folder.sock" >"$T/responder" 2>&1
equal "status when it can't listen" $? 111
contains "why it can't" "$T/responder" 'folder.sock: No such file'
