#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# In the background: the start returns when all is ready or says why not; the pid file is right.
. "$(dirname "$0")/lib.sh"

pid=$(script pid.php '<?php echo getmypid();')
file=$T/berth.pid
LOG=$T/error.log
# global DAEMONIZE POOL [LINE...]: a configuration with a pool of two.
global() {
	conf "[global]
daemonize = $1
pid = $file
error_log = $LOG
[$2]
listen = $T/$2-%n.sock
pm = static
pm.max_children = 2
$USER_LINE
program = $PHP
$(printf '%s\n' "${@:3}")"
}
# start: as a shell or an init does; $STATUS, $T/said. It may keep no descriptor of ours but standard
# error, and that only until it returns: a reader of it sees the end.
start() {
	"$BERTH" run -c "$T/berth.conf" 2>&1 </dev/null | cat >"$T/said"
	STATUS=${PIPESTATUS[0]}
}
# adopt: what the pid file names is ours from now on.
adopt() {
	MANAGER=$(cat "$file") || die "no pid file"
	PIDS+=("$MANAGER")
}
stat_field() { sed 's/.*) //' "/proc/$1/stat" | cut -d' ' -f"$2"; }
goes() { kill -"${2:-TERM}" "$1" && until_true 20 gone "$1"; }

global yes www
start
equal "start" "$STATUS: $(cat "$T/said")" "0: "
adopt
equal "the file holds one number and a newline" "$(wc -lc <"$file" | xargs)" "1 $((${#MANAGER} + 1))"
equal "its mode" "$(stat -c %a "$file")" 644
check "it serves when the start has returned" test -n "$(get "$T/www-1.sock" "$pid")"
equal "whose pid it is" "$(cat "/proc/$MANAGER/comm")" berth
equal "parent" "$(awk '/^PPid/ { print $2 }' "/proc/$MANAGER/status" | grep -cx $$)" 0
check "it leads no session" test "$(stat_field "$MANAGER" 4)" != "$MANAGER"
check "its session is its own" test "$(stat_field "$MANAGER" 4)" != "$(stat_field $$ 4)"
equal "terminal" "$(stat_field "$MANAGER" 5)" 0
equal "standard input, output and error" \
	"$(for i in 0 1 2; do readlink "/proc/$MANAGER/fd/$i"; done | xargs)" "/dev/null /dev/null $LOG"

# A second one changes nothing of the first, whether it goes into the background or not.
for daemonize in yes no; do
	cp "$file" "$T/before"
	global $daemonize other
	start
	equal "a second start, daemonize = $daemonize" "$STATUS" 111
	contains "it names the first" "$T/said" "pid: $file: berth runs already, pid $MANAGER\$"
	check "and leaves its pid file" cmp -s "$file" "$T/before"
	equal "and no socket" "$(find "$T" -name 'other*' | wc -l)" 0
	equal "nor another file" "$(find "$T" -name 'berth.pid*')" "$file"
done

# Reload and rotation.
global yes www
mv "$LOG" "$LOG.1"
kill -HUP "$MANAGER"
reloaded() { grep -q 'reload: done' "$LOG" 2>/dev/null; }
check "a reload" until_true 20 reloaded || cat "$LOG" "$LOG.1"
equal "standard error goes along with the log" "$(readlink "/proc/$MANAGER/fd/2")" "$LOG"
check "the pid file stays" cmp -s "$file" "$T/before"
sed -i "s|^pid = .*|pid = $T/moved.pid|" "$T/berth.conf"
kill -HUP "$MANAGER"
refused() { grep -q "reload: nothing was changed: pid: can't change while berth runs" "$LOG"; }
check "another path is refused" until_true 20 refused
check "there is no such file" test ! -e "$T/moved.pid"

# Another program in its place is as much its owner.
global yes www
kill -USR2 "$MANAGER"
upgraded() { grep -q 'upgrade: done' "$LOG"; }
check "an upgrade" until_true 20 upgraded
check "the pid file stays" cmp -s "$file" "$T/before"
global yes other
start
contains "a second start is refused" "$T/said" "berth runs already, pid $MANAGER\$"
global yes www
mv "$LOG" "$LOG.2"
kill -USR1 "$MANAGER"
reopened() { [ "$(readlink "/proc/$MANAGER/fd/2")" = "$LOG" ]; }
check "standard error goes along with the log" until_true 20 reopened
check "stop" goes "$MANAGER"
check "no pid file is left" test ! -e "$file"

