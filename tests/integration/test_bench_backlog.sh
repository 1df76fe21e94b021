#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A short accept queue and many clients: on a unix socket connect() fails with EAGAIN, over TCP it takes
# long. Both are seen for what they are.
. "$(dirname "$0")/lib.sh"
. "$HERE/bench_lib.sh"

# 25 clients, a queue of 4, one worker that takes 20 ms for each.
respond unix --backlog 4 --delay-ms 20
port=$(free_port)
"$RESPONDER" --listen "127.0.0.1:$port" --backlog 4 --delay-ms 20 >"$T/tcp.responder" 2>&1 &
PIDS+=("$!")
until_true 10 port_open "$port" || die "no responder"

bench run -n 200 -c 25 --new --script /x --json "$T/unix" --csv "$T/unix.csv" "$T/unix.sock"
equal "unix: status" "$STATUS" 1
check "unix: EAGAIN is counted" test "$(class "$T/unix" eagain)" -gt 0
equal "unix: nothing else failed" "$(value "$T/unix" cells 0 total failed)" \
	"$(class "$T/unix" eagain)"
equal "unix: length of the queue" "$(value "$T/unix" cells 0 queue_limit)" 4
contains "unix: in the table" "$T/out" '^  unix  eagain '

bench run -n 100 -c 25 --new --script /x --timeout 60s --json "$T/tcp" "127.0.0.1:$port"
equal "tcp: nobody is turned away" "$STATUS" 0
equal "tcp: all answered" "$(value "$T/tcp" cells 0 total answered)" 100
longest=$(value "$T/tcp" cells 0 total histograms service max_ns)
# A SYN that finds the queue full is sent again a second later.
check "tcp: some waited for longer than a second ($longest ns)" test "$longest" -ge 1000000000
check "tcp: overflows are counted" test "$(value "$T/tcp" cells 0 rounds 0 overflows)" -gt 0

# As nginx does, a client may fail; it may also wait.
bench run -n 100 -c 25 --new --script /x --on-eagain wait --timeout 60s "$T/unix.sock"
equal "unix, waiting: status" "$STATUS" 0
bench run -n 100 -c 25 --new --script /x --on-eagain retry=5 --timeout 60s "$T/unix.sock"
equal "unix, trying again: status" "$STATUS" 0
bench run -n 50 -c 25 --new --script /x --require 'eagain=0' "$T/unix.sock"
equal "unix: a threshold of its own" "$STATUS" 1

# An open loop keeps its schedule, whatever the server does.
bench run --rate 500 -d 1s --max-queue 10 -c 2 --new --script /x --json "$T/open" "$T/unix.sock"
equal "open loop, overloaded: status" "$STATUS" 1
check "open loop, overloaded: arrivals that were dropped" test "$(class "$T/open" dropped)" -gt 0
equal "open loop: each arrival is an answer or a failure" \
	"$(value "$T/open" cells 0 total arrivals)" \
	$(($(value "$T/open" cells 0 total answered) + $(value "$T/open" cells 0 total failed)))

# One kept connection too many is starved: accepted by the kernel, never by a worker.
respond one --workers 1
bench run -d 1s -c 2 --keep --timeout 500ms --script /x --json "$T/starved" "$T/one.sock"
check "starved is told from slow" test "$(class "$T/starved" starved)" -gt 0
equal "not called a timeout" "$(class "$T/starved" timeout_silent)" 0
respond late --delay-ms 3000
bench run -n 1 --timeout 300ms --script /x --json "$T/late" "$T/late.sock"
equal "slow is a timeout" "$(class "$T/late" timeout_silent)" 1
