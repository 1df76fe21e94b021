#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# chroot: the program starts outside with all that it needs, its scripts run inside, where nothing
# else is: no library, no php.ini, no device.
. "$(dirname "$0")/lib.sh"
[ "$(id -u)" = 0 ] || skip "only root can change a root folder"

jail=$T/jail
mkdir -p "$jail/app/sub" "$jail/up"
chmod 777 "$jail/up"
mkdir "$T/ini"
echo 'user_agent = from-outside' >"$T/ini/outside.ini"
chmod -R a+rX "$T/ini"
inside() { printf '%s' "$2" >"$jail/app/$1" && chmod 644 "$jail/app/$1"; }
inside where.php '<?php echo implode(" ", array_diff(scandir("/"), [".", ".."])), "|",
	extension_loaded("ctype") ? "ctype" : "", "|", ini_get("user_agent"), "|",
	ini_get("precision"), "|", ini_set("assert.active", "1") === false ? "fixed" : "free", "|",
	ini_get("serialize_precision"), "|", posix_geteuid(), "\n";'
inside cwd.php '<?php chdir("."); echo $_SERVER["TOKEN"], __DIR__, "\n";'
inside write.php '<?php file_put_contents("/up/made", "x"); echo "written\n";'
inside fork.php '<?php $pid = pcntl_fork(); if ($pid === 0) { echo "from the copy"; exit(0); }
	pcntl_waitpid($pid, $status); echo "parent ", pcntl_wexitstatus($status), "\n";'
inside pid.php '<?php echo getmypid(), "\n";'
inside execute.php '<?php echo var_export(@exec("/bin/true", $out, $status)),  "\n";'

jail_conf() {
	pool_conf "chroot = $jail" "env[PHP_INI_SCAN_DIR] = :$T/ini" "php_value[precision] = 5" \
		"php_admin_value[serialize_precision] = 6" "$@"
}
jail_conf
berth_start
equal "inside" "$(get "$T/www-1.sock" /app/where.php)" "app up|ctype|from-outside|5|free|6|$(id -u www-data)"
equal "a script outside is not found" "$(get "$T/www-1.sock" "$(script out.php '<?php echo 1;')" \
	2>/dev/null)" "No input file specified."
equal "it writes" "$(get "$T/www-2.sock" /app/write.php)" "written"
check "it has written inside" test -s "$jail/up/made"
equal "a copy of a worker" "$(get "$T/www-2.sock" /app/fork.php)" "parent 0"
equal "programs are looked for inside" "$(get "$T/www-2.sock" /app/execute.php)" false
root_of() { readlink "/proc/$1/root"; }
for p in $(descendants "$MANAGER"); do
	[ "$p" = "$MANAGER" ] || equal "root folder of pid $p" "$(root_of "$p")" "$jail"
done
equal "processes: the manager, the template and four workers" \
	"$(descendants "$MANAGER" | wc -l)" 6
equal "the manager's own root folder" "$(root_of "$MANAGER")" /
contains "it holds nothing above" <(ls -l "/proc/$(template_pid)/cwd") "-> $jail\$"

# The next template, after its death and after a reload, and its workers.
old=$(template_pid)
kill -9 "$old"
new_template() { [ -n "$(template_pid)" ] && [ "$(template_pid)" != "$old" ] &&
	[ "$(workers | wc -w)" = 4 ]; }
check "a template follows a dead one" until_true 20 new_template
equal "it is inside" "$(root_of "$(template_pid)")" "$jail"
kill -HUP "$MANAGER"
reloaded() { grep -q 'reload: done' "$LOG"; }
check "it reloads" until_true 20 reloaded
worker=$(get "$T/www-3.sock" /app/pid.php)
equal "a worker after a reload is inside" "$(root_of "$worker")" "$jail"
check "no error in the log" test "$(grep -c ' error: ' "$LOG")" = 0
berth_stop
equal "exit status" "$STATUS" 0

jail_conf "chdir = /app/sub"
berth_start
equal "chdir is inside" "$(readlink "/proc/$(template_pid)/cwd")" "$jail/app/sub"
berth_stop
jail_conf "chdir = /none"
berth_fails
equal "chdir to nowhere: exit status" "$STATUS" 111
contains "chdir to nowhere: the reason" "$LOG" \
	"chroot to $jail and chdir to /none: No such file or directory"
pool_conf "chroot = $T/none"
berth_fails
equal "no such folder: exit status" "$STATUS" 111
contains "no such folder: the reason" "$LOG" "pool www: chroot $T/none: No such file or directory"
check "no socket is left" test ! -e "$T/www-1.sock"

# A reload to one that is not there changes nothing.
jail_conf
berth_start
pool_conf "chroot = $T/none"
kill -HUP "$MANAGER"
refused() { grep -q 'reload: nothing was changed: pool www: chroot' "$LOG"; }
check "a reload to a missing folder is refused" until_true 20 refused
equal "the old one serves" "$(get "$T/www-1.sock" /app/pid.php | wc -l)" 1
berth_stop
equal "exit status" "$STATUS" 0
