#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# TCP addresses of both families in all their spellings, and texts that are none.
. "$(dirname "$0")/lib.sh"
own_network "$@"
[ -e /proc/net/if_inet6 ] && ip addr add fe80::1/64 dev lo nodad 2>/dev/null ||
	skip "no IPv6 on this machine"
printf '%s\n' '127.0.0.1 localhost both.test' '::1 localhost both.test' '127.0.0.9 four.test' >"$T/hosts"
echo 'hosts: files' >"$T/nsswitch.conf"
mount --bind "$T/hosts" /etc/hosts && mount --bind "$T/nsswitch.conf" /etc/nsswitch.conf ||
	skip "/etc/hosts can't be replaced here"

pid=$(script pid.php '<?php echo getmypid(), PHP_EOL;')
listeners() { ss -tlnH | awk '{ print $4 }' | sort | xargs; }

# serve CHILDREN LISTEN...: berth on these addresses.
serve() {
	local children=$1 line
	shift
	conf "[www]
pm.max_children = $children
$USER_LINE
program = $PHP
$(for line; do echo "listen = $line"; done)"
	berth_start
}
# pids ADDRESS...: who answers there.
pids() {
	local address
	for address; do get "$address" "$pid" || echo "no answer from $address"; done | xargs
}
distinct() { tr ' ' '\n' <<<"$1" | sort -u | wc -l; }

# Each slot has a port of its own in both families.
serve 3 '[::1]:9000+%n' '127.0.0.1:9000+%n'
equal "[::1]:9000+%n and 127.0.0.1:9000+%n" "$(listeners)" \
	"127.0.0.1:9001 127.0.0.1:9002 127.0.0.1:9003 [::1]:9001 [::1]:9002 [::1]:9003"
six=$(pids '[::1]:9001' '[::1]:9002' '[::1]:9003')
equal "[::1]: three workers" "$(distinct "$six")" 3
equal "127.0.0.1: the same ones, in the same order" \
	"$(pids 127.0.0.1:9001 127.0.0.1:9002 127.0.0.1:9003)" "$six"
berth_stop

serve 2 'both.test:9000+%n' 'four.test:8000'
equal "a name with addresses of both families, one with one" "$(listeners)" \
	"127.0.0.1:9001 127.0.0.1:9002 127.0.0.9:8000 [::1]:9001 [::1]:9002"
equal "the name: the same worker in both families" \
	"$(pids 127.0.0.1:9002)" "$(pids '[::1]:9002')"
berth_stop

serve 2 '[fe80::1%lo]:9000+%n'
equal "[fe80::1%lo]:9000+%n" "$(listeners)" "[fe80::1]%lo:9001 [fe80::1]%lo:9002"
equal "two workers" "$(distinct "$(pids '[fe80::1%lo]:9001' '[fe80::1%lo]:9002')")" 2
berth_stop

# "[::]" is for IPv6 alone, whatever the machine's default is.
for default in 0 1; do
	echo $default >/proc/sys/net/ipv6/bindv6only
	serve 1 '[::]:9000'
	equal "bindv6only = $default: [::]:9000" "$(listeners)" "[::]:9000"
	equal "bindv6only = $default: IPv4 is refused" \
		"$(pids 127.0.0.1:9000 2>&1 | grep -c 'Connection refused')" 1
	check "bindv6only = $default: IPv6 is served" test "$(pids '[::1]:9000')" -gt 0
	berth_stop
done
serve 1 '[::]:9000' '0.0.0.0:9000'
equal "both wildcards at once" "$(listeners)" "0.0.0.0:9000 [::]:9000"
berth_stop

# Port 0 is the kernel's choice, which is told.
serve 1 '[::1]:0' '127.0.0.1:0'
chosen=$(sed -n 's/.*the kernel chose //p' "$LOG" | sort | xargs)
equal "port 0: what the log tells" "$chosen" "$(listeners)"
equal "port 0: served there" "$(distinct "$(pids $chosen)")" 1
check "port 0: not port 0" test -z "$(grep ':0 ' <<<"$chosen ")"
berth_stop

# What is no address is an error, and never the name of a file.
mkdir "$T/empty"
cd "$T/empty" || exit
# wrong TEXT PATTERN [CHILDREN]
wrong() {
	berth_fails --listen "$1" --children "${3:-1}" ${USER_LINE:+--user www-data} -- "$PHP"
	equal "$1: exit status" "$STATUS" 100
	contains "$1: the message" "$LOG" "^berth: command line: --listen: .*$2"
	equal "$1: no file, no listener" "$(ls -A)$(listeners)" ""
}
wrong '::1:9000' 'brackets: \[::1\]:9000'
wrong '::1' 'brackets'
wrong 'fe80::1%lo:9000' 'brackets'
wrong '[::1]' '\]. must be followed by :PORT'
wrong '[::1]:' 'no port'
wrong '[::1' "without '\]'"
wrong '[]:9000' 'no address in the brackets'
wrong '[127.0.0.1]:9000' 'no IPv6 address'
wrong '[::g]:9000' 'no IPv6 address'
wrong '[fe80::1%]:9000' 'no interface name'
wrong '[::1%nowhere]:9000' 'look up'
wrong '127.0.0.1:99999' 'port 99999 is above 65535'
wrong '127.0.0.1:65536' 'port 65536 is above 65535'
wrong '127.0.0.1:4294976296' 'above 65535'
wrong '127.0.0.1:-1' 'no port'
wrong '127.0.0.1:+9000' 'no port'
wrong '127.0.0.1:0x50' 'no port'
wrong '127.0.0.1:9000 ' 'no port'
wrong '127.0.0.1:http' 'no port'
wrong '127.0.0.1:' 'no port'
wrong ':' 'no port'
wrong '127.0.0.1:65530+%n' 'above 65535' 6
wrong '127.0.0.1:0+%n' 'no port' 2
wrong '127.0.0.%n:9000' "can't stand in the host"
wrong '256.0.0.1:9000' 'no IPv4 address'
wrong '127.1:9000' 'no IPv4 address'
wrong '*:9000' '0.0.0.0 for every'
wrong 'localhost' 'no port'
wrong 'www.sock' 'no port'
wrong 'run/www.sock' "must start with '/'"
wrong 'unix:/run/www.sock' 'without "unix:"'
wrong 'nobody.test:9000' 'look up host'

# What may be different a moment later is no matter of spelling: the name server is not
# reachable, this machine does not have the address (yet).
echo 'hosts: files dns' >"$T/nsswitch.conf"
berth_fails --listen 'nobody.test:9000' --children 1 ${USER_LINE:+--user www-data} -- "$PHP"
contains "no name server: the message" "$LOG" 'look up host "nobody.test": Temporary failure'
equal "no name server: exit status" "$STATUS" 111
berth_fails --listen '[2001:db8::1]:9000' --children 1 ${USER_LINE:+--user www-data} -- "$PHP"
equal "a foreign address: exit status" "$STATUS" 111
contains "a foreign address: the message" "$LOG" '\[2001:db8::1\]:9000.*no interface .*has that address'
