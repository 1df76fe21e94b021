#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Workers are replaced after pm.max_requests, and no client notices: 20,000 requests, kept and new,
# direct and through nginx; 200,000 if SLOW is set.
. "$(dirname "$0")/lib.sh"
command -v ab >/dev/null || die "ab (apache2-utils) is not installed"
scale=$([ -n "${SLOW:-}" ] && echo 10 || echo 1)

# Each worker counts what it answers.
token=$(script token.php '<?php apcu_inc("p" . getmypid()); usleep(400); echo $_SERVER["TOKEN"];')
calm=$(script calm.php '<?php apcu_inc("p" . getmypid()); usleep(1000); echo $_SERVER["TOKEN"];')
fixed=$(script fixed.php '<?php apcu_inc("p" . getmypid()); echo str_repeat("fixed", 100);')
# "pid answers" of each, and starts anew.
counts=$(script counts.php '<?php foreach (new APCUIterator("/^p/") as $e)
	echo substr($e["key"], 1), " ", $e["value"], "\n"; apcu_clear_cache();')
sockets=("$T/www-1.sock" "$T/www-2.sock" "$T/www-3.sock" "$T/www-4.sock")
load() { "$HELPERS/fcgi-load" "$@" 2>&1; }
all_right() { equal "$1" "$(cut -d, -f1-3 <<<"$3")" "answered $2, wrong 0, failed 0"; }
counts() { get "${sockets[0]}" "$counts"; }

# replaced TEXT REQUESTS LIMIT: what `counts` said is of workers that left when they should.
#
# At the limit a worker asks for its successor and goes on until that is there: the manager and
# the template have to run, and so has a fork. That takes some milliseconds, in which a worker
# answers some requests: with the pause in the script, less than two a millisecond. Where other
# programs have the processors it can take much longer for one of them, so it is the mean that is
# held to a tolerance of 150 (a tenth of a second), and each single one to a loose one.
replaced() {
	local n sum most mean
	read -r n sum most <<<"$(awk '{ n++; s += $2; if ($2 > m) m = $2 }
		END { print n + 0, s + 0, m + 0 }' "$T/counts")"
	mean=$((sum / n))
	equal "$1: requests that were counted" "$sum" "$2"
	check "$1: $n workers answered $mean each, at most $most" test "$mean" -le $(($3 + 150))
	check "$1: none of them went on for ever" test "$most" -le $(($3 + 2000))
}

with_nginx() { # TEXT REQUESTS: through nginx, which hides nothing
	ab -q -n "$2" -c 32 -s 20 "http://127.0.0.1:$NGINX_PORT/${fixed##*/}" >"$T/ab" 2>&1
	equal "$1: answered, failed, not 200" "$(awk '/^Complete requests/ { c = $3 }
		/^Failed requests/ { f = $3 } /^Non-2xx/ { n = $3 }
		END { print c + 0, f + 0, n + 0 }' "$T/ab")" "$2 0 0"
	counts >"$T/counts"
}

for jitter in 0 50; do
	pool_conf "pm.max_requests = 50" "pm.max_requests_jitter = $jitter"
	berth_start
	before=$(workers)
	template=$(template_pid)
	n=$((2500 * scale / 32 * 32))
	all_right "jitter $jitter, kept" $n "$(load -k -c 32 -n $((n / 32)) "$token" "${sockets[@]}")"
	counts >"$T/counts"
	replaced "jitter $jitter, kept" $n $((50 + jitter))
	all_right "jitter $jitter, new" $n "$(load -c 32 -n $((n / 32)) "$token" "${sockets[@]}")"
	counts >"$T/counts"
	replaced "jitter $jitter, new" $n $((50 + jitter))
	nginx_start "$(upstream_servers 4) keepalive 64;" \
		"fastcgi_keep_conn on; fastcgi_next_upstream off;"
	with_nginx "jitter $jitter, nginx that keeps connections" $((2500 * scale))
	replaced "jitter $jitter, nginx that keeps connections" $((2500 * scale)) $((50 + jitter))
	kill "$NGINX"
	wait "$NGINX"
	nginx_start "$(upstream_servers 4)" "fastcgi_next_upstream off;"
	with_nginx "jitter $jitter, nginx" $((2500 * scale))
	replaced "jitter $jitter, nginx" $((2500 * scale)) $((50 + jitter))
	kill "$NGINX"
	wait "$NGINX"
	check "nginx found nothing to complain about" test ! -s "$T/nginx.log" ||
		sed 's/^/      | /' "$T/nginx.log"
	check "the first workers have gone" until_true 10 all_gone $before
	equal "the template stayed" "$(template_pid)" "$template"
	four() { [ "$(workers | wc -w)" = 4 ]; }
	check "four workers at the end" until_true 10 four
	check "nobody was killed" test -z "$(grep -E 'did not leave|killed' "$LOG")"
	berth_stop
	equal "exit status" "$STATUS" 0
done

# One client, on one connection, sees as many workers as there were; alone and slow as it is, it
# has every worker replaced after its limit and the few requests that it sends meanwhile.
pool_conf "pm.max_requests = 50" "pm.rescue = no"
berth_start
all_right "one connection" 1000 "$(load -k -c 1 -n 1000 "$calm" "${sockets[1]}")"
counts | awk '$2 >= 50 { print $2 }' | sort -n >"$T/counts"
check "one connection, $(wc -l <"$T/counts") whole workers: $(xargs <"$T/counts")" \
	test "$(wc -l <"$T/counts")" -ge 6
check "half of them had no more than 75" test "$(sed -n "$((($(wc -l <"$T/counts") + 1) / 2))p" \
	"$T/counts")" -le 75
berth_stop

# With jitter they have different limits.
pool_conf "pm.max_requests = 50" "pm.max_requests_jitter = 200" "pm.rescue = no"
berth_start
all_right "one connection, with jitter" 1600 "$(load -k -c 1 -n 1600 "$calm" "${sockets[1]}")"
counts | awk '$2 >= 50 { print $2 }' | sort -n >"$T/counts"
check "limits spread: $(xargs <"$T/counts")" awk '
	{ if (NR == 1) first = $1; last = $1 } END { exit !(NR >= 4 && last - first >= 40) }' "$T/counts"
berth_stop

# Without a limit nobody leaves, not even after the 500 that are php-cgi's own default.
pool_conf
berth_start
before=$(workers)
all_right "no limit" 2400 "$(load -k -c 4 -n 600 "$token" "${sockets[@]}")"
equal "no limit: the same workers" "$(workers)" "$before"
berth_stop
equal "exit status" "$STATUS" 0
