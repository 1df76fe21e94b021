#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# listen.allowed_clients and listen.allowed_uids: who is let in, what becomes of the others, and
# what is told of them.
. "$(dirname "$0")/lib.sh"
own_network "$@"

# A client that connects to one of these has the same address itself.
for address in 10.1.0.1/32 10.1.0.2/32 10.200.0.1/32; do
	ip addr add $address dev lo || die "no address $address"
done
ipv6=
if [ -e /proc/net/if_inet6 ]; then
	ipv6=yes
	for address in 2001:db8::1/128 2001:db8::2/128 2001:db8:1::1/128; do
		ip addr add $address dev lo nodad || ipv6=
	done
fi

# Who runs a script leaves a trace, even if its answer is lost.
touch "$T/ran"
chmod 666 "$T/ran"
pid=$(script pid.php "<?php file_put_contents('$T/ran', \"x\n\", FILE_APPEND); echo getmypid();")
client=$(helper fcgi-get)
as() { setpriv --reuid="$1" --regid=nogroup --clear-groups "${@:2}"; }
runs() { wc -l <"$T/ran"; }
refusals() { grep -cE "pool www slot [0-9]+ pid [0-9]+: berth: client $1 refused: not in listen.allowed_$2" "$LOG"; }
told() { [ "$(refusals "$1" "$2")" -ge "$3" ]; }

# serve LINE...: one worker that can be reached in every way.
serve() {
	conf "[www]
listen = 0.0.0.0:9000
${ipv6:+listen = [::]:9000}
listen = $T/www.sock
listen = @berth-peers-www
listen.mode = 0666
pm.max_children = 1
$USER_LINE
program = $PHP
$(printf '%s\n' "$@")"
	berth_start
	worker=$(workers | xargs)
}
# is_served TEXT COMMAND...: the command gets the worker's answer.
is_served() { equal "$1: served" "$("${@:2}" 2>&1)" "$worker"; }
# is_refused TEXT CLIENT KEY COMMAND...: disconnected at once, unread, and told of.
is_refused() {
	local text=$1 who=$2 key=$3 before said started status=0
	shift 3
	before=$(refusals "$who" "$key")
	started=$(runs)
	said=$("$@" 2>&1) || status=$?
	equal "$text: the client's exit status" "$status" 1
	check "$text: disconnected, not answered" grep -Eq 'end of file|reset by peer|Broken pipe' <<<"$said"
	equal "$text: nothing ran" "$(runs)" "$started"
	check "$text: told of" until_true 10 told "$who" "$key" $((before + 1))
	# A line a time, so that none is left out.
	sleep 0.3
}

# No list: nobody is refused, and there is nothing to look at.
serve
for to in 10.1.0.1:9000 10.1.0.2:9000 ${ipv6:+'[2001:db8::2]:9000'} "$T/www.sock" @berth-peers-www; do
	is_served "no list, $to" as www-data "$client" "$to" "$pid"
done
equal "no list: nobody is refused" "$(grep -c refused "$LOG")" 0
equal "no list: none in the worker's memory" "$(grep -c berth-peers /proc/"$worker"/maps)" 0
berth_stop

before=$(runs)
serve "listen.allowed_clients = 10.1.0.1, 10.200.0.0/16${ipv6:+, 2001:db8::1, 2001:db8:1::/48}"
is_served "an address of the list" get 10.1.0.1:9000 "$pid"
is_served "an address of a network of the list" get 10.200.0.1:9000 "$pid"
is_refused "another address" 10.1.0.2 clients get 10.1.0.2:9000 "$pid"
is_refused "loopback, if it is not in the list" 127.0.0.1 clients get 127.0.0.1:9000 "$pid"
if [ -n "$ipv6" ]; then
	is_served "an IPv6 address of the list" get '[2001:db8::1]:9000' "$pid"
	is_served "an IPv6 address of a network of the list" get '[2001:db8:1::1]:9000' "$pid"
	is_refused "an IPv6 address that differs in its last byte" 2001:db8::2 clients \
		get '[2001:db8::2]:9000' "$pid"
	is_refused "IPv6 loopback" ::1 clients get '[::1]:9000' "$pid"
else
	say "skip  no IPv6 on this machine"
fi
is_served "unix sockets are not concerned" as www-data "$client" "$T/www.sock" "$pid"
is_served "nor are abstract ones" as www-data "$client" @berth-peers-www "$pid"
equal "the list's descriptor is not kept" "$(readlink /proc/"$worker"/fd/* | grep -c berth-peers)" 0

