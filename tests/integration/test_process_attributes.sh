#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# rlimits, priority, umask, dumpable and cgroup, as a worker has them, and what is said if one
# can't be had.
. "$(dirname "$0")/lib.sh"

pid=$(script pid.php '<?php echo getmypid();')
mkdir "$T/drop"
chmod 777 "$T/drop"
made=$(script made.php '<?php @unlink("'"$T"'/drop/made"); touch("'"$T"'/drop/made");
	echo decoct(fileperms("'"$T"'/drop/made") & 0777);')

# limit PID NAME: soft and hard.
limit() { awk -v n="$2" 'index($0, n) == 1 { $0 = substr($0, 27); print $1, $2 }' "/proc/$1/limits"; }
nice_of() { awk '{ sub(/.*\) /, ""); print $17 }' "/proc/$1/stat"; }
# attributes TEXT PID WANTED
attributes() {
	equal "$1: files core as data nproc nice" "$(limit "$2" 'Max open files') $(limit "$2" \
		'Max core file size') $(limit "$2" 'Max address space') $(limit "$2" \
		'Max data size') $(limit "$2" 'Max processes') $(nice_of "$2")" "$3"
}

settings=("rlimit_files = 321" "rlimit_core = 1M" "rlimit_as = 4G" "rlimit_data = 2G"
	"rlimit_nproc = 3000" "process.priority = 7" "umask = 0027")
wanted="321 321 1048576 1048576 4294967296 4294967296 2147483648 2147483648 3000 3000 7"
pool_conf "${settings[@]}"
berth_start
own_nice=$(nice_of "$MANAGER")
attributes "worker" "$(get "$T/www-1.sock" "$pid")" "$wanted"
attributes "template" "$(template_pid)" "$wanted"
equal "a file that a script makes" "$(get "$T/www-1.sock" "$made")" 640
check "the manager has none of these" test "$(limit "$MANAGER" 'Max core file size')" != \
	"1048576 1048576"
# They are read anew at a reload; what is not set is the manager's.
pool_conf "umask = 0"
kill -HUP "$MANAGER"
reloaded() { grep -q 'reload: done' "$LOG"; }
until_true 20 reloaded || die "it does not reload"
equal "after a reload: a file that a script makes" "$(get "$T/www-1.sock" "$made")" 666
equal "after a reload: nice" "$(nice_of "$(get "$T/www-1.sock" "$pid")")" "$own_nice"
berth_stop
equal "exit status" "$STATUS" 0

conf "[www]
listen = $T/www-%n.sock
pm = static
pm.max_children = 2
spawn = exec
program = $PHP
$USER_LINE
$(printf '%s\n' "${settings[@]}")"
berth_start
attributes "executed worker" "$(get "$T/www-1.sock" "$pid")" "$wanted"
equal "executed worker: a file" "$(get "$T/www-1.sock" "$made")" 640
berth_stop

# [global] process.priority is berth's own, and that of pools that say nothing else.
conf "[global]
process.priority = 3
[a]
listen = $T/a.sock
pm.max_children = 1
$USER_LINE
[b]
listen = $T/b.sock
pm.max_children = 1
process.priority = 5
$USER_LINE"
berth_start
equal "nice of the manager and of two pools" "$(nice_of "$MANAGER") $(nice_of "$(get "$T/a.sock" \
	"$pid")") $(nice_of "$(get "$T/b.sock" "$pid")")" "3 3 5"
berth_stop

# What can't be had is said before anything serves.
pool_conf "rlimit_files = 1073741816"
berth_fails
equal "too many files: exit status" "$STATUS" 111
contains "too many files: the reason" "$LOG" 'cannot set rlimit_files: Operation not permitted'
pool_conf "cgroup = $T"
berth_fails
equal "no cgroup: exit status" "$STATUS" 111
contains "no cgroup: the reason" "$LOG" \
	"cgroup $T: it is not a folder of a cgroup file system of version 2"

if [ "$(id -u)" = 0 ]; then
	# /proc/PID belongs to root if the process may not be dumped.
	owner() { stat -c %U "/proc/$1/io"; }
	pool_conf
	berth_start
	equal "dumpable: no" "$(owner "$(get "$T/www-1.sock" "$pid")") $(owner "$(template_pid)")" \
		"root root"
	berth_stop
	pool_conf "process.dumpable = yes"
	berth_start
	equal "dumpable: yes" "$(owner "$(get "$T/www-1.sock" "$pid")") $(owner \
		"$(template_pid)")" "www-data www-data"
	berth_stop
fi

# A cgroup of our own below the one that we are in.
root=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
group=$root$(awk -F: '$1 == 0 { print $3 }' /proc/self/cgroup)/berth-test-$$
if [ -z "$root" ] || ! mkdir "$group" 2>/dev/null; then
	say "SKIP  cgroup: no hierarchy of version 2 that can be written"
	exit
fi
# It can be removed when the processes in it are gone.
leave() {
	local status=$?
	( (exit $status); cleanup )
	status=$?
	until_true 5 rmdir "$group" 2>/dev/null
	exit $status
}
trap leave EXIT
pool_conf "cgroup = $group"
berth_start
worker=$(get "$T/www-1.sock" "$pid")
equal "cgroup: its processes" "$(sort -n "$group/cgroup.procs" | xargs)" \
	"$(printf '%s\n' "$(template_pid)" $(workers) | sort -n | xargs)"
check "cgroup: the worker is in it" grep -qx "$worker" "$group/cgroup.procs"
berth_stop
equal "exit status" "$STATUS" 0
equal "cgroup: it is empty in the end" "$(cat "$group/cgroup.procs")" ""
pool_conf "cgroup = $group/none"
berth_fails
contains "missing cgroup: the reason" "$LOG" "cgroup $group/none: No such file or directory"
