#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What is on descriptor 0 of a worker, which sockets it has, and that nobody inherits them.
. "$(dirname "$0")/lib.sh"

port=$(free_port 3)
pid=$(script pid.php '<?php echo getmypid();')
mkdir "$T/drop"
chmod 777 "$T/drop"
# Each way to start a program; ls has a descriptor of its own for the folder that it reads, 3.
starts=$(script starts.php '<?php
$ls = "ls /proc/self/fd";
exec($ls, $out);
echo "exec: ", implode(" ", $out), "\n";
echo "shell_exec: ", str_replace("\n", " ", trim(shell_exec($ls))), "\n";
$p = popen($ls, "r");
echo "popen: ", str_replace("\n", " ", trim(stream_get_contents($p))), "\n";
pclose($p);
$p = proc_open($ls, [1 => ["pipe", "w"]], $pipes);
echo "proc_open: ", str_replace("\n", " ", trim(stream_get_contents($pipes[1]))), "\n";
proc_close($p);
if (function_exists("pcntl_exec")) {
	$file = $_SERVER["DROP"] . "/list" . getmypid();
	if (($p = pcntl_fork()) == 0)
		pcntl_exec("/bin/sh", ["-c", "exec ls /proc/self/fd >\$0", $file]);
	pcntl_waitpid($p, $status);
	echo "pcntl_exec: ", str_replace("\n", " ", trim(file_get_contents($file))), "\n";
}
echo "descriptor 0: ", trim(shell_exec("readlink /proc/self/fd/0")), "\n";')
job=$(script job.php '<?php echo trim(shell_exec("sleep 1000 >/dev/null 2>&1 & echo \$!"));')
gated=$(script gated.php '<?php file_put_contents($_SERVER["DROP"] . "/pid", getmypid());
while (!file_exists($_SERVER["DROP"] . "/gate")) { usleep(5000); clearstatcache(); }
echo getmypid();')
big=$(script big.php '<?php echo str_repeat("0123456789", 2000);')

# inherited TEXT ADDRESS: programs that a script starts have 0, 1, 2 and their own only.
inherited() {
	get "$2" "$starts" "DROP=$T/drop" >"$T/out" 2>&1
	check "$1: there is something to judge" test "$(wc -l <"$T/out")" -ge 5
	equal "$1: what programs have of it" "$(grep -v 'descriptor 0' "$T/out" | sed 's/.*: //' | sort -u)" \
		"0 1 2 3" || sed 's/^/      | /' "$T/out"
}
sockets() { "$HELPERS/socket-options" "$1" | cut -d' ' -f2- | sort | uniq -c | sed 's/^ *//'; }
# descriptors PID: the links from 3 on, with "kept" before those that an exec would not close.
descriptors() {
	local fd
	for fd in /proc/"$1"/fd/*; do
		[ "${fd##*/}" -gt 2 ] || continue
		echo "$(($(awk '/^flags/{ print $2 }' "/proc/$1/fdinfo/${fd##*/}") & 02000000 ? 0 : 1))" \
			"$(readlink "$fd")"
	done | sed 's/^0 //; s/^1 /kept /'
}
# no_accept TEXT REQUEST...: the manager accepts nothing while these requests are served.
no_accept() {
	local text=$1 tracer
	shift
	strace -p "$MANAGER" -e trace=accept,accept4,recvmsg -o "$T/strace" 2>"$T/strace.err" &
	tracer=$!
	until_true 10 grep -q attached "$T/strace.err" || die "strace: $(cat "$T/strace.err")"
	"$@" || fail "$text: requests"
	kill -INT "$tracer"
	wait "$tracer"
	equal "$text" "$(grep -c '^accept' "$T/strace")" 0
}
requests() {
	local i
	for i in 1 2 3 4; do get -n 5 "$T/www-$i.sock" "$pid" >/dev/null || return; done
}

# Workers that were forked from a template.
pool_conf "listen = 127.0.0.1:$port+%n"
sed -i 's/^pm.max_children = .*/pm.max_children = 2/' "$T/berth.conf"
berth_start
for worker in $(workers); do
	equal "template: descriptor 0 of worker $worker" "$(readlink "/proc/$worker/fd/0")" /dev/null
done
inherited "template, unix" "$T/www-1.sock"
inherited "template, TCP" "127.0.0.1:$((port + 2))"
equal "template: descriptor 0 of a program" "$(sed -n 's/^descriptor 0: //p' "$T/out")" /dev/null

sleeper=$(get "127.0.0.1:$((port + 1))" "$job")
check "template: a background job runs" alive "$sleeper"
equal "template: descriptors of the job" "$(ls "/proc/$sleeper/fd" | xargs)" "0 1 2"
equal "template: sockets of the job" "$(ls -l "/proc/$sleeper/fd" | grep -c socket:)" 0
kill "$sleeper"

get -t 60 "127.0.0.1:$((port + 2))" "$gated" "DROP=$T/drop" >"$T/answer" &
client=$!
until_true 20 test -s "$T/drop/pid" || die "the script does not start"
worker=$(cat "$T/drop/pid")
equal "template: descriptors that an exec would not close" \
	"$(descriptors "$worker" | grep -c '^kept')" 0
check "template: the epoll set was one of those" \
	grep -qF 'anon_inode:[eventpoll]' <<<"$(descriptors "$worker")"
if sockets "$worker" >"$T/sockets" 2>/dev/null; then
	contains "template: its connection is blocking and sends at once" "$T/sockets" \
		'^1 inet connected cloexec nodelay$'
	contains "template: its TCP listener" "$T/sockets" 'inet listening nonblock cloexec nodelay$'
	contains "template: its unix listener" "$T/sockets" 'unix listening nonblock cloexec$'
else
	say "skip  options of another process's sockets can't be seen"
fi
touch "$T/drop/gate"
wait "$client"
equal "template: the request's answer" "$(cat "$T/answer")" "$worker"
get -k 20 "127.0.0.1:$((port + 1))" "$big" >"$T/answer"
equal "template: 20 bodies of 20 kB over one TCP connection" "$(wc -c <"$T/answer")" 400000
berth_stop

# Workers that were executed: php-cgi's own accept() ends the process on EAGAIN.
pool_conf "spawn = exec"
berth_start
for worker in $(children "$MANAGER"); do
	flags=$(awk '/^flags/{ print $2 }' "/proc/$worker/fdinfo/0")
	equal "exec: worker $worker: O_NONBLOCK on descriptor 0" $((flags & 04000)) 0
	equal "exec: worker $worker: sockets that it has" \
		"$(ls -l "/proc/$worker/fd" | sed -n 's/.* \([0-9]*\) -> socket:.*/\1/p' | xargs)" 0
	[ "$(id -u)" != 0 ] ||
		equal "exec: worker $worker: what it is" "$(sockets "$worker")" "1 unix listening"
	equal "exec: worker $worker: what it inherited besides" \
		"$(descriptors "$worker" | grep -c -e pipe: -e socket: -e eventpoll)" 0
done
no_accept "exec: connections that berth accepted" requests
berth_stop

sed -i "s|^listen = .*|listen = 127.0.0.1:$port+%n|" "$T/berth.conf"
berth_start
get -t 60 -k 20 "127.0.0.1:$((port + 3))" "$big" >"$T/answer"
equal "exec: 20 bodies of 20 kB over one TCP connection" "$(wc -c <"$T/answer")" 400000
rm -f "$T/drop/gate" "$T/drop/pid"
get -t 60 "127.0.0.1:$((port + 3))" "$gated" "DROP=$T/drop" >"$T/answer" &
client=$!
until_true 20 test -s "$T/drop/pid" || die "the script does not start"
worker=$(cat "$T/drop/pid")
[ "$(id -u)" != 0 ] ||
	equal "exec: sockets of a busy worker" "$(sockets "$worker" | sed 's/ cloexec//' | xargs)" \
		"1 inet connected nodelay 1 inet listening nodelay"
touch "$T/drop/gate"
wait "$client"
berth_stop
