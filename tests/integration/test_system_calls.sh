#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# How many system calls a request costs on a kept connection, and how many of them are berth's.
. "$(dirname "$0")/lib.sh"
command -v strace >/dev/null || skip "strace is not installed"

hello=$(script hello.php '<?php echo $_SERVER["TOKEN"] ?? "hello";')
pid=$(script pid.php '<?php echo getmypid();')
# As it is on a server: a script that has not changed for some seconds is not looked at again.
touch -d '-1 hour' "$hello"

# What is counted must stay with the worker that is traced, however slow strace makes it.
pool_conf 'pm.rescue = no'
berth_start
worker=$(get "$T/www-1.sock" "$pid")
hold one "$T/www-1.sock" "$hello"
hold two "$T/www-1.sock" "$hello"
for name in one two; do tell $name open 1 && tell $name ask; done >"$T/null"
traced() { [ "$(awk '/^TracerPid/ { print $2 }' "/proc/$worker/status")" != 0 ]; }
# trace NAME...: a hundred requests of those clients in turn, each after the answer to the one
# before; $T/calls has a line for each system call of the thread that runs the program.
trace() {
	local i
	strace -o "$T/calls" -p "$worker" 2>"$T/strace.log" &
	tracer=$!
	PIDS+=("$tracer")
	until_true 10 traced || skip "a worker can't be traced: $(cat "$T/strace.log")"
	for ((i = 0; i < 100; i += $#)); do for name; do tell "$name" ask; done; done >"$T/answers"
	kill "$tracer"
	wait "$tracer" 2>"$T/null"
	equal "answers to ${*}" "$(grep -c '^answered 1, wrong 0, failed 0:' "$T/answers")" 100
	sed -nE 's/^([a-z_0-9]+)\(.*/\1/p' "$T/calls" | sort | uniq -c >"$T/counts"
	sed 's/^/      | /' "$T/counts"
}
calls() { awk -v names=" $* " 'index(names, " " $2 " ") { n += $1 } END { print n + 0 }' "$T/counts"; }
all() { awk '{ n += $1 } END { print n + 0 }' "$T/counts"; }
# The wait in which the trace begins or ends, and a thread that is woken, are not of a request.
few() { [ "$1" -ge "$2" ] && [ "$1" -le $(($2 + 4)) ]; }
# What berth does itself, or does in the program's place, on the way of a request.
ours="epoll_wait recvfrom read write dup3 dup2 dup accept accept4 close poll epoll_ctl futex
	clock_gettime sendmsg recvmsg shutdown"

trace one
check "a request on a kept connection: $(all) for 100" \
	test "$(all)" -le 2004
check "three of them are berth's: wait, receive, send: $(calls $ours)" few "$(calls $ours)" 300
check "it waits once: $(calls epoll_wait)" few "$(calls epoll_wait)" 100
check "it receives once: $(calls recvfrom)" few "$(calls recvfrom)" 100
equal "it sends once" "$(calls write)" 100

trace one two
check "two clients in turn: one more to change places: $(calls $ours)" few \
	"$(calls $ours)" 398
check "and $(all) calls in all" test "$(all)" -le 2104
equal "the same worker all the time" "$(get "$T/www-1.sock" "$pid")" "$worker"
berth_stop
equal "exit status" "$STATUS" 0
