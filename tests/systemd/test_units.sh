#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The units as they are installed: systemd has nothing to say about them, they are as closed as they
# claim, each line of their hardening is explained, and PHP works with it.
. "$(dirname "$0")/lib.sh"

cp "$PREFIX"/share/doc/*/examples/berth.socket /run/systemd/system/ || die "no example"
mkdir -p "$T/verify"
cp "$UNITS"/berth*.service /run/systemd/system/berth.socket "$T/verify"
for unit in berth.service berth@.service berth.socket; do
	# With the units of a whole Debian around them.
	env -u SYSTEMD_UNIT_PATH systemd-analyze verify --man=no "$T/verify/$unit" >"$T/said" 2>&1
	equal "systemd-analyze verify $unit: status" "$?" 0
	equal "systemd-analyze verify $unit" "$(cat "$T/said")" ""
done

# The threshold is in tenths; what is above it makes the status 1.
at_most() {
	systemd-analyze security --no-pager --offline=true --threshold="$2" "$T/verify/$1" >"$T/said" 2>&1 ||
		fail "systemd-analyze security $1: $(tail -1 "$T/said")"
	say "ok    $(tail -1 "$T/said" | tr -cd '[:print:]')"
}
at_most berth.service 40
at_most berth@.service 20

check "each hardening line has a comment above its paragraph" awk '
	/^# Hardening/ { on = 1; next }
	/^\[Install\]/ { on = 0 }
	/^#/ { said = 1; next }
	/^$/ { said = 0; next }
	on && !said { print "without a comment: " $0 > "/dev/stderr"; bad = 1 }
	END { exit bad }' "$T/verify/berth.service" "$T/verify/berth@.service"

# A pool of one user.
script=$(site hardened.php '<?php
$t = tempnam("/tmp", "x"); file_put_contents($t, "temporary"); echo file_get_contents($t), " ";
echo preg_match("/^(a|b)+c$/", "ababc"), " ", get_current_user() === "" ? "" : posix_getpwuid(posix_geteuid())["name"], " ";
echo @file_put_contents("/usr/x", "x") === false ? "closed " : "open ", file_exists("/home/nobody-is-here") ? "" : "hidden";')
pid=$(site pid.php '<?php echo getmypid();')
cat >/etc/berth/www-data.conf <<-C
	[www]
	listen = /run/berth-www-data/www-%n.sock
	pm = static
	pm.max_children = 2
	program = $PHP
C
check "berth@www-data starts" systemctl start berth@www-data || explain berth@www-data
equal "a script in it" "$(get /run/berth-www-data/www-1.sock "$script" 2>/dev/null | tail -1)" \
	"temporary 1 www-data closed hidden"
equal "who runs" "$(ps -o user= -p "$(cgroup_pids 'system-berth.slice/berth@www-data.service' | xargs | tr ' ' ,)" | sort -u)" www-data
equal "its control socket" "$(stat -c '%U %a' /run/berth-www-data/berth.sock)" "www-data 600"
check "reload" systemctl reload berth@www-data
sed -i 's/^pm = static/pm = no-such-thing/' /etc/berth/www-data.conf
check "reload with a wrong configuration fails" eval '! systemctl reload berth@www-data 2>/dev/null'
equal "and nothing else" "$(prop berth@www-data ActiveState)" active

# Beside it the one of root, with pools of two users, and limits that only root can set.
useradd -M berth-other 2>/dev/null
berth_conf "[one]
listen = /run/berth/one.sock
user = www-data
pm = static
pm.max_children = 1
program = $PHP
[two]
listen = /run/berth/two.sock
listen.owner = www-data
user = berth-other
pm = static
pm.max_children = 1
program = $PHP"
check "berth.service starts" systemctl start berth || explain berth
who=$(site who.php '<?php echo posix_getpwuid(posix_geteuid())["name"];')
equal "users of its pools" "$(get /run/berth/one.sock "$who") $(get /run/berth/two.sock "$who")" \
	"www-data berth-other"
check "it can tell what workers of other users do" eval '"$PREFIX/sbin/berth" status | grep -q "pool two: ready"'
systemctl stop berth
check "its end leaves the other one's folder alone" test -n "$(get /run/berth-www-data/www-1.sock "$pid")"
systemctl stop berth@www-data
check "whose folder goes with it" test ! -e /run/berth-www-data
equal "the ends" "$(prop berth Result) $(prop berth@www-data Result)" "success success"
