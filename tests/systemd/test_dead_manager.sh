#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A manager that is killed with -9: the next one goes on with its workers, and nobody notices.
#
# 5 times in a row under load; once a second for a minute if SLOW is set.
. "$(dirname "$0")/lib.sh"
kills=$([ -n "${SLOW:-}" ] && echo 60 || echo 5)
pause=$([ -n "${SLOW:-}" ] && echo 0.6 || echo 0)

berth_conf "[www]
listen = /run/berth/www-%n.sock
user = www-data
pm = static
pm.max_children = 4
program = $PHP -d apc.enabled=1
[single]
listen = /run/berth/single-%n.sock
user = www-data
pm = static
pm.max_children = 1
spawn = exec
program = $PHP"
drop_in berth.service RestartSec=20ms '[Unit]' StartLimitIntervalSec=0
pid=$(site pid.php '<?php echo getmypid();')
token=$(site token.php '<?php usleep(rand(0, 1000)); echo $_SERVER["TOKEN"];')
count=$(site count.php '<?php echo apcu_inc("n");')
writes=$(site writes.php '<?php echo file_put_contents("/tmp/" . uniqid(), "12345");')

systemctl start berth || { explain berth; die "it does not start"; }
status() { "$PREFIX/sbin/berth" status --json; }
workers() { status | sed -n 's/.*"pid": \([0-9]*\).*/\1/p' | grep -vx "$(prop berth MainPID)" | xargs; }
template() { status | awk -F'[ ,]+' '/template_pid/ && !/null/ { print $3 }'; }
stored() { prop berth NFileDescriptorStore; }
descriptors() { find "/proc/$(prop berth MainPID)/fd" | wc -l; }
is_another() { [ "$(prop berth MainPID)" != "$1" ] && [ "$(prop berth MainPID)" != 0 ] && prop_is berth ActiveState active; }
# kill_manager: and wait for the next one.
kill_manager() {
	local main
	main=$(prop berth MainPID)
	kill -KILL "$main"
	until_true 20 is_another "$main" || { explain berth; die "no other manager"; }
}
settled() { [ "$(stored)" = "$1" ]; }

until_true 5 eval '[ "$(stored)" -gt 20 ]' || fail "systemd keeps $(stored) descriptors"
get /run/berth/www-1.sock "$count" >"$T/null"
before=$(workers) template=$(template) kept=$(stored) open=$(descriptors)
equal "a script writes to its /tmp" "$(get /run/berth/www-1.sock "$writes")" 5
kill_manager
equal "the same workers" "$(workers)" "$before"
equal "the same template" "$(template)" "$template"
equal "it still can write there" "$(get /run/berth/www-1.sock "$writes")" 5
equal "the same memory" "$(get /run/berth/www-2.sock "$count")" 2
until_true 5 settled "$kept"
equal "descriptors that systemd keeps" "$(stored)" "$kept"
equal "descriptors of the manager" "$(descriptors)" "$open"
contains "it says so" <(journal berth) "the manager has died; its workers go on"

# It does what a manager does: a worker that ends is replaced, by the template that is there.
victim=$(cut -d' ' -f2 <<<"$before")
kill -KILL "$victim"
replaced() {
	local now
	now=$(workers)
	[ "$(wc -w <<<"$now")" = 5 ] && ! grep -qw "$victim" <<<"$now"
}
check "a worker that ends is replaced" until_true 10 replaced
contains "its status is known" <(journal berth) "pid $victim: ended with signal 9"
equal "the new one shares the memory" "$(get /run/berth/www-2.sock "$count")" 3
victim=$(cut -d' ' -f5 <<<"$before")
kill -KILL "$victim"
check "likewise an executed one" until_true 10 replaced
before=$(workers)
kill_manager
equal "with those as well it goes on" "$(workers)" "$before"