# Stale ones: of a dead process, of another one's number, of nobody.
global yes www
start
adopt
old=$MANAGER
descend=$(descendants "$old")
check "killed, its file stays" goes "$old" KILL
check "file" test -s "$file"
until_true 20 all_gone $descend
sleep 1000 &
PIDS+=("$!")
for stale in "$old" $! ''; do
	printf '%s' "$stale" >"$file"
	start
	equal "start over a file with '$stale'" "$STATUS: $(cat "$T/said")" "0: "
	adopt
	check "it is replaced" test "$MANAGER" != "$stale"
	check "stop" goes "$MANAGER"
done
check "the process with that number lives" alive $!
echo "a diary" >"$file"
start
equal "a file that is no pid file" "$STATUS" 111
contains "is named" "$T/said" "pid: $file: is there and no pid file\$"
equal "and left alone" "$(cat "$file")" "a diary"

# A file that is not its own any more.
rm "$file"
start
adopt
echo 1 >"$T/theirs" && mv "$T/theirs" "$file"
check "stop" goes "$MANAGER"
equal "somebody else's file stays" "$(cat "$file")" 1
rm "$file"

# Starts that fail.
global yes www "process_start_timeout = 1s"
sed -i 's|^program.*|program = /bin/false|' "$T/berth.conf"
start
equal "a template that fails" "$STATUS" 111
contains "the reason is told" "$T/said" "pool www: .*ended before it was ready"
equal "and nothing is left" "$(find "$T" -name '*.pid*' -o -name '*.sock')" ""
global yes www "nosuch = 1"
start
equal "a configuration with an error" "$STATUS" 100
contains "is told" "$T/said" 'nosuch: unknown key'
global yes www
sed -i '/^error_log/d' "$T/berth.conf"
start
equal "no error_log" "$STATUS" 100
contains "is told" "$T/said" 'berth.conf:2: daemonize: needs error_log = PATH'
global yes www
sed -i 's|^pid.*|pid = berth.pid|' "$T/berth.conf"
start
equal "a relative path" "$STATUS" 100
contains "is told" "$T/said" "pid: 'berth.pid' is not accepted; accepted is the absolute path of a file"
sed -i "s|^pid.*|pid = $T/nosuch/berth.pid|" "$T/berth.conf"
start
equal "a folder that is not there" "$STATUS" 111
contains "is told" "$T/said" "pid: $T/nosuch/berth.pid: No such file or directory"

# A stop while it starts.
printf '#!/bin/sh\ntouch "%s"\nexec sleep 1000\n' "$T/marks/begun" >"$T/slow"
chmod 755 "$T/slow"
mkdir "$T/marks"
chmod 777 "$T/marks"
global yes www "process_start_timeout = 60s"
sed -i "s|^program.*|program = '$T/slow'|" "$T/berth.conf"
for signal in TERM KILL; do
	rm -f "$T/marks/begun"
	env --default-signal=INT,QUIT "$BERTH" run -c "$T/berth.conf" 2>"$T/said" </dev/null &
	starter=$!
	PIDS+=("$starter")
	check "it starts" until_true 20 test -e "$T/marks/begun"
	adopt
	family=$(descendants "$MANAGER")
	check "the start waits" alive "$starter"
	# SIGTERM goes to whoever waits, SIGKILL to the one in the background.
	kill -$signal "$([ $signal = TERM ] && echo "$starter" || echo "$MANAGER")"
	until_true 20 gone "$starter"
	wait "$starter"
	equal "SIG$signal: status" $? 111
	contains "SIG$signal: is told" "$T/said" 'was (stopped|killed) before it was ready'
	# A program without the library goes on after SIGKILL.
	[ $signal = TERM ] || kill $family 2>/dev/null
	check "SIG$signal: all has gone" until_true 20 all_gone $family
done
rm -f "$file"

# In the foreground.
global no www
"$BERTH" run -c "$T/berth.conf" 2>"$T/said" </dev/null &
MANAGER=$!
PIDS+=("$MANAGER")
check "foreground: it gets ready" until_true 20 grep -q "ready, pid $MANAGER\$" "$LOG"
equal "the pid file" "$(cat "$file")" "$MANAGER"
berth_stop
equal "exit status" "$STATUS" 0
check "no pid file is left" test ! -e "$file"

# Of ten that start at once, one runs and nine say so.
global yes www
for i in 0 1 2 3 4 5 6 7 8 9; do
	{ "$BERTH" run -c "$T/berth.conf" 2>"$T/said.$i" </dev/null; echo $? >"$T/status.$i"; } &
	waiting[i]=$!
done
wait "${waiting[@]}"
adopt
equal "ten at once" "$(sort "$T"/status.? | uniq -c | xargs)" "1 0 9 111"
equal "nine say who runs" "$(cat "$T"/said.? | grep -c "berth runs already, pid $MANAGER\$")" 9
check "stop" goes "$MANAGER"
equal "no file is left" "$(find "$T" -name '*.pid*')" ""
