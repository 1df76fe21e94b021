#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Units for spawn-fcgi, one with -n and one with -P and Type=forking, and the same with ours.
. "$(dirname "$0")/lib.sh"
[ -x /usr/bin/spawn-fcgi ] || skip "spawn-fcgi is not installed"
PHP_PATH=$(command -v "$PHP")
mkdir -p /usr/local/bin
ln -s "$PREFIX/sbin/berth" /usr/local/bin/spawn-fcgi
pid=$(site pid.php '<?php echo getmypid();')
answers() { [ -n "$(get "$1" "$pid" 2>/dev/null)" ]; }

# unit NAME TYPE OPTIONS PROGRAM
unit() {
	cat >"/run/systemd/system/$1.service" <<-U
		[Service]
		Type=$2
		$([ "$2" != forking ] || echo "PIDFile=/run/$1.pid")
		ExecStart=$4 $3 -s /run/$1.sock -u www-data -M 600 -- $PHP_PATH
		Restart=on-failure
		RestartSec=0
	U
	systemctl daemon-reload
}

for program in /usr/bin/spawn-fcgi /usr/local/bin/spawn-fcgi; do
	name=n-$(readlink -f $program | sed 's|.*/||')
	unit "$name" simple -n $program
	systemctl start "$name" || { explain "$name"; die "$program -n does not start"; }
	until_true 20 answers "/run/$name.sock" || { explain "$name"; die "$program -n does not answer"; }
	main=$(prop "$name" MainPID)
	equal "$program -n: the main process serves" "$(get "/run/$name.sock" "$pid")" "$main"
	kill -KILL "$main"
	is_another() { prop_is "$name" ActiveState active && ! prop_is "$name" MainPID "$main" && answers "/run/$name.sock"; }
	check "$program -n: killed, another one serves" until_true 20 is_another
	systemctl stop "$name"
	equal "$program -n: stopped" "$(prop "$name" ActiveState), $(prop "$name" Result)" "inactive, success"

	name=f-$(readlink -f $program | sed 's|.*/||')
	unit "$name" forking "-P /run/$name.pid" $program
	systemctl start "$name" || { explain "$name"; die "$program -P does not start"; }
	main=$(prop "$name" MainPID)
	equal "$program -P: the main process is the file's" "$(cat "/run/$name.pid")" "$main"
	equal "$program -P: it serves when the start has returned" "$(get "/run/$name.sock" "$pid")" "$main"
	equal "$program -P: as" "$(stat -c %U "/proc/$main")" www-data
	equal "$program -P: alone" "$(cgroup_pids "$name.service" | wc -l)" 1
	kill -KILL "$main"
	check "$program -P: killed, another one serves" until_true 20 is_another
	equal "$program -P: of the pid file systemd says" "$(journal "$name" | grep -ci 'pid file')" 0
	systemctl stop "$name"
	equal "$program -P: stopped" "$(prop "$name" ActiveState), $(prop "$name" Result)" "inactive, success"

	unit "bad-$name" forking "-P /run/bad.pid -d /missing" $program
	drop_in "bad-$name.service" Restart=no
	check "$program: a start that fails is one for systemd" eval '! systemctl start "bad-$name" 2>/dev/null'
	contains "$program: the reason is in the journal" <(journal "bad-$name") 'chdir'
done
