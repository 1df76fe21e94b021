#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What scripts leave running holds no socket, becomes no worker, and ends with the pool.
. "$(dirname "$0")/lib.sh"

pid=$(script pid.php '<?php echo getmypid();')
# Background commands print their pid and live on.
background=$(script background.php '<?php exec("sleep 1000 >/dev/null 2>&1 & echo \$!", $out);
echo $out[0];')
holds_output=$(script holds-output.php '<?php $p = proc_open("exec sleep 1000", [], $pipes);
echo proc_get_status($p)["pid"];
posix_setsid(); $GLOBALS["keep"] = $p; register_shutdown_function(function () {
	ob_flush(); flush(); posix_kill(getmypid(), SIGKILL); });')
daemon=$(script daemon.php '<?php exec("setsid sh -c \"echo \\$\\$; trap : TERM;
while :; do sleep 1000; done\" 2>/dev/null >" . escapeshellarg($_SERVER["MARK"]) . " &");')
# Copies: one that ends when it is told to, one that ends first, one that calls exit, one that
# stays.
copy=$(script copy.php '<?php $p = pcntl_fork(); if ($p !== 0) { echo $p; return; }
while (!file_exists($_SERVER["MARK"])) { usleep(1000); clearstatcache(); }')
copy_first=$(script copy-first.php '<?php $p = pcntl_fork(); if ($p === 0) return;
pcntl_waitpid($p, $s); echo "worker";')
copy_exits=$(script copy-exits.php '<?php if (pcntl_fork() === 0) { exit(7); } pcntl_wait($s);
echo getmypid();')
copy_stays=$(script copy-stays.php '<?php $p = pcntl_fork();
if ($p === 0) { while (true) sleep(1000); } echo $p;')
mkdir "$T/marks"
chmod 777 "$T/marks"

PORT=$(free_port 4)
# No slot is answered for by another one.
pool_conf "pm.rescue = no"
sed -i "s|^listen = .*|listen = 127.0.0.1:$PORT+%n|" "$T/berth.conf"
# ask SLOT SCRIPT...: a request to a slot.
ask() { get "127.0.0.1:$((PORT + $1))" "${@:2}"; }
all_pids() { for n in 1 2 3 4; do ask $n "$pid" && echo; done; }
# listeners PID: how many of the pool's listening sockets it has.
listeners() {
	local inodes
	inodes=$(ss -tlneH "sport > :$PORT and sport < :$((PORT + 5))" | grep -o 'ino:[0-9]*')
	for fd in /proc/"$1"/fd/*; do readlink "$fd"; done | tr -d '[]' | sed 's/^socket:/ino:/' |
		sort -u | grep -cxF "$inodes"
}
sockets() { for fd in /proc/"$1"/fd/*; do readlink "$fd"; done | grep -c '^socket'; }

berth_start
known=$(all_pids | xargs)
descriptors=$(fds "$MANAGER")

strays=()
for n in 1 2 3 4; do
	p=$(ask $n "$background")
	strays+=("$p")
	check "a command in the background lives (pid $p)" alive "$p"
	equal "it holds sockets" "$(sockets "$p")" 0
done
mark=$T/marks/daemon
ask 1 "$daemon" "MARK=$mark"
check "one in a session of its own lives" until_true 10 test -s "$mark"
stubborn=$(cat "$mark")
strays+=("$stubborn")
equal "it holds sockets" "$(sockets "$stubborn")" 0

for n in 1 2 3 4; do
	copies=()
	for i in 1 2 3; do
		copies+=("$(ask $n "$copy" "MARK=$T/marks/$n")")
		ask $n "$copy_exits" >/dev/null 2>&1
	done
	equal "slot $n: copies of its worker that live" \
		"$(for p in "${copies[@]}"; do alive "$p" && echo "$p"; done | wc -l)" 3
	touch "$T/marks/$n"
	check "slot $n: they end, and do not stay for more requests" until_true 10 \
		all_gone "${copies[@]}"
done
equal "a copy that ends first does not answer for the worker" "$(ask 1 "$copy_first")" worker
p=$(ask 2 "$copy_stays" | head -1)
strays+=("$p")
check "a copy that stays lives (pid $p)" alive "$p"
equal "the manager has listeners" "$(listeners "$MANAGER")" 4
equal "a copy that stays has listeners" "$(listeners "$p")" 0

# Had copies become workers, some of these would be answered by them.
answers=$(for i in 1 2 3 4 5 6; do all_pids; done)
equal "answers come from the four known workers only" "$(sort -un <<<"$answers" | xargs)" \
	"$(printf '%s\n' $known | sort -n | xargs)"
equal "workers" "$(workers | xargs -n1 | sort -n | xargs)" \
	"$(printf '%s\n' $known | sort -n | xargs)"
equal "nothing ended, says the log" "$(grep -c 'ended' "$LOG")" 0

# Ends of strays that came to the manager are no news, and it reaps them.
for p in "${strays[@]:0:4}"; do kill -9 "$p"; done
below() {
	local p
	for p in $(children "$MANAGER") $(workers); do
		[ "$(awk '/^State/{print $2}' "/proc/$p/status" 2>/dev/null)" != Z ] || return 1
	done
}
check "strays that end: no zombie below the manager or the template" until_true 10 below
check "they have gone" until_true 10 all_gone "${strays[@]:0:4}"
equal "nothing ended, says the log" "$(grep -cE 'ended|unknown' "$LOG")" 0

# A worker that dies leaves its command to the manager, with its standard error still open.
p=$(ask 3 "$holds_output" 2>/dev/null)
strays+=("$p")
old=$(cut -d' ' -f3 <<<"$known")
check "a worker dies and leaves a command" until_true 10 gone "$old"
new=$(ask 3 "$pid")
check "its successor answers" test -n "$new" -a "$new" != "$old"
check "the command lives (pid $p)" alive "$p"
ours() { descendants "$MANAGER" | grep -qx "$p"; }
check "it came to the manager" ours
equal "one end in the log" "$(grep -c 'ended with' "$LOG")" 1

family=$(descendants "$MANAGER")
berth_stop
equal "exit status" "$STATUS" 0
check "all has gone: workers, strays, and one that ignores SIGTERM" all_gone $family "${strays[@]}"
contains "the log tells of them" "$LOG" '[3-9] processes that scripts left running are ended'
berth_start
equal "the ports are free at once" "$(all_pids | grep -c .)" 4
berth_stop
