#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Socket files: what a killed manager left is replaced, what lives or is no socket is left alone.
. "$(dirname "$0")/lib.sh"

pid=$(script pid.php '<?php echo getmypid();')
gated=$(script gated.php '<?php file_put_contents($_SERVER["GATE"] . ".pid", getmypid());
while (!file_exists($_SERVER["GATE"])) { usleep(5000); clearstatcache(); }
echo "done";')
sockets() { (cd "$T" && ls -d ./*.sock 2>/dev/null | xargs); }
four="./www-1.sock ./www-2.sock ./www-3.sock ./www-4.sock"
# An inode number alone may be used again.
files() { stat -c '%n %i %z' "$@"; }

# The program is a script that notes each start.
mkdir "$T/starts"
chmod 777 "$T/starts"
cat >"$T/program" <<-P
	#!/bin/sh
	echo >>"$T/starts/log"
	exec $PHP "\$@"
P
chmod 644 "$T/program"
touch "$T/starts/log"
chmod 666 "$T/starts/log"
starts() { wc -l <"$T/starts/log"; }
own_conf() { pool_conf "$@" && sed -i "s|^program = .*|program = sh \"$T/program\"|" "$T/berth.conf"; }

# refused TEXT PATTERN: berth must not start, nor start anything.
refused() {
	local before
	before=$(starts)
	berth_fails
	equal "$1: exit status" "$STATUS" 111
	contains "$1: the message" "$LOG" "$2"
	equal "$1: programs that were started" "$(($(starts) - before))" 0
}

# answers TEXT: all four slots do, by four processes.
answers() {
	local i
	equal "$1" "$(for i in 1 2 3 4; do get "$T/www-$i.sock" "$pid" && echo; done | sort -u | wc -l)" 4
}

# killed: end the manager with SIGKILL and wait until its processes have left.
killed() {
	local all
	all=$(descendants "$MANAGER")
	kill -KILL "$MANAGER"
	wait "$MANAGER" 2>/dev/null
	until_true 20 all_gone $all || fail "the manager was killed, and its processes go on"
}

stock_answers() { [ "$(get "$1" "$pid" 2>/dev/null)" = "$STOCK" ]; }
# listen_stock PATH: a stock php-cgi that listens there; $STOCK is its pid.
listen_stock() {
	env PHP_FCGI_CHILDREN=0 PHP_FCGI_BACKLOG=1 "$PHP" -b "$1" >/dev/null 2>&1 </dev/null &
	STOCK=$!
	PIDS+=("$STOCK")
	until_true 10 stock_answers "$1" || die "$PHP -b does not answer"
}

own_conf
berth_start
equal "programs that a start starts" "$(starts)" 1
old=$(files "$T"/www-?.sock)
killed
equal "files after SIGKILL to the manager" "$(sockets)" "$four"
equal "nobody listens there" "$(get "$T/www-1.sock" "$pid" 2>&1 | grep -c refused)" 1
berth_start
check "the next start replaces them" test "$(files "$T"/www-?.sock)" != "$old"
answers "all four are served again"

first=$MANAGER
first_log=$LOG
old=$(files "$T"/www-?.sock)
refused "a second manager" "error: .*$T/www-1.sock is in use by .*\(pid [0-9]+\)"
contains "the pid is the first manager's, not one of its workers'" "$LOG" "\(pid $first\)"
check "its files are left alone" test "$(files "$T"/www-?.sock)" = "$old"
answers "and it goes on"
MANAGER=$first LOG=$first_log
berth_stop
equal "after SIGTERM no file is left" "$(sockets)" ""

listen_stock "$T/www-3.sock"
old=$(files "$T/www-3.sock")
refused "a stranger at slot 3" "error: .*$T/www-3.sock is in use by .*\(pid $STOCK\)"
equal "the files of slots 1 and 2 are taken away again" "$(sockets)" "./www-3.sock"
check "the stranger's is untouched" test "$(files "$T/www-3.sock")" = "$old"
equal "the stranger still answers" "$(get "$T/www-3.sock" "$pid")" "$STOCK"

# Its queue of 1 takes 2; a full queue is a sign of life.
freeze "$STOCK"
get -w -t 60 "$T/www-3.sock" "$pid" >/dev/null &
get -w -t 60 "$T/www-3.sock" "$pid" >/dev/null &
until_true 10 is_queued "$T/www-3.sock" 2 || die "the queue does not fill up"
equal "a third connection has no room" \
	"$(get -w "$T/www-3.sock" "$pid" 2>&1 | grep -c 'temporarily unavailable')" 1
refused "a stranger whose queue is full" "error: .*$T/www-3.sock is in use by .*\(pid $STOCK\)"
kill -CONT "$STOCK"
equal "the stranger answers again" "$(get "$T/www-3.sock" "$pid")" "$STOCK"
kill -TERM "$STOCK"
wait "$STOCK"

berth_start
check "when the stranger is dead, its file is replaced" \
	test "$(files "$T/www-3.sock")" != "$old"
answers "and all four are served"

# A worker that is still busy outlives the manager, and without the thread that looks after clients
# meanwhile its socket does too.
berth_stop
pool_conf 'pm.rescue = no'
berth_start
get -t 60 "$T/www-2.sock" "$gated" "GATE=$T/starts/gate" >"$T/gated.out" &
client=$!
until_true 20 test -s "$T/starts/gate.pid" || die "the script does not start"
busy=$(cat "$T/starts/gate.pid")
others=$(descendants "$MANAGER" | grep -vx "$busy")
kill -KILL "$MANAGER"
wait "$MANAGER" 2>/dev/null
until_true 20 all_gone $others || fail "idle processes outlive the manager"
refused "a busy worker of a killed manager" \
	"error: .*$T/www-.\.sock is in use by .*\(pid $busy\)"
touch "$T/starts/gate"
wait "$client"
equal "its client gets the answer" "$(cat "$T/gated.out")" done
until_true 20 gone "$busy" || fail "the worker goes on after its request"
berth_start
answers "then the start succeeds"
berth_stop

# What is no socket.
# obstacle KIND: something at slot 2's path, described on stdout.
obstacle() {
	rm -rf "$T/www-2.sock"
	case $1 in
	"a regular file") echo precious >"$T/www-2.sock" ;;
	"a folder") mkdir "$T/www-2.sock" ;;
	"a FIFO") mkfifo "$T/www-2.sock" ;;
	"a symbolic link") ln -s "$T/elsewhere" "$T/www-2.sock" ;;
	esac
	look
}
look() { { stat -c '%F %i %s %a %Y' "$T/www-2.sock" && readlink "$T/www-2.sock"; } | xargs; }
for kind in "a regular file" "a folder" "a FIFO" "a symbolic link"; do
	old=$(obstacle "$kind")
	refused "$kind" "error: .*$T/www-2.sock is $kind, not a socket"
	equal "$kind: untouched" "$(look)" "$old"
	equal "$kind: nothing else is left" "$(sockets)" "./www-2.sock"
done
# A symbolic link to a socket that nobody listens on is no socket of ours either.
mv "$T/www-2.sock" "$T/link"
berth_start
killed
rm -f "$T/elsewhere"
mv "$T/www-4.sock" "$T/elsewhere"
rm -f "$T"/www-?.sock
mv "$T/link" "$T/www-2.sock"
refused "a link to a dead socket" "error: .*$T/www-2.sock is a symbolic link, not a socket"
check "the socket behind it is untouched" test -S "$T/elsewhere"
rm -f "$T/www-2.sock" "$T/elsewhere"

# At the end only what is its own is removed.
berth_start
rm "$T/www-1.sock"
rm "$T/www-2.sock"
echo precious >"$T/www-2.sock"
rm "$T/www-3.sock"
listen_stock "$T/www-3.sock"
berth_stop
equal "stop with replaced files: exit status" "$STATUS" 0
equal "only berth's own is removed" "$(sockets)" "./www-2.sock ./www-3.sock"
equal "another file at its path is left alone" "$(cat "$T/www-2.sock")" precious
equal "another listener at its path goes on" "$(get "$T/www-3.sock" "$pid")" "$STOCK"
kill -TERM "$STOCK"
wait "$STOCK"
rm "$T"/www-?.sock

# A folder that was made for the sockets goes with them, unless somebody put something there.
own_conf
sed -i "s|^listen = .*|listen = $T/made/www-%n.sock|" "$T/berth.conf"
berth_start
equal "a missing folder is made" "$(stat -c %a "$T/made")" 755
berth_stop
check "and removed" test ! -e "$T/made"
berth_start
touch "$T/made/note"
berth_stop
equal "a folder that holds something is left" "$(ls "$T/made")" note
