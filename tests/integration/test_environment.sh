#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What a script, and a program that it starts, find in their environment.
. "$(dirname "$0")/lib.sh"

# The environment as the kernel, getenv() and a started program show it, a variable a line.
kernel=$(script kernel.php '<?php
echo implode("\n", array_filter(explode("\0", file_get_contents("/proc/self/environ")), "strlen")), "\n";')
own=$(script own.php '<?php foreach (explode(" ", $_SERVER["NAMES"]) as $n) {
	$v = getenv($n, true); echo $v === false ? "" : "$n=$v\n"; }')
started=$(script started.php '<?php
$p = proc_open(["/usr/bin/env"], [1 => ["pipe", "w"]], $pipes);
echo stream_get_contents($pipes[1]); proc_close($p);')
ini=$(script ini.php '<?php echo ini_get("memory_limit"), " ", ini_get("user_agent"), "\n";')

# Otherwise /proc/self/environ belongs to root.
readable="process.dumpable = yes"
if [ "$(id -u)" = 0 ]; then user=www-data; else user=$(id -un); fi
home=$(getent passwd "$user" | cut -d: -f6)

# sees TEXT NAME=VALUE...: all three views show exactly these.
sees() {
	local text=$1 wanted names
	shift
	wanted=$(printf '%s\n' "$@" | sort | paste -sd'|')
	names=$(printf '%s\n' "$@" LD_PRELOAD BERTH_TEMPLATE PHP_INI_SCAN_DIR PATH SECRET_OF_MANAGER \
		PHP_FCGI_CHILDREN NOTIFY_SOCKET LISTEN_FDS | cut -d= -f1 | sort -u | xargs)
	equal "$text: the kernel's view" "$(get "$T/www-1.sock" "$kernel" | sort | paste -sd'|')" "$wanted"
	equal "$text: getenv()" "$(get "$T/www-2.sock" "$own" "NAMES=$names" | sort | paste -sd'|')" "$wanted"
	equal "$text: a started program" "$(get "$T/www-3.sock" "$started" | sort | paste -sd'|')" "$wanted"
}

# one_family TEXT: a template, 4 workers, and no children of theirs.
one_family() { equal "$1: processes" "$(descendants "$MANAGER" | wc -l)" 6; }

export SECRET_OF_MANAGER='not for scripts' VALUE_OF_MANAGER='a "b"; $c = d' PHP_FCGI_CHILDREN=2
pool_conf "$readable" 'env[PLAIN] = some value' 'env[TAKEN] = $VALUE_OF_MANAGER' 'env[LITERAL] = $$VALUE_OF_MANAGER'
berth_start
sees "cleared" "USER=$user" "HOME=$home" PHP_FCGI_MAX_REQUESTS=0 "PLAIN=some value" \
	"TAKEN=$VALUE_OF_MANAGER" 'LITERAL=$VALUE_OF_MANAGER'
one_family "cleared"
equal "the template's environment" \
	"$(tr '\0' '\n' <"/proc/$(template_pid)/environ" | grep -c .)" 6
berth_stop

pool_conf "$readable" 'php_value[memory_limit] = 77M'
berth_start
sees "with PHP settings" "USER=$user" "HOME=$home" PHP_FCGI_MAX_REQUESTS=0
equal "with PHP settings: they are in force" "$(get "$T/www-1.sock" "$ini")" "77M "
berth_stop

mkdir "$T/own ini"
echo 'user_agent = own' >"$T/own ini/x.ini"
chmod -R a+rX "$T/own ini"
pool_conf "$readable" "env[PHP_INI_SCAN_DIR] = $T/own ini" 'php_value[memory_limit] = 77M'
berth_start
sees "own folder of settings" "USER=$user" "HOME=$home" PHP_FCGI_MAX_REQUESTS=0 \
	"PHP_INI_SCAN_DIR=$T/own ini"
equal "own folder of settings: both are in force" "$(get "$T/www-1.sock" "$ini")" "77M own"
berth_stop

pool_conf "$readable" 'env[USER] = somebody' 'env[PHP_FCGI_MAX_REQUESTS] = 3' 'env[PATH] = /bin'
berth_start
sees "own values" USER=somebody "HOME=$home" PHP_FCGI_MAX_REQUESTS=3 PATH=/bin
berth_stop

# With clear_env = no the manager's variables are there, but not what is the manager's alone.
printf '#!/bin/sh\nexec env -i %s "%s" "$@"\n' "'PATH=$PATH' 'SECRET_OF_MANAGER=a b' USER=root \
HOME=/root PHP_FCGI_CHILDREN=2 PHP_FCGI_MAX_REQUESTS=1 FCGI_WEB_SERVER_ADDRS=10.9.8.7 \
NOTIFY_SOCKET=/nowhere WATCHDOG_USEC=100000000 WATCHDOG_PID=1 LISTEN_FDS=1 LISTEN_PID=1 \
LISTEN_FDNAMES=x MAINPID=1" "$BERTH" >"$T/with-variables"
chmod 755 "$T/with-variables"
real=$BERTH
BERTH=$T/with-variables
pool_conf "$readable" 'clear_env = no' 'env[PLAIN] = some value'
berth_start
sees "inherited" "PATH=$PATH" "SECRET_OF_MANAGER=a b" "USER=$user" "HOME=$home" \
	PHP_FCGI_MAX_REQUESTS=0 "PLAIN=some value"
one_family "inherited"
berth_stop

pool_conf 'clear_env = no' 'spawn = exec'
berth_start
equal "executed: the kernel's view" "$(get "$T/www-1.sock" "$kernel" | sort | paste -sd'|')" \
	"$(printf '%s\n' "PATH=$PATH" "SECRET_OF_MANAGER=a b" "USER=$user" "HOME=$home" \
		PHP_FCGI_MAX_REQUESTS=0 | sort | paste -sd'|')"
equal "executed: processes" "$(descendants "$MANAGER" | wc -l)" 5
berth_stop

# A library that the manager's user preloads everywhere stays preloaded, ours is taken off.
library=$(PATH=$PATH:/sbin:/usr/sbin ldconfig -p | awk '/libm\.so\.6/ { print $NF; exit }')
if ldd "$real" | grep -q libasan; then
	say "      (a sanitized berth allows no other library in front: LD_PRELOAD is not tried)"
else
	printf '#!/bin/sh\nexec env -i "LD_PRELOAD=%s" "%s" "$@"\n' "$library" "$real" >"$T/with-variables"
	pool_conf "$readable" 'clear_env = no'
	berth_start
	sees "preloaded library" "LD_PRELOAD=$library" "USER=$user" "HOME=$home" PHP_FCGI_MAX_REQUESTS=0
	equal "preloaded library: it is there" "$(grep -c "${library##*/}" "/proc/$MANAGER/maps" |
		awk '{ print ($1 > 0) }')" 1
	berth_stop
fi
equal "exit status" "$STATUS" 0