# Workers that end while there is no manager.
main=$(prop berth MainPID)
victim=$(cut -d' ' -f1 <<<"$before")
kill -KILL "$main" "$victim"
until_true 20 is_another "$main" || die "no other manager"
check "a worker that ends meanwhile is replaced" until_true 10 replaced
equal "the others are as before" "$(workers | cut -d' ' -f2-)" "$(cut -d' ' -f2- <<<"$before")"

# Reload and upgrade, then again.
check "a reload" systemctl reload berth
before=$(workers) template=$(template)
kill_manager
equal "after a reload: the same workers" "$(workers)" "$before"
check "an upgrade" "$PREFIX/sbin/berth" upgrade
kill_manager
equal "after an upgrade: the same workers" "$(workers)" "$before"
equal "the same template" "$(template)" "$template"
until_true 5 settled "$kept"
equal "descriptors that systemd keeps" "$(stored)" "$kept"

# Under load, kept and new.
sockets=(/run/berth/www-{1,2,3,4}.sock)
load_until_enough() {
	while [ ! -e "$T/enough" ]; do "$HELPERS/fcgi-load" "$@" "$token" "${sockets[@]}" 2>&1; done
}
load_until_enough -k -c 16 -n 100 >"$T/kept" &
kept_load=$!
load_until_enough -c 16 -n 100 >"$T/new" &
new_load=$!
PIDS+=("$kept_load" "$new_load")
for ((i = 0; i < kills; i++)); do
	kill_manager
	sleep "$pause" # the minute of the long form
done
enough() { [ "$(wc -l <"$T/kept")" -ge 2 ] && [ "$(wc -l <"$T/new")" -ge 2 ]; }
until_true 30 enough
touch "$T/enough"
wait "$kept_load" "$new_load"
for how in kept new; do
	equal "$how: rounds of load with a fault" "$(grep -vc ', wrong 0, failed 0,' "$T/$how")" 0
	check "$how: there was load" test "$(wc -l <"$T/$how")" -ge 2
done
equal "after $kills kills: the same workers" "$(workers)" "$before"
until_true 5 settled "$kept"
equal "descriptors that systemd keeps" "$(stored)" "$kept"
equal "descriptors of the manager" "$(descriptors)" "$open"

# A state that makes no sense is not half used: everything starts afresh.
spoil() {
	local fd
	for fd in /proc/1/fd/*; do
		[[ $(readlink "$fd") != */memfd:berth-state* ]] || echo '{"version": 1}' >"$fd"
	done
}
spoil
kill_manager
check "a spoilt state: old workers leave" until_true 20 all_gone $before
contains "and it says why" <(journal berth) "does not fit: version"
until_true 20 eval '[ "$(workers | wc -w)" = 5 ]' || fail "workers after a spoilt state: $(workers)"
check "others serve" test -n "$(get /run/berth/www-1.sock "$pid")"
until_true 5 settled "$kept"
equal "descriptors that systemd keeps" "$(stored)" "$kept"
before=$(workers)

# A restart is a clean stop, and a start afresh.
systemctl restart berth || { explain berth; fail "restart"; }
equal "after a restart: old workers" "$(for p in $before; do alive "$p" && echo "$p"; done)" ""
equal "workers" "$(workers | wc -w)" 5
until_true 5 settled "$kept"
equal "descriptors that systemd keeps" "$(stored)" "$kept"
main=$(prop berth MainPID) before=$(workers)
systemctl stop berth
equal "after a stop" "$(prop berth ActiveState) $(prop berth Result)" "inactive success"
equal "no process is left" "$(cgroup_pids berth.service)" ""
check "no socket is left" test ! -e /run/berth

# A store that is too small is no store.
drop_in berth.service RestartSec=20ms FileDescriptorStoreMax=10 Environment=FDSTORE=10 '[Unit]' StartLimitIntervalSec=0
systemctl start berth || { explain berth; die "it does not start"; }
contains "a store that is too small: it says so" <(journal berth) "keeps 10 descriptors, .* needs"
before=$(workers)
kill_manager
check "workers leave as without one" until_true 20 all_gone $before
check "and others serve" test -n "$(get /run/berth/www-1.sock "$pid")"
systemctl stop berth
