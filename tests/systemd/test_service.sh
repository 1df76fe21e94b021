#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# berth.service under a real systemd: what its states mean, and when they change.
. "$(dirname "$0")/lib.sh"

pools() {
	berth_conf "[www]
listen = /run/berth/www-%n.sock
user = www-data
pm = static
pm.max_children = $1
program = $PHP
${2:-}"
}
pid=$(site pid.php '<?php echo getmypid();')
gone_pids() { [ -z "$(cgroup_pids "$1")" ]; }

# READY comes when the pools serve, not before: a php-cgi that takes long keeps it away.
cat >/usr/local/bin/slow-php <<-S
	#!/bin/sh
	while [ ! -e /run/go ]; do sleep 0.05; done
	exec $(command -v "$PHP") "\$@"
S
chmod 755 /usr/local/bin/slow-php
pools 3
sed -i 's|^program = .*|program = /usr/local/bin/slow-php|' /etc/berth/berth.conf
systemctl start --no-block berth
has_template() { [ "$(cgroup_pids berth.service | wc -l)" -ge 2 ]; }
until_true 10 has_template || die "nothing was started"
equal "before its pools serve" "$(prop berth ActiveState)" activating
touch /run/go
systemctl start berth || { explain berth; die "it does not start"; }
equal "with pools that serve" "$(prop berth ActiveState)/$(prop berth SubState)" active/running
check "a worker answers at once" test -n "$(get /run/berth/www-1.sock "$pid")"
equal "its status line" "$(prop berth StatusText)" "1 pool, at most 3 workers"

# Reload: the call waits, and its status is the truth.
pools 2
main=$(prop berth MainPID)
check "reload with a good configuration" systemctl reload berth
equal "after it" "$(prop berth ActiveState), $(prop berth StatusText)" \
	"active, 1 pool, at most 2 workers"
equal "the same manager" "$(prop berth MainPID)" "$main"
pools 2 "pm.no_such_key = 1"
check "reload with a bad one fails" eval '! systemctl reload berth 2>/dev/null'
equal "after it" "$(prop berth ActiveState), $(prop berth StatusText)" \
	"active, 1 pool, at most 2 workers; the last reload failed, nothing was changed"
check "and the old one goes on" test -n "$(get /run/berth/www-2.sock "$pid")"
pools 2
check "reload with a good one again" systemctl reload berth
equal "its status line" "$(prop berth StatusText)" "1 pool, at most 2 workers"

# SIGHUP is a reload as well: it is seen as one, and ends.
kill -HUP "$main"
until_true 10 eval 'journal berth | grep -c "reload: done" | grep -qx 3' || fail "no reload by SIGHUP"
until_true 5 prop_is berth ActiveState active || fail "the state stays $(prop berth ActiveState)"

systemctl restart berth || { explain berth; fail "restart"; }
check "restart: another manager" test "$(prop berth MainPID)" != "$main"
check "that answers" test -n "$(get /run/berth/www-1.sock "$pid")"

# Stop: in order, with what scripts left behind.
leave=$(site leave.php '<?php proc_open("exec setsid sleep 1000", [["file","/dev/null","r"],["file","/dev/null","w"],["file","/dev/null","w"]], $p); echo "left";')
equal "a script that leaves a process" "$(get /run/berth/www-1.sock "$leave")" left
check "stop" systemctl stop berth
equal "after it" "$(prop berth ActiveState), $(prop berth Result)" "inactive, success"
check "no process is left" gone_pids berth.service
check "no socket is left" test ! -e /run/berth

# A wrong configuration ends with 100, and is not tried again.
pools 2 "pm.no_such_key = 1"
check "start with a wrong configuration fails" eval '! systemctl start berth 2>/dev/null'
equal "its end" "$(prop berth ActiveState) $(prop berth ExecMainStatus) $(prop berth NRestarts)" \
	"failed 100 0"
systemctl reset-failed berth

# A program that is missing may come: tried again, up to the limit.
pools 2
sed -i 's|^program = .*|program = /usr/local/bin/not-there|' /etc/berth/berth.conf
drop_in berth.service RestartSec=10ms
systemctl start berth 2>/dev/null
until_true 20 prop_is berth ActiveState failed || fail "a start that fails is tried for ever"
equal "the tries" "$(prop berth NRestarts)" 10
systemctl reset-failed berth

# A manager that hangs is killed and started again.
pools 2
drop_in berth.service WatchdogSec=1
systemctl start berth || { explain berth; die "it does not start"; }
main=$(prop berth MainPID)
freeze "$main"
restarted() { [ "$(prop berth NRestarts)" = 1 ] && prop_is berth ActiveState active; }
until_true 20 restarted || { explain berth; fail "no restart by the watchdog"; }
check "another manager after the watchdog" test "$(prop berth MainPID)" != "$main"
check "that answers" test -n "$(get /run/berth/www-1.sock "$pid")"
systemctl stop berth
equal "after a stop" "$(prop berth ActiveState)" inactive
check "no process is left" gone_pids berth.service

# A manager that is killed takes neither workers nor their temporary files along.
slow=$(site slow.php "<?php
touch('$SITE/begun');
while (!file_exists('$SITE/go')) { usleep(10000); clearstatcache(); }
echo @file_put_contents('/tmp/x', 'x') ? 'finished' : 'without its /tmp';")
chmod 777 "$SITE"
systemctl start berth || { explain berth; die "it does not start"; }
get /run/berth/www-1.sock "$slow" >"$T/answer" &
until_true 10 test -e "$SITE/begun" || fail "the script does not begin"
before=$(prop berth NRestarts)
kill -KILL "$(prop berth MainPID)"
started_again() { [ "$(prop berth NRestarts)" -gt "$before" ] && prop_is berth SubState running; }
until_true 20 started_again || { explain berth; fail "it is not started again"; }
touch "$SITE/go"
wait $!
equal "what runs when the manager is killed" "$(cat "$T/answer")" finished
check "the next one answers" test -n "$(get /run/berth/www-2.sock "$pid")"
systemctl stop berth
equal "its temporary files go when it stops" "$(prop berth-tmp ActiveState)" inactive

# The journal has priorities.
pools 1
systemctl start berth
pools 1 "pm.no_such_key = 1"
systemctl reload berth 2>/dev/null
journalctl -q -o cat -p err -u berth >"$T/errors"
contains "a failed reload is an error of the journal" "$T/errors" '^error: reload: nothing was changed'
check "notices are none" eval '! grep -q notice: "$T/errors"'
systemctl stop berth
