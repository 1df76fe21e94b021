#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Sockets that systemd listens on: clients that come before the service, whose socket is whose, and
# that they are left as they are.
. "$(dirname "$0")/lib.sh"

pid=$(site pid.php '<?php echo getmypid();')
environment=$(site environment.php '<?php
foreach (["LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES", "NOTIFY_SOCKET", "JOURNAL_STREAM"] as $n)
	if (getenv($n) !== false) echo "$n ";
echo getenv("OWN");')
FOLDER=/run/berth-sockets
# pools LINE...: a pool www of four, with more lines.
pools() {
	berth_conf "[www]
pm = static
pm.max_children = 4
user = www-data
program = $PHP
$(printf '%s\n' "$@")"
}
# socket_unit LINE...
socket_unit() {
	printf '%s\n' "[Socket]" "$@" >/run/systemd/system/berth.socket
	systemctl daemon-reload
	systemctl start berth.socket || die "the socket unit does not start"
}
away() {
	systemctl stop berth.socket berth.service 2>/dev/null
	systemctl reset-failed berth.service 2>/dev/null
}
look() { stat -c '%i %a %U %G' "$FOLDER"/*; }

# The example that comes with berth: four sockets of a pool.
cp "$PREFIX"/share/doc/*/examples/berth.socket /run/systemd/system/ || die "no example"
pools "listen = $FOLDER/www-%n.sock" "listen.mode = 0600" "clear_env = no"
drop_in berth.service Environment=OWN=own
systemctl start berth.socket || die "the example does not start"
before=$(look)
equal "the service before the first client" "$(prop berth ActiveState)" inactive
first=$(get $FOLDER/www-3.sock "$pid")
check "the first client is answered" test -n "$first"
until_true 10 prop_is berth ActiveState active || fail "the state is $(prop berth ActiveState)"
answers() { for s in "$FOLDER"/www-*.sock; do get "$s" "$pid"; echo; done | sort -u | wc -l; }
equal "each socket has a worker of its own" "$(answers)" 4
equal "the same one for each client" "$(get $FOLDER/www-3.sock "$pid")" "$first"
equal "what a worker sees of it in its environment" "$(get $FOLDER/www-1.sock "$environment")" own
check "reload" systemctl reload berth
check "after it there are other workers" test "$(get $FOLDER/www-3.sock "$pid")" != "$first"

# A listener that is given up by a reload can be had again.
pools "listen = /run/berth/%n.sock"
check "reload without them" systemctl reload berth
pools "listen = $FOLDER/www-%n.sock"
check "reload with them again" systemctl reload berth
equal "each socket has a worker of its own" "$(answers)" 4
systemctl stop berth 2>/dev/null
check "sockets, their modes and owners are as they were" test "$(look)" = "$before"
check "a client starts it again" test -n "$(get $FOLDER/www-2.sock "$pid")"

# An upgrade goes on with them.
until_true 10 prop_is berth ActiveState active
if "$PREFIX/sbin/berth" upgrade >"$T/upgrade" 2>&1; then
	equal "after an upgrade each socket has its worker" "$(answers)" 4
	systemctl stop berth 2>/dev/null
	check "and at the end all is as it was" test "$(look)" = "$before"
else
	fail "upgrade: $(cat "$T/upgrade")"
fi
away

# TCP: own ports by their addresses; and one whose address is written differently, by its name.
pools "listen = 127.0.0.1:9100+%n" "listen = 9200"
socket_unit ListenStream=127.0.0.1:9104 ListenStream=127.0.0.1:9101 ListenStream=9200 \
	ListenStream=127.0.0.1:9102 ListenStream=127.0.0.1:9103 FileDescriptorName=www
check "the first client at a port of all addresses" test -n "$(get '[::1]:9200' "$pid")"
until_true 10 prop_is berth ActiveState active
ports() { for p in 9101 9102 9103 9104; do get "127.0.0.1:$p" "$pid"; echo; done | sort -u | wc -l; }
equal "each port has a worker of its own" "$(ports)" 4
journal berth >"$T/journal"
contains "what is known of them" "$T/journal" 'pool www: 5 of its sockets are systemd'
contains "a warning of the port that everybody reaches" "$T/journal" 'warning:.*\[::\]:9200'
away

# Nobody's: closed, with a warning, and the rest goes on.
pools "listen = $FOLDER/www-%n.sock"
socket_unit ListenStream=$FOLDER/www-1.sock ListenStream=$FOLDER/nobody.sock FileDescriptorName=x
systemctl start berth || { explain berth; fail "it does not start with a socket too much"; }
equal "three of its own, one that was passed" "$(answers 2>/dev/null)" 4
journal berth >"$T/journal"
contains "a warning" "$T/journal" "^warning: systemd listens on $FOLDER/nobody.sock, named 'x'"
away

# What is no listening stream socket is a mistake that trying again does not mend.
socket_unit ListenDatagram=$FOLDER/datagrams FileDescriptorName=wrong
systemctl start berth 2>/dev/null
equal "with a datagram socket" "$(prop berth ActiveState) $(prop berth ExecMainStatus) $(prop berth NRestarts)" \
	"failed 100 0"
journal berth >"$T/journal"
contains "the log names it" "$T/journal" "^error: systemd passed descriptor 3, named 'wrong'"
away
