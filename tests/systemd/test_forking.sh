#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# daemonize = yes under a real systemd, Type=forking: the pid file is there when the start returns.
. "$(dirname "$0")/lib.sh"

file=/run/forking.pid
berth_conf "[global]
daemonize = yes
pid = $file
error_log = /run/forking.log
[www]
listen = /run/forking-%n.sock
user = www-data
pm = static
pm.max_children = 2
program = $PHP"
cat >/run/systemd/system/forking.service <<-U
	[Service]
	Type=forking
	PIDFile=$file
	ExecStart=$PREFIX/sbin/berth run
	ExecReload=/bin/kill -HUP \$MAINPID
	KillMode=mixed
	Restart=on-failure
	RestartSec=0
U
systemctl daemon-reload
pid=$(site pid.php '<?php echo getmypid();')

systemctl start forking || { explain forking; die "it does not start"; }
main=$(prop forking MainPID)
equal "the main process is whom the file names" "$main" "$(cat $file)"
equal "its name" "$(cat "/proc/$main/comm")" berth
check "it answers when the start has returned" test -n "$(get /run/forking-1.sock "$pid")"
check "nobody else is there" test "$(cgroup_pids forking.service | wc -l)" = 4

systemctl reload forking
until_true 20 grep -q 'reload: done' /run/forking.log || fail "no reload"
equal "the same after a reload" "$(prop forking MainPID), $(cat $file)" "$main, $main"

# Killed, it is started again over the file that it left.
kill -KILL "$main"
is_another() { [ "$(prop forking ActiveState)" = active ] && [ "$(prop forking MainPID)" != "$main" ]; }
check "killed: another one runs" until_true 20 is_another
equal "it is whom the file names" "$(cat $file)" "$(prop forking MainPID)"
check "it answers" test -n "$(get /run/forking-2.sock "$pid")"

systemctl stop forking
equal "stopped" "$(prop forking ActiveState), $(prop forking Result)" "inactive, success"
check "no pid file is left" test ! -e $file
equal "of the pid file systemd says" "$(journal forking | grep -ci 'pid file')" 0

# A start that fails is one for systemd, too, which has the reason.
sed -i 's|^program.*|program = /bin/false|' /etc/berth/berth.conf
drop_in forking.service Restart=no
check "a start that fails" eval '! systemctl start forking 2>/dev/null'
equal "is failed" "$(prop forking ActiveState), $(prop forking Result)" "failed, exit-code"
contains "the reason is in the journal" <(journal forking) 'ended before it was ready'
check "no pid file is left" test ! -e $file
