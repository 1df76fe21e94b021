#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What can't start: exit status 111, a reason that helps, and nothing left of any pool.
. "$(dirname "$0")/lib.sh"

php=$(PATH=$PATH:/usr/sbin command -v "$PHP") || die "$PHP is not installed"

# Whatever berth starts has its environment, and is found by it.
mark=BERTH_START_TEST=$T
left() { grep -lsaxzF "$mark" /proc/[0-9]*/environ; }
none_left() { [ -z "$(left)" ]; }

# fails TEXT PATTERN LINE...: a pool with LINEs and a good one: neither is to be left over.
fails() {
	local text=$1 pattern=$2
	shift 2
	conf "[good]
listen = $T/good-%n.sock
pm = static
pm.max_children = 2
$USER_LINE
clear_env = no
program = $PHP
[bad]
listen = $T/bad-%n.sock
pm = static
pm.max_children = 2
$USER_LINE
clear_env = no
process_start_timeout = 1s
$(printf '%s\n' "$@")"
	BERTH_START_TEST=$T berth_launch -c "$T/berth.conf"
	until_true 40 gone "$MANAGER" || die "$text: berth goes on"
	wait "$MANAGER"
	equal "$text: exit status" "$?" 111
	contains "$text: the reason" "$LOG" "error: pool bad: .*$pattern"
	check "$text: no process is left" until_true 5 none_left
	equal "$text: no socket is left" "$(find "$T" -type s | wc -l)" 0
	equal "$text: it was never ready" "$(grep -c 'notice: ready' "$LOG")" 0
}

fails "missing program" "/no/such/php-cgi: No such file or directory" \
	"program = /no/such/php-cgi"
printf '#!/bin/sh\nexec sleep 100\n' >"$T/plain-file"
fails "not executable" "plain-file: Permission denied" "program = '$T/plain-file'"

fails "preload of a missing file" \
	"ended before it was ready, exit status 25[0-9]; its last words: .*missing.php" \
	"program = $PHP -d opcache.enable=1 -d 'opcache.preload=$T/missing.php'"
fails "preload of a missing file, exec" "a worker ended before it was ready; its last words: .*missing.php" \
	"spawn = exec" "program = $PHP -d opcache.enable=1 -d 'opcache.preload=$T/missing.php'"

fails "static program" "did not accept on descriptor 0 within 1 s.*spawn = exec.*statically" \
	"program = '$(helper static-program)'"
fails "never accepts" "did not accept on descriptor 0 within 1 s.*process_start_timeout, spawn = exec" \
	"program = sleep 100"
fails "ends at once" "it ended before it was ready, exit status 0" "program = true"
fails "ends at once, exec" "a worker ended before it was ready" "spawn = exec" "program = true"
printf '#!/bin/sh\nsleep 0.3\necho "no more today" >&2\nexit 4\n' >"$T/dies"
chmod 755 "$T/dies"
fails "dies within a second, exec" "a worker ended before it was ready; its last words: no more today" \
	"spawn = exec" "program = '$T/dies'"
fails "dies within a second" "it ended before it was ready, exit status 4; its last words: no more today" \
	"program = '$T/dies'"
moody=$(helper moody-responder)
fails "two threads" "it has 2 threads.*spawn = exec" "program = '$moody' -t '$T/mood'"

# The kernel ignores the set-uid bit on some file systems, and nobody's own is no change of user.
if [ "$(id -u)" = 0 ]; then
	install -m 4755 "$php" "$T/setuid-php"
	cp "$(command -v id)" "$T/setuid-id"
	chmod 4755 "$T/setuid-id"
	if [ "$(setpriv --reuid=65534 --regid=65534 --clear-groups "$T/setuid-id" -u)" = 0 ]; then
		fails "set-uid program" "spawn = exec.*set-uid" "program = '$T/setuid-php'"
	else
		say "skip  set-uid program: $T is mounted nosuid"
	fi
else
	say "skip  set-uid program: needs root"
fi

# What was refused above works with what the message says, so it was the reason.
conf "[www]
listen = $T/www-%n.sock
pm = static
pm.max_children = 2
$USER_LINE
clear_env = no
spawn = exec
program = '$moody' -t '$T/mood'"
BERTH_START_TEST=$T berth_start
check "two threads, spawn = exec: serves" test -n "$(get "$T/www-1.sock" /x)"
equal "such processes are found by their environment" "$(left | wc -l)" 3
berth_stop
