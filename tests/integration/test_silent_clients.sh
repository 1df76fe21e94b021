#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Clients that send nothing, or a part of a request, or do not close: they cost no worker.
. "$(dirname "$0")/lib.sh"

token=$(script token.php '<?php echo $_SERVER["TOKEN"], " ", getmypid(), "\n";')
pid=$(script pid.php '<?php echo getmypid();')
slow=$(script slow.php '<?php usleep(300000); echo $_SERVER["TOKEN"], " slow\n";')
S=$T/www-1.sock
# alone LINE...: a pool of one worker, so that nobody else could answer.
alone() {
	conf "[www]
listen = $S
pm = static
pm.max_children = 1
$USER_LINE
program = $PHP
$(printf '%s\n' "$@")"
	berth_start
}
# served TEXT: the one worker answers ten new clients and ten requests of a kept one.
served() {
	local seen
	seen=$(get -n 10 -t 4 "$S" "$pid" && get -k 10 -t 4 "$S" "$pid")
	equal "$1: twenty requests are answered" "$(sed "s/$(workers | xargs)/+/g" <<<"$seen")" \
		"++++++++++++++++++++"
}
ended() { [ "$(tell "$1" state)" = "open 0, ended $2" ]; }

alone
served "alone"
for what in header begin params; do
	hold $what "$S" "$token"
	tell $what open 3 >"$T/null"
	equal "$what" "$(tell $what send $what)" "sent 3"
	served "three clients with a piece of a request ($what)"
done
hold nothing "$S" "$token"
equal "silent clients" "$(tell nothing open 3)" "open 3"
served "and three that say nothing"
hold idle "$S" "$token"
tell idle open 3 >"$T/null"
equal "kept ones" "$(tell idle ask | cut -d: -f1)" "answered 3, wrong 0, failed 0"
# Without FCGI_KEEP_CONN the worker says that it is over; when the client closes is its affair.
hold stays "$S" "$token"
tell stays open 3 >"$T/null"
tell stays send request >"$T/null"
equal "not kept" "$(tell stays read | cut -d: -f1)" "answered 3, wrong 0, failed 0"
check "their answers are followed by the end" until_true 5 ended stays 3
served "and three that do not close after it"

# A client that has shut its side down still wants its answer.
hold half "$S" "$slow"
for what in request kept; do
	tell half open 3 >"$T/null"
	tell half send $what >"$T/null"
	tell half half >"$T/null"
	equal "half-closed with a whole request ($what)" "$(tell half read)" \
		"answered 3, wrong 0, failed 0:  slow"
	check "and the end after it" until_true 5 ended half 3
	tell half close >"$T/null"
done
# Two requests one behind the other, on connections that were idle before.
tell half open 2 >"$T/null"
tell half ask >"$T/null"
tell half send kept >"$T/null"
tell half send kept >"$T/null"
tell half half >"$T/null"
equal "the first of two, which has another token" "$(tell half read | xargs)" "answered 0, wrong 2, failed 0:"
equal "half-closed: the second of two" "$(tell half read)" "answered 2, wrong 0, failed 0:  slow"
release half

# By default silence has no limit. That nothing happens in this time is the point.
sleep 2
equal "silent for some time" "$(tell nothing state)" "open 3, ended 0"
equal "idle for some time" "$(tell idle state)" "open 3, ended 0"
equal "and then asked" "$(tell idle ask | cut -d: -f1)" "answered 3, wrong 0, failed 0"
equal "a late request" "$(tell nothing ask | cut -d: -f1)" "answered 3, wrong 0, failed 0"
for name in header begin params nothing idle stays; do release $name; done

# Very many of them. Each costs a descriptor, and memory for what it has sent.
worker=$(workers | xargs)
few() { [ "$(fds "$worker")" -le "$descriptors" ]; }
rss() { awk '/^VmRSS/ { print $2 }' "/proc/$worker/status"; }
descriptors=$(fds "$worker")
check "descriptors without clients: $descriptors" until_true 10 few
before=$(rss)
hold silent "$S" "$token"
hold halves "$S" "$token"
equal "many silent ones" "$(tell silent open 1000)" "open 1000"
served "1000 silent clients"
equal "many more" "$(tell halves open 1000)" "open 1000"
equal "half a request of each" "$(tell halves send params)" "sent 1000"
served "1000 more with half a request"
equal "16 clients at once" "$("$HELPERS/fcgi-load" -c 16 -n 50 -k "$token" "$S" | cut -d, -f1-3)" \
	"answered 800, wrong 0, failed 0"
check "descriptors: $(fds "$worker")" test "$(fds "$worker")" -le 1200
equal "and half-closed" "$(tell halves half)" "half 1000"
served "1000 more that are half-closed"
grown=$(($(rss) - before))
# A part of a request of each was held at the same time, so this is the most that there was.
check "memory has grown by $grown KiB" test $grown -le 65536
check "descriptors: $(fds "$worker")" test "$(fds "$worker")" -le 1200
release silent
release halves
served "they have gone"
# Down to what it had, give or take what scripts opened meanwhile.
check "descriptors, as before" until_true 10 few
equal "the same worker all the time" "$(workers | xargs)" "$worker"
berth_stop
equal "exit status" "$STATUS" 0

# request_header_timeout is about those that have begun.
alone "request_header_timeout = 1s"
for what in header begin params; do
	hold $what "$S" "$token"
	tell $what open 2 >"$T/null"
	tell $what send $what >"$T/null"
done
hold nothing "$S" "$token"
tell nothing open 2 >"$T/null"
hold idle "$S" "$token"
tell idle open 2 >"$T/null"
tell idle ask >"$T/null"
for what in header begin params; do
	check "request_header_timeout ends $what" until_true 10 ended $what 2
	release $what
done
# Twice the limit, in which nothing happens to these.
sleep 2
equal "but not silent ones" "$(tell nothing state)" "open 2, ended 0"
equal "nor idle ones" "$(tell idle ask | cut -d: -f1)" "answered 2, wrong 0, failed 0"
release nothing
release idle
berth_stop

# listen.keepalive_timeout is about those that have not.
alone "listen.keepalive_timeout = 1s"
hold begin "$S" "$token"
tell begin open 2 >"$T/null"
tell begin send begin >"$T/null"
hold nothing "$S" "$token"
tell nothing open 2 >"$T/null"
hold idle "$S" "$token"
tell idle open 2 >"$T/null"
equal "kept ones" "$(tell idle ask | cut -d: -f1)" "answered 2, wrong 0, failed 0"
check "listen.keepalive_timeout ends idle ones" until_true 10 ended idle 2
check "and silent ones" until_true 10 ended nothing 2
equal "but not half a head" "$(tell begin state)" "open 2, ended 0"
served "with a limit"
for name in begin nothing idle; do release $name; done
berth_stop
equal "exit status" "$STATUS" 0
