#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# PHP settings of a pool: in force, unchanged by any character, fixed if they are an admin's, seen
# by nobody else, and gone from the disk.
. "$(dirname "$0")/lib.sh"

# Where berth may keep them for the start: nobody else writes there.
if [ "$(id -u)" = 0 ]; then
	own_network
	mount -t tmpfs tmpfs /run || die "/run can't be replaced"
	places=/run
else
	mkdir "$T/tmp"
	places=$T/tmp
fi
export TMPDIR=$T/tmp X=expanded
clean() { [ -z "$(ls -A "$places")" ]; }

# quote TEXT: as a value of the configuration.
quote() {
	local text=${1//\\/\\\\}
	printf '"%s"' "${text//\"/\\\"}"
}

odd='a "b" '\''c'\''; $x ${X} $X \n \\ C:\dir\ "" = e  two ?!|&~^(){}[PATH=/]# %s'
marks='from-5dd1,sec"ret'
settings=("php_value[memory_limit] = 77M" "php_flag[html_errors] = on"
	"php_admin_value[max_execution_time] = 31" "php_admin_flag[log_errors] = off"
	"php_admin_value[date.timezone] = Asia/Tokyo" "php_value[user_agent] = $(quote "$odd")"
	"php_admin_value[arg_separator.output] = $(quote "$odd")" "php_value[from] = $(quote "$marks")"
	"php_value[precision] = 9" "php_admin_value[session.name] = yes")

show=$(script show.php '<?php foreach (explode(" ", $_SERVER["NAMES"]) as $n) echo ini_get($n), "\n";')
change=$(script change.php '<?php
foreach (["memory_limit" => "99M", "max_execution_time" => "44", "date.timezone" => "UTC",
	"log_errors" => "1", "precision" => "11"] as $n => $v)
	echo $n, " ", ini_set($n, $v) === false ? "refused" : "changed", " ", ini_get($n), "\n";')

# in_force TEXT: what scripts of any slot see.
in_force() {
	local slot
	for slot in 1 4; do
		equal "$1: values in slot $slot" "$(get "$T/www-$slot.sock" "$show" \
			"NAMES=memory_limit html_errors max_execution_time log_errors date.timezone precision session.name" |
			xargs)" "77M 1 31 0 Asia/Tokyo 9 yes"
	done
	equal "$1: odd value" "$(get "$T/www-1.sock" "$show" NAMES=user_agent)" "$odd"
	equal "$1: odd admin value" "$(get "$T/www-2.sock" "$show" NAMES=arg_separator.output)" "$odd"
	equal "$1: quotes" "$(get "$T/www-1.sock" "$show" NAMES=from)" "$marks"
	equal "$1: ini_set()" "$(get "$T/www-3.sock" "$change" | paste -sd,)" \
		"memory_limit changed 99M,max_execution_time refused 31,date.timezone refused Asia/Tokyo,log_errors refused 0,precision changed 11"
	equal "$1: the next request finds them as they were" "$(get "$T/www-3.sock" "$show" \
		'NAMES=memory_limit precision' | xargs)" "77M 9"
}

# user_ini TEXT: a folder's .user.ini changes plain values only.
user_ini() {
	local asked
	mkdir -p "$T/site"
	printf '%s\n' 'memory_limit = 88M' 'max_execution_time = 55' 'log_errors = on' \
		'date.timezone = UTC' >"$T/site/.user.ini"
	cp "$show" "$T/site/show.php"
	chmod -R a+rX "$T/site"
	asked=$(get "$T/www-1.sock" "$T/site/show.php" "DOCUMENT_ROOT=$T/site" \
		'NAMES=memory_limit max_execution_time log_errors date.timezone' | xargs)
	equal "$1: .user.ini" "$asked" "88M 31 0 Asia/Tokyo"
}

# hidden TEXT PID...: no process shows a setting in its command line or environment.
hidden() {
	local text=$1 pid
	shift
	check "$text: processes" test $# -gt 3
	for pid; do
		equal "$text: pid $pid shows nothing" \
			"$(cat "/proc/$pid/cmdline" "/proc/$pid/environ" | grep -aEc '77M|5dd1|memory_limit|Tokyo')" 0
	done
}

pool_conf "${settings[@]}"
berth_start
check "template: nothing is left on the disk" clean
in_force "template"
user_ini "template"
hidden "template" "$MANAGER" $(template_pid) $(workers)
get "$T/www-1.sock" "$(script end.php '<?php posix_kill(getmypid(), 9);')" >/dev/null 2>&1
in_force "after a worker was killed"
old=$(template_pid)
kill -KILL "$old"
until_true 20 grep -q 'www: new template' "$LOG" || fail "no new template"
check "new template: nothing is left on the disk" until_true 5 clean
until_true 20 all_gone "$old"
in_force "new template"
berth_stop
equal "template: exit status" "$STATUS" 0
check "template: nothing is left after the stop" clean

pool_conf "${settings[@]}" 'spawn = exec'
berth_start
in_force "exec"
user_ini "exec"
# They read the folder at each start, so it stays; it is no secret to the pool's group only.
equal "exec: others can't read them" "$(find "$places" -name '*.ini' -perm /007 | wc -l)" 0
get "$T/www-1.sock" "$T/end.php" >/dev/null 2>&1
in_force "exec, after a worker was killed"
berth_stop
check "exec: nothing is left after the stop" clean

# A start that fails leaves nothing either.
for spawn in template exec; do
	pool_conf "${settings[@]}" "spawn = $spawn"
	sed -i 's/^program = .*/program = false/' "$T/berth.conf"
	berth_fails
	equal "failed start, $spawn: exit status" "$STATUS" 111
	check "failed start, $spawn: nothing is left" clean
done

# What stands in the environment of berth does not come in by a value.
pool_conf 'php_value[user_agent] = ${X}' 'php_admin_value[from] = "${X} \${X}"'
berth_start
equal "no expansion" "$(get "$T/www-1.sock" "$show" 'NAMES=user_agent from' | paste -sd,)" \
	'${X},${X} \${X}'
berth_stop
