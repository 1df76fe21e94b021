#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A port without an address is reached from this machine only; other addresses are asked for.
. "$(dirname "$0")/lib.sh"
own_network "$@"
ip addr add 10.99.0.1/32 dev lo || skip "no second address on lo"

ok=$(script ok.php '<?php echo "ok";')
listeners() { ss -tlnH | awk '{ print $4 }' | sort | xargs; }

# serve LISTEN: berth with two workers there.
serve() {
	conf "[www]
listen = $1
pm.max_children = 2
$USER_LINE
program = $PHP
$(printf '%s\n' "${@:2}")"
	berth_start
}
# from_outside PORT: what a client gets that comes by the machine's other address.
from_outside() { get "10.99.0.1:$1" "$ok" 2>&1 | sed 's/.*: //'; }
warnings() { grep -c 'warning: .*every host' "$LOG"; }

for text in 9001 :9001 8999+%n :8999+%n; do
	serve "$text"
	case $text in
	*%n) equal "listen = $text" "$(listeners)" "127.0.0.1:9000 127.0.0.1:9001" ;;
	*) equal "listen = $text" "$(listeners)" "127.0.0.1:9001" ;;
	esac
	equal "listen = $text: inside, outside, warnings" \
		"$(get 127.0.0.1:9001 "$ok"), $(from_outside 9001), $(warnings)" \
		"ok, Connection refused, 0"
	berth_stop
done

serve 0.0.0.0:8999+%n
equal "listen = 0.0.0.0:8999+%n" "$(listeners)" "0.0.0.0:9000 0.0.0.0:9001"
equal "listen = 0.0.0.0:8999+%n: outside, warnings (one a line, not one a slot)" \
	"$(from_outside 9001), $(warnings)" "ok, 1"
contains "the warning names the address" "$LOG" "warning: pool www: 0.0.0.0:9000: every host"
berth_stop

if [ -e /proc/net/if_inet6 ]; then
	serve "[::]:9000"
	contains "listen = [::]:9000 warns too" "$LOG" "warning: pool www: \[::\]:9000: every host"
	berth_stop
fi

serve 10.99.0.1:9000
equal "listen = 10.99.0.1:9000: written out, so no warning" "$(from_outside 9000), $(warnings)" "ok, 0"
berth_stop

# php-cgi's own list of allowed clients has no effect on a socket that it is given: it is not
# passed on, so that nobody thinks it had.
names=$(script names.php '<?php
foreach (["FCGI_WEB_SERVER_ADDRS", "PASSED_ON"] as $n)
	echo var_export(getenv($n), true), " ", var_export(isset($_SERVER[$n]), true), " ";
echo trim(`env | grep -c FCGI_WEB_SERVER_ADDRS`);')
for mode in template exec; do
	export FCGI_WEB_SERVER_ADDRS=10.99.0.7 PASSED_ON=yes
	serve 9000 "spawn = $mode" "clear_env = no"
	unset FCGI_WEB_SERVER_ADDRS PASSED_ON
	equal "$mode: FCGI_WEB_SERVER_ADDRS, another variable, programs" \
		"$(get 127.0.0.1:9000 "$names")" "false false 'yes' true 0"
	for p in $(descendants $(children "$MANAGER")); do
		equal "$mode: in the environment of pid $p" \
			"$(tr '\0' '\n' <"/proc/$p/environ" | grep -c FCGI_WEB_SERVER_ADDRS)" 0
	done
	berth_stop
done
