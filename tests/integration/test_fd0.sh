#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What is on descriptor 0 of a worker, which sockets it has, and that nobody inherits them.
. "$(dirname "$0")/lib.sh"

port=$(free_port 3)
pid=$(script pid.php '<?php echo getmypid();')
mkdir "$T/drop"
chmod 777 "$T/drop"
# Each way to start a program. PHP itself leaves the script's own file open in all of them; ls
# has the folder that it reads.
starts=$(script starts.php '<?php
function show($way, $list)
{
	preg_match_all("/(\d+) -> (.*)/", $list, $found, PREG_SET_ORDER);
	echo $way, ":";
	foreach ($found as [, $number, $link])
		if ($link != __FILE__ && strncmp($link, "/proc/", 6) != 0)
			echo " ", $number;
	echo "\n";
}
$ls = "ls -l /proc/self/fd";
exec($ls, $lines);
show("exec", implode("\n", $lines));
show("shell_exec", shell_exec($ls));
$p = popen($ls, "r");
show("popen", stream_get_contents($p));
pclose($p);
$p = proc_open($ls, [1 => ["pipe", "w"]], $pipes);
show("proc_open", stream_get_contents($pipes[1]));
proc_close($p);
if (function_exists("pcntl_exec")) {
	$file = $_SERVER["DROP"] . "/list" . getmypid();
	if (($p = pcntl_fork()) == 0)
		pcntl_exec("/bin/sh", ["-c", "exec ls -l /proc/self/fd >\$0", $file]);
	pcntl_waitpid($p, $status);
	show("pcntl_exec", file_get_contents($file));
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
	equal "$1: descriptors of programs" \
		"$(grep -v 'descriptor 0' "$T/out" | sed 's/.*: //' | sort -u)" "0 1 2"
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
# no_accept TEXT WORKER: the manager accepts nothing while WORKER and others serve requests.
no_accept() {
	local tracer
	: >"$T/strace.err"
	strace -p "$MANAGER" -p "$2" -e trace=accept,accept4 -o "$T/strace" 2>"$T/strace.err" &
	tracer=$!
	both_attached() { [ "$(grep -c attached "$T/strace.err")" = 2 ] || gone "$tracer"; }
	until_true 20 both_attached
	if gone "$tracer"; then
		say "skip  $1: $(head -1 "$T/strace.err")"
		return
	fi
	requests || fail "$1: a request was not answered"
	kill -INT "$tracer"
	wait "$tracer"
	check "$1: the worker's were seen" test "$(grep -c "^$2 *accept" "$T/strace")" -ge 5
	equal "$1" "$(grep -c "^$MANAGER *accept" "$T/strace")" 0
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
equal "template: descriptors of the job" \
	"$(ls -l "/proc/$sleeper/fd" | grep -v '/job.php$' | grep -o '[0-9]* ->' | tr -d " >-" | xargs)" \
	"0 1 2"
kill "$sleeper"

get -t 60 "127.0.0.1:$((port + 2))" "$gated" "DROP=$T/drop" >"$T/answer" &
client=$!
until_true 20 test -s "$T/drop/pid" || die "the script does not start"
worker=$(cat "$T/drop/pid")
equal "template: descriptors that an exec would not close" \
	"$(descriptors "$worker" | grep '^kept' | grep -vc '/gated.php$')" 0
check "template: the epoll set was one of those" \
	grep -qF 'anon_inode:[eventpoll]' <<<"$(descriptors "$worker")"
if sockets "$worker" >"$T/sockets" 2>/dev/null; then
	contains "template: its connection is blocking and sends at once" "$T/sockets" \
		'^[0-9]+ inet connected cloexec nodelay$'
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
	equal "exec: worker $worker: descriptors that are sockets" \
		"$(ls -l "/proc/$worker/fd" | sed -n 's/.* \([0-9]*\) -> socket:.*/\1/p' | xargs)" 0
	[ "$(id -u)" != 0 ] ||
		equal "exec: worker $worker: what it is" "$(sockets "$worker")" "1 unix listening"
	equal "exec: worker $worker: what it inherited besides" \
		"$(descriptors "$worker" | grep -c -e pipe: -e socket: -e eventpoll)" 0
done
no_accept "exec: connections that berth accepted" "$worker"
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
