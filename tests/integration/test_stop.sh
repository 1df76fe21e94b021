#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Stop: idle workers leave at once, running requests are finished within the limit, nothing stays.
. "$(dirname "$0")/lib.sh"

pid=$(script pid.php '<?php echo getmypid();')
# Announces itself in a file, works for the time that was asked for, and answers in two parts.
slow=$(script slow.php '<?php touch($_SERVER["MARK"]); echo str_repeat("a", 20000);
$end = microtime(true) + $_SERVER["SECONDS"]; while (microtime(true) < $end) usleep(10000);
echo str_repeat("b", 20000), "whole";')
preload=$(script preload.php '<?php touch(getenv("MARK")); sleep(100);')
mkdir "$T/marks"
chmod 777 "$T/marks"
whole_answer() { [ "$(wc -c <"$1")" = 40005 ] && [ "$(tail -c 5 "$1")" = whole ]; }

# launch_slow ADDRESS SECONDS: a request that runs; $CLIENT is the client, its answer is $ANSWER.
launch_slow() {
	MARK=$T/marks/$RANDOM$RANDOM
	ANSWER=$MARK.answer
	get -t 60 "$1" "$slow" "MARK=$MARK" "SECONDS=$2" >"$ANSWER" 2>&1 &
	CLIENT=$!
	until_true 20 test -e "$MARK" || fail "the slow request does not start"
}

# ended TEXT [STATUS]: after berth_stop, everything of it has gone.
ended() {
	equal "$1: exit status" "$STATUS" "${2:-0}"
	check "$1: every process has gone" all_gone $family
	equal "$1: no socket is left" "$(find "$T" -type s | wc -l)" 0
}

start() {
	berth_start
	family=$(descendants "$MANAGER")
}

spawn_and_conf() {
	if [ "$1" = exec ]; then
		pool_conf "spawn = exec" "${@:2}"
	else
		pool_conf "${@:2}"
	fi
}

# stops TEXT SPAWN SIGNAL: three idle workers and one with a request.
stops() {
	spawn_and_conf "$2"
	start
	launch_slow "$T/www-2.sock" 0.3
	berth_stop "$3"
	wait "$CLIENT"
	equal "$1: the running request's client: exit status" "$?" 0
	check "$1: its answer is whole" whole_answer "$ANSWER"
	equal "$1: nothing had to be killed" "$(grep -cE 'killed|Killed' "$LOG")" 0
	ended "$1"
}

stops "template, SIGTERM" template TERM
stops "template, SIGINT" template INT
stops "template, SIGQUIT" template QUIT
stops "exec, SIGTERM" exec TERM

for spawn in template exec; do
	spawn_and_conf $spawn "process_control_timeout = 1s"
	start
	busy=$(get "$T/www-3.sock" "$pid")
	berth_stop
	ended "$spawn, idle"
	equal "$spawn, idle: nothing had to be killed" "$(grep -cE 'killed|Killed' "$LOG")" 0

	start
	busy=$(get "$T/www-3.sock" "$pid")
	launch_slow "$T/www-3.sock" 30
	berth_stop
	wait "$CLIENT"
	equal "$spawn, too long a request: its client's exit status" "$?" 1
	contains "$spawn, too long a request: the log names its worker" "$LOG" \
		"slot 3 pid $busy: did not leave within process_control_timeout \(1\.0 s\), killed"
	equal "$spawn, too long a request: the others were not killed" \
		"$(grep -c 'did not leave' "$LOG")" 1
	ended "$spawn, too long a request"

	spawn_and_conf $spawn "process_control_timeout = 1h"
	start
	launch_slow "$T/www-4.sock" 100
	kill -TERM "$MANAGER"
	three_left() { grep -c 'ended with' "$LOG" | grep -qx 3; }
	check "$spawn, second signal: idle workers leave after the first" until_true 20 three_left
	check "$spawn, second signal: the manager waits for the busy one" alive "$MANAGER"
	berth_stop INT
	ended "$spawn, second signal"
	wait "$CLIENT"
done

# While the template still loads: before it and its workers could be asked for anything.
pool_conf "env[MARK] = $T/marks/loading"
sed -i "s|^program = .*|& -d opcache.enable=1 -d 'opcache.preload=$preload'|" "$T/berth.conf"
for signal in TERM INT QUIT; do
	rm -f "$T/marks/loading"
	berth_launch -c "$T/berth.conf"
	until_true 20 test -e "$T/marks/loading" || fail "the template does not load"
	family=$(descendants "$MANAGER")
	check "while starting, SIG$signal: nothing is ready" eval '! is_ready'
	berth_stop $signal
	ended "while starting, SIG$signal"
done

# Before anything runs: a signal in the middle of making the sockets.
if command -v strace >/dev/null; then
	printf '#!/bin/sh\nexec strace -D -o /dev/null -e trace=bind -e inject=bind:signal=%s:when=2 %s "$@"\n' \
		SIGTERM "'$BERTH'" >"$T/strace-berth"
	chmod 755 "$T/strace-berth"
	pool_conf
	BERTH=$T/strace-berth berth_launch -c "$T/berth.conf"
	family=$MANAGER
	check "while making sockets: it ends" until_true 20 gone "$MANAGER"
	wait "$MANAGER"
	STATUS=$?
	ended "while making sockets"
else
	say "skip  while making sockets: strace is not installed"
fi
