#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A script that sets something up and then executes php-cgi can stand in front of it.
. "$(dirname "$0")/lib.sh"

wrapped=$(script wrapped.php '<?php echo getmypid(), " ", getenv("FROM_WRAPPER"), " ",
ini_get("memory_limit"), " ", getenv("LD_PRELOAD") ?: "-", " ", getenv("BERTH_TEMPLATE") ?: "-", " ",
apcu_inc("n"), "\n";')

# wrapper_conf NAME LAST_LINE: a pool whose program is a script with that last line.
wrapper_conf() {
	printf '#!/bin/sh\nFROM_WRAPPER=yes\nexport FROM_WRAPPER\n/bin/true\n%s\n' "$2" >"$T/$1"
	chmod 755 "$T/$1"
	conf "[www]
listen = $T/www-%n.sock
pm = static
pm.max_children = 3
pm.rescue = no
$USER_LINE
program = '$T/$1' -d memory_limit=77M -d apc.enabled=1"
}

wrapper_conf wrapper "exec $PHP \"\$@\""
berth_start
answers=$(for n in 1 2 3; do get "$T/www-$n.sock" "$wrapped"; done)
equal "a process a slot" "$(cut -d' ' -f1 <<<"$answers" | sort -u | wc -l)" 3
equal "its variable, its arguments, no trace of ours" "$(cut -d' ' -f2-5 <<<"$answers" | uniq)" \
	"yes 77M - -"
equal "one cache" "$(cut -d' ' -f6 <<<"$answers" | xargs)" "1 2 3"
equal "workers descend from one template" "$(workers | wc -w)" 3
equal "which is php-cgi itself" \
	"$(basename "$(readlink "/proc/$(template_pid)/exe")" | grep -c php)" 1
old=$(get "$T/www-2.sock" "$wrapped" | cut -d' ' -f1)
kill -9 "$old"
new=$(get "$T/www-2.sock" "$wrapped" | cut -d' ' -f1)
check "a killed worker comes back" test -n "$new" -a "$new" != "$old"
berth_stop
equal "exit status" "$STATUS" 0

wrapper_conf no-exec "$PHP \"\$@\""
berth_launch -c "$T/berth.conf"
# No waiting for process_start_timeout, half a minute: the reason is known as soon as PHP is up.
check "without exec: refused at once" until_true 15 gone "$MANAGER"
family=$(descendants "$MANAGER")
kill -TERM "$MANAGER" 2>/dev/null
wait "$MANAGER"
equal "without exec: exit status" "$?" 111
contains "without exec: the reason" "$LOG" \
	'error: .*READY came from pid [0-9]+, a child of it: a wrapper script must start the program with exec'
check "without exec: all has gone" until_true 10 all_gone $family
equal "without exec: no socket is left" "$(find "$T" -type s | wc -l)" 0
