#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# kill -9 of the manager: idle processes leave by themselves, a busy one after its request.
. "$(dirname "$0")/lib.sh"

pid=$(script pid.php '<?php echo getmypid();')
# Announces itself in a file, waits for another one, and answers.
waits=$(script waits.php '<?php touch($_SERVER["MARK"]); echo str_repeat("a", 20000);
while (!file_exists($_SERVER["MARK"] . ".go")) { usleep(10000); clearstatcache(); }
echo str_repeat("b", 20000), "whole";')
preload=$(script preload.php '<?php touch(getenv("MARK"));
while (!file_exists(getenv("MARK") . ".go")) { usleep(10000); clearstatcache(); }')
mkdir "$T/marks"
chmod 777 "$T/marks"
PORT=$(free_port 4)

killed_conf() {
	pool_conf "$@"
	sed -i "s|^listen = .*|listen = 127.0.0.1:$PORT+%n|" "$T/berth.conf"
}

# kill_manager: and let nothing of its family outlive this test.
kill_manager() {
	PIDS+=("$@")
	kill -9 "$MANAGER"
	wait "$MANAGER" 2>/dev/null
}

for spawn in template exec; do
	killed_conf "spawn = $spawn"
	berth_start
	mark=$T/marks/$spawn
	get -t 60 "127.0.0.1:$((PORT + 2))" "$waits" "MARK=$mark" >"$T/answer" 2>&1 &
	client=$!
	check "$spawn: a request runs" until_true 20 test -e "$mark"
	# The busy one is the one that has a connection.
	idle=() busy=
	for p in $(descendants "$MANAGER"); do
		[ "$p" = "$MANAGER" ] && continue
		if ss -tnpH "sport = :$((PORT + 2))" | grep -q "pid=$p,"; then
			busy=$p
		else
			idle+=("$p")
		fi
	done
	check "$spawn: one process is busy" test -n "$busy"
	equal "$spawn: idle ones" "${#idle[@]}" "$([ $spawn = exec ] && echo 3 || echo 4)"
	kill_manager "${idle[@]}" "$busy"
	check "$spawn: the idle ones leave" until_true 10 all_gone "${idle[@]}"
	check "$spawn: the busy one goes on" alive "$busy"
	if [ $spawn = template ]; then
		busy_holds() { ss -ltnpH "sport = :$((PORT + 2))" | grep -q "pid=$busy,"; }
		lets_go() { ! busy_holds; }
		check "the busy one lets its socket go" until_true 10 lets_go
		berth_start
		check "a new manager starts beside it" test -n "$(get "127.0.0.1:$((PORT + 2))" "$pid")"
		berth_stop
		check "which leaves it alone" alive "$busy"
	fi
	touch "$mark.go"
	wait "$client"
	equal "$spawn: its client's exit status" "$?" 0
	equal "$spawn: its answer is whole" "$(wc -c <"$T/answer") $(tail -c 5 "$T/answer")" \
		"40005 whole"
	check "$spawn: the busy one leaves then" until_true 10 gone "$busy"

	berth_start
	answers=$(for n in 1 2 3 4; do get "127.0.0.1:$((PORT + n))" "$pid" && echo; done)
	equal "$spawn: a new manager serves on the same ports at once" \
		"$(sort -u <<<"$answers" | grep -c .)" 4
	berth_stop
	equal "$spawn: exit status of the new one" "$STATUS" 0
done

# Killed while the template loads.
killed_conf "env[MARK] = $T/marks/loading"
sed -i "s|^program = .*|& -d opcache.enable=1 -d 'opcache.preload=$preload'|" "$T/berth.conf"
berth_launch -c "$T/berth.conf"
check "while loading: it loads" until_true 20 test -e "$T/marks/loading"
family=$(descendants "$MANAGER" | grep -vx "$MANAGER")
kill_manager $family
touch "$T/marks/loading.go"
check "while loading: the template leaves when it has loaded" until_true 10 all_gone $family
