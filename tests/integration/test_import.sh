#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# berth import php-fpm: what becomes of keys and values, that berth accepts the result, and what is
# said of files that can't be read.
. "$(dirname "$0")/lib.sh"

NEW=$T/new.conf
# import TEXT FILE: it is imported, and berth accepts the result.
import() {
	"$BERTH" import php-fpm "$2" >"$NEW" 2>"$T/err"
	equal "$1: exit status" "$?" 0
	equal "$1: no complaint" "$(cat "$T/err")" ""
	check "$1: berth accepts it" "$BERTH" check -c "$NEW" >"$T/checked"
	contains "$1: check says so" "$T/checked" 'configuration OK$'
}
# has TEXT LINE, has_comment TEXT KEY REASON
has() { check "$1: $2" grep -Fxq -- "$2" "$NEW"; }
has_comment() {
	check "$1" awk -v key="; $2" -v reason="$3" \
		'last && index($0, reason) { found = 1 } { last = index($0, key) == 1 }
		END { exit !found }' "$NEW"
}

mkdir "$T/etc" "$T/etc/pool.d" "$T/etc/conf.d"
: >"$T/etc/php.ini"
cat >"$T/etc/php-fpm.conf" <<EOF
daemonize = yes
[global]
error_log = syslog
rlimit_files = 4096
process.max = 100
log_level = shout
include=$T/etc/pool.d/*.conf
include=$T/nowhere/*.conf
EOF
cat >"$T/etc/pool.d/one.conf" <<EOF
[one]
$USER_LINE
listen = $T/\$pool.sock
pm = dynamic
pm.max_children = 5
pm.max_children = 6
pm.min_spare_servers = 1
pm.max_spare_servers = 3
pm.process_idle_timeout = 10s;
env[A] = "a;b \"q\" c"
env[HOME] = \${HOME}
php_value[display_errors] = On
php_value[memory_limit] = 1M
php_admin_value[memory_limit] = 2M
php_flag[log_errors] = perhaps
php_admin_flag[html_errors] = off
php_admin_value[open_basedir] = '/srv:/tmp'
process.priority = 5
chroot = /srv
chdir = /
rlimit_core = unlimited
what.ever = 3
slowlog = log/\$pool.slow
access.suppress_path[] = /a
EOF
cat >"$T/etc/pool.d/two.conf" <<EOF
[two]
$USER_LINE
listen = 127.0.0.1:9000
listen.allowed_clients = 127.0.0.1,::1
pm = static
pm.max_children = 4
rlimit_files = 1024
security.limit_extensions = .php
env[PHP_INI_SCAN_DIR] = /srv/conf.d
[three]
$USER_LINE
prefix = /opt/x
listen = 9002
chdir = \$prefix/www
pm = ondemand
pm.max_children = 3
EOF
import "several pools" "$T/etc/php-fpm.conf"
has "limits that berth has" 'process.max = 100'
has "a socket for each worker" "listen = $T/\$pool-%n.sock"
has "a port for each worker" 'listen = 127.0.0.1:9000+%n'
has "ports of two pools differ" 'listen = 0.0.0.0:9004+%n'
contains "the ports are named" "$NEW" 'port of its own here: 9005 to 9007'
has "the last one counts" 'pm.max_children = 6'
has_comment "not the first one" 'pm.max_children = 5' 'line 6 counts'
has "a ';' ends a value" 'pm.process_idle_timeout = 10s'
has "quotes" 'env[A] = "a;b \"q\" c"'
has "the environment" 'env[HOME] = $HOME'
has "a word that stands for a number" 'php_value[display_errors] = 1'
has "of two settings the admin's" 'php_admin_value[memory_limit] = 2M'
has_comment "and not the other" 'php_value[memory_limit]' 'line 14 counts'
has_comment "a value that is none" 'php_flag[log_errors]' 'is not accepted'
has_comment "such a value in [global]" 'log_level = shout' 'is not accepted'
has_comment "a key of nobody" 'what.ever = 3' 'no such key'
has_comment "a key that is not there" 'slowlog = ' 'request_terminate_timeout'
has_comment "no syslog" 'error_log = syslog' 'journal'
has_comment "no background without a log" 'daemonize = yes' 'log file'
has "a prefix" 'chdir = /opt/x/www'
equal "the master's limit of files is for pools without one" \
	"$(grep -c '^rlimit_files = 4096' "$NEW")" 2
equal "php-fpm's php.ini" "$(grep -Ec "^program = php-cgi -c $T/etc/php.ini" "$NEW")" 3
equal "php-fpm's extensions" "$(grep -Fxc "env[PHP_INI_SCAN_DIR] = $T/etc/conf.d" "$NEW")" 2
contains "an include that matches nothing" "$NEW" 'php-fpm.conf:8: include .*no such file'
equal "each pool is told of its scripts' names" "$(grep -c '^; security.limit_ext' "$NEW")" 3

cat >"$T/again.conf" <<EOF
[global]
daemonize = yes
error_log = log/php-fpm.log
[www]
$USER_LINE
listen = 65530
pm = static
pm.max_children = 20
[Global]
pid = $T/pid
[WWW]
chdir = /
EOF
import "sections that are opened again" "$T/again.conf"
equal "one pool" "$(grep -c '^\[' "$NEW")" 2
has "the pool goes on" 'chdir = /'
has "a log below /var" 'error_log = /var/log/php-fpm.log'
has "so it may go into the background" 'daemonize = yes'
has "[global] goes on" "pid = $T/pid"
has "no port above the last" 'listen = 0.0.0.0:65515+%n'

# What is imported runs, with php-fpm's own settings and not those of php-cgi.
echo 'memory_limit = 61M' >"$T/etc/php.ini"
echo 'html_errors = 1' >"$T/etc/conf.d/x.ini"
cat >"$T/etc/run.conf" <<EOF
[www]
$USER_LINE
listen = $T/www.sock
pm = static
pm.max_children = 2
php_admin_value[user_agent] = "a;b"
EOF
import "a pool to run" "$T/etc/run.conf"
asks=$(script asks.php '<?php echo ini_get("memory_limit"), " ", ini_get("html_errors"), " ",
	ini_get("user_agent");')
berth_start -c "$NEW"
equal "the second worker" "$(get "$T/www-2.sock" "$asks")" '61M 1 a;b'
berth_stop

# refuses TEXT REASON FILE: status 100, the reason and nothing else.
refuses() {
	"$BERTH" import php-fpm "$3" >"$NEW" 2>"$T/err"
	equal "$1: exit status" "$?" 100
	contains "$1: reason" "$T/err" "$2"
	equal "$1: nothing is printed" "$(cat "$NEW")" ""
}
printf '[www]\nlisten = 9000\nuser www-data\n' >"$T/bad.conf"
refuses "no '='" "bad.conf:3: '=' is missing" "$T/bad.conf"
printf '[www\nlisten = 9000\n' >"$T/bad.conf"
refuses "no ']'" "bad.conf:1: ']' is missing" "$T/bad.conf"
printf 'include = %s\n' "$T/loop.conf" >"$T/loop.conf"
refuses "files that include themselves" 'inside of one another' "$T/loop.conf"
printf '[global]\n' >"$T/bad.conf"
refuses "no pool" 'there is no pool' "$T/bad.conf"
refuses "no file" "can't be read: No such file" "$T/none.conf"
"$BERTH" import spawn-fcgi x 2>"$T/err"
equal "another program: exit status" "$?" 100
contains "another program: what is accepted" "$T/err" 'berth import php-fpm FILE'

debian=$(ls /etc/php/*/fpm/php-fpm.conf 2>/dev/null | head -1)
if [ -r "$debian" ]; then
	import "Debian's own" "$debian"
	contains "Debian's own: its php.ini" "$NEW" "^program = php-cgi.* -c ${debian%/*}/php.ini"
fi
