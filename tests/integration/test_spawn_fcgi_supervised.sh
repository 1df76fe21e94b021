#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# spawn-fcgi under runsv, with only the program's name changed; --supervise and --own-sockets.
. "$(dirname "$0")/lib.sh"
PHP_PATH=$(command -v "$PHP")
pid=$(script pid.php '<?php echo getmypid(), " ", posix_getppid();')
user=''
[ "$(id -u)" != 0 ] || user='-u www-data'
BERTH=$(readlink -f "$BERTH")
mkdir "$T/bin"
ln -s "$BERTH" "$T/bin/spawn-fcgi"
answers() { [ -n "$(get "$1" "$pid" 2>/dev/null)" ]; }
serving() { get "$1" "$pid" 2>/dev/null | cut -d' ' -f1; }

# The same run script for both programs.
if command -v runsv >/dev/null; then
	for program in /usr/bin/spawn-fcgi "$T/bin/spawn-fcgi"; do
		[ -x "$program" ] || continue
		service=$T/service-${program//\//-}
		mkdir "$service"
		printf '#!/bin/sh\nexec %s -n -s %s %s -- %s\n' "$program" "$service/s" "$user" "$PHP_PATH" \
			>"$service/run"
		chmod 755 "$service/run"
		runsv "$service" >"$service.log" 2>&1 &
		runsv=$!
		PIDS+=("$runsv")
		until_true 20 answers "$service/s" || die "$program under runsv does not answer: $(cat "$service.log")"
		first=$(serving "$service/s")
		equal "$program: the service is the program" "$(cat "$service/supervise/pid")" "$first"
		equal "$program: it is runsv's child" "$(children $runsv)" "$first "
		kill -KILL "$first"
		is_another() { answers "$service/s" && [ "$(serving "$service/s")" != "$first" ]; }
		check "$program: killed, it is started again" until_true 20 is_another
		echo d >"$service/supervise/control"
		down() { grep -q '^down' "$service/supervise/stat"; }
		check "$program: down" until_true 20 down
		kill "$runsv"
		until_true 20 gone "$runsv" || fail "runsv goes on"
	done
else
	say "no runsv here"
fi

# In the background: it returns when all is ready.
"$T/bin/spawn-fcgi" -s "$T/php.sock" -P "$T/pid" $user -M 666 -F 2 -C 2 --supervise --own-sockets \
	--error-log "$T/log" -- "$PHP_PATH" >"$T/out" 2>&1
equal "status of the start" $? 0
manager=$(cat "$T/pid")
PIDS+=("$manager")
equal "a socket for each worker" "$(cd "$T" && echo php-*.sock)" "php-1.sock php-2.sock php-3.sock php-4.sock"
equal "their mode" "$(stat -c %a "$T"/php-*.sock | sort -u)" 666
check "workers of their own" test "$(for i in 1 2 3 4; do serving "$T/php-$i.sock"; done | sort -u | wc -l)" = 4
equal "of one template" "$(for i in 1 2 3 4; do get "$T/php-$i.sock" "$pid" | cut -d' ' -f2; echo; done | sort -u | wc -w)" 1
first=$(serving "$T/php-3.sock")
kill -KILL "$first"
is_another() { answers "$T/php-3.sock" && [ "$(serving "$T/php-3.sock")" != "$first" ]; }
check "killed, a worker is replaced" until_true 20 is_another
kill -HUP "$manager"
check "it reloads" until_true 20 grep -q 'reload: done' "$T/log"
kill "$manager"
check "it stops" until_true 20 gone "$manager"
check "and leaves nothing" test ! -e "$T/pid" -a ! -e "$T/php-1.sock"

# In the foreground, on ports, a program that is no php-cgi.
port=$(free_port 2)
responder=$(helper echo-responder)
: >"$T/log-n"
"$T/bin/spawn-fcgi" -n -a 127.0.0.1 -p "$port" $user -F 2 --supervise --own-sockets -- "$responder" >"$T/log-n" 2>&1 &
manager=$!
PIDS+=("$manager")
ready() { grep -q 'notice: ready' "$T/log-n"; }
check "-n: ready" until_true 20 ready
check "-n: the first port is the one that was given" port_open "$port"
check "-n: the second follows" port_open $((port + 1))
equal "-n: the programs are its own children" "$(children $manager | wc -w)" 2
kill "$manager"
wait "$manager"
equal "-n: status" $? 0

# What can't be started is told of by who is asked to.
"$T/bin/spawn-fcgi" -s "$T/s" $user -F 0 --supervise -- "$PHP_PATH" 2>"$T/err"
equal "no workers: status" $? 255
echo x >"$T/file"
"$T/bin/spawn-fcgi" -s "$T/file" $user --supervise -- "$PHP_PATH" 2>"$T/err"
equal "a file in the way: status" $? 111
contains "and the reason" "$T/err" "a regular file, not a socket"
equal "and the file is left" "$(cat "$T/file")" x