# While one connection is kept and served, hundreds are refused.
ran=$(runs)
already=$(refusals 10.1.0.2 clients)
get -n 300 10.1.0.2:9000 "$pid" >"$T/refused" 2>&1 &
flood=$!
equal "a kept connection during a flood of others" \
	"$(get -k 100 10.1.0.1:9000 "$pid" 2>&1 | sed "s/$worker/./g")" "$(printf '.%.0s' {1..100})"
wait $flood
equal "all others were disconnected" "$(grep -Ec 'end of file|reset by peer|Broken pipe' "$T/refused")" 300
equal "what ran meanwhile is what was allowed" "$(($(runs) - ran))" 100
is_served "the worker is still there" get 10.1.0.1:9000 "$pid"
# The limit is one of each second: in the next one a line tells what was left out before.
sleep 1.1
is_refused "another one later" 10.1.0.2 clients get 10.1.0.2:9000 "$pid"
lines() { echo $(($(refusals 10.1.0.2 clients) - already)); }
left_out() { sed -n 's/.*(not told: \([0-9]*\) more before).*/\1/p' "$LOG" | awk '{ n += $1 } END { print n + 0 }'; }
all_counted() { [ $(($(lines) + $(left_out))) -ge 301 ]; }
until_true 10 all_counted
check "300 refusals make few lines: $(lines)" test "$(lines)" -lt 100
equal "lines and what they count together" $(($(lines) + $(left_out))) 301
# What is refused was not served.
kill -9 "$worker"
counted() { grep -q "pid $worker: ended with .* requests" "$LOG"; }
until_true 10 counted
equal "requests of the worker, as the log counts them" \
	"$(sed -n "s/.*pid $worker: ended .* and \([0-9]*\) requests.*/\1/p" "$LOG")" \
	$(($(runs) - before))
berth_stop
equal "exit status" "$STATUS" 0

# Connections that go from a worker to its successor stay what they are: allowed.
serve "listen.allowed_clients = 10.1.0.1" "pm.max_requests = 2"
equal "a kept connection over several workers" \
	"$(get -k 12 10.1.0.1:9000 "$(script dots.php '<?php echo ".";')" 2>&1)" '............'
is_refused "a successor has the list too" 10.1.0.2 clients get 10.1.0.2:9000 "$pid"
berth_stop

serve "listen.allowed_uids = root"
for to in "$T/www.sock" @berth-peers-www; do
	is_served "root is in the list, ${to##*/}" get "$to" "$pid"
	is_refused "www-data is not, ${to##*/}" "of uid $(id -u www-data), pid [0-9]+" uids \
		as www-data "$client" "$to" "$pid"
done
is_served "TCP clients are not concerned" as www-data "$client" 10.1.0.2:9000 "$pid"
berth_stop

serve "listen.allowed_uids = www-data, 4711" "listen.allowed_clients = 10.1.0.1"
is_served "www-data is in the list" as www-data "$client" "$T/www.sock" "$pid"
is_served "so is a number without a name" as 4711 "$client" "$T/www.sock" "$pid"
is_refused "root is not" "of uid 0, pid [0-9]+" uids get "$T/www.sock" "$pid"
is_refused "both lists at once" 10.1.0.2 clients get 10.1.0.2:9000 "$pid"
is_served "both lists at once" get 10.1.0.1:9000 "$pid"
berth_stop

# While a slot has no worker its clients come to another one by way of the manager.
moody=$(helper moody-responder)
mood=$T/mood
touch "$mood" "$mood.starts"
chmod 666 "$mood" "$mood.starts"
conf "[www]
listen = $T/www-%n.sock
listen.mode = 0666
listen.allowed_uids = root
pm.max_children = 2
$USER_LINE
program = '$moody' '$mood'"
berth_start
long_wait() { grep -q 'slot 1 pid .*next start in [1-9]' "$LOG"; }
worker=$(get "$T/www-2.sock" /x)
echo 3 >"$mood"
kill -9 "$(get "$T/www-1.sock" /x)"
until_true 20 long_wait || die "slot 1 does not back off"
is_served "root at a slot without a worker" get -t 5 "$T/www-1.sock" /x
is_refused "www-data at a slot without a worker" "of uid $(id -u www-data), pid [0-9]+" uids \
	as www-data "$client" -t 5 "$T/www-1.sock" /x
berth_stop

# Executed programs accept for themselves, so the lists would be a promise that nobody keeps.
for line in "listen.allowed_clients = 10.1.0.1" "listen.allowed_uids = root"; do
	conf "[www]
listen = $T/www.sock
pm.max_children = 1
$USER_LINE
spawn = exec
$line"
	berth_fails
	equal "spawn = exec, ${line%% *}: exit status" "$STATUS" 100
	contains "spawn = exec, ${line%% *}: the message" "$LOG" \
		"berth.conf:6: ${line%% *}: is not accepted with spawn = exec"
done
