#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A worker that serves a pair of named pipes: requests in, answers out.
. "$(dirname "$0")/lib.sh"
address=pipe:$T/www

pid=$(script pid.php '<?php echo getmypid(), "\n";')
echo_body=$(script echo.php '<?php echo md5(file_get_contents("php://input"));')
big=$(script big.php '<?php echo str_repeat("0123456789", 100000);')
die=$(script die.php '<?php posix_kill(getmypid(), 9);')
forks=$(script exit.php '<?php echo "bye"; exit(3);')
unread=$(script unread.php '<?php echo "no";')
pool() {
	conf "[www]
listen = pipe:$T/www-%n
pm = static
pm.max_children = 2
$USER_LINE
program = $PHP
$(printf '%s\n' "$@")"
}

pool
berth_start
equal "requests" "$(stat -c '%F %a' "$T/www-1.in")" "fifo 660"
equal "answers" "$(stat -c '%F' "$T/www-2.out")" fifo
first=$(get "$address-1" "$pid")
check "one worker answers: $first" test -n "$first"
equal "kept, 50 requests" "$(get -k 50 "$address-1" "$pid" | sort | uniq -c | xargs)" "50 $first"
equal "without FCGI_KEEP_CONN" "$(get -n 20 "$address-1" "$pid" | sort | uniq -c | xargs)" "20 $first"
check "the other pair has another worker" test "$(get "$address-2" "$pid")" != "$first"
x() { head -c "$1" /dev/zero | tr '\0' x | md5sum | cut -d' ' -f1; }
for size in 1 65535 65536 1000000; do
	equal "body of $size bytes" "$(get -b $size "$address-1" "$echo_body")" "$(x $size)"
done
equal "answer of a megabyte" "$(get "$address-1" "$big" | wc -c)" 1000000
equal "a body that nobody reads" "$(get -k 3 -b 200000 "$address-1" "$unread")" nonono
equal "and the pipes are in step" "$(get "$address-1" "$pid")" "$first"
equal "a script that ends with a status" "$(get -k 2 "$address-1" "$forks")" byebye

# The pipes outlive the worker; a request that it had read is gone with it.
check "the answer is lost" test -z "$(get -t 0.5 "$address-1" "$die" 2>/dev/null)"
other() { second=$(get -t 1 "$address-1" "$pid" 2>/dev/null) && [ "$second" != "$first" ]; }
check "a successor answers" until_true 10 other

# What is out of step can't be mended: the worker leaves, and the next one begins anew.
printf 'GET / HTTP/1.0\r\n\r\n' >"$T/www-1.in"
third() { last=$(get -t 1 "$address-1" "$pid" 2>/dev/null) && [ "$last" != "$second" ]; }
check "a successor after garbage" until_true 10 third

# Somebody else's pipes stay alone.
equal "a second berth" "$("$BERTH" run -c "$T/berth.conf" 2>&1 >"$T/null" | grep -c 'www-1.in is in use')" 1
berth_stop
equal "exit status" "$STATUS" 0
check "pipes are removed" test ! -e "$T/www-1.in" -a ! -e "$T/www-2.out"

mkfifo "$T/www-1.in"
berth_start
check "a pipe that nobody reads is replaced" test -n "$(get "$address-1" "$pid")"
berth_stop

refused() { # TEXT LINE...
	pool "${@:2}"
	check "$1" grep -q "$1" <("$BERTH" check -c "$T/berth.conf" 2>&1)
}
refused 'a pool on pipes has no other listen line' "listen = $T/x-%n.sock"
refused 'pipes need spawn = template' "spawn = exec"
pool
sed -i 's/-%n//' "$T/berth.conf"
check "pipes without %n" grep -q 'write %n into the path' <("$BERTH" check -c "$T/berth.conf" 2>&1)
