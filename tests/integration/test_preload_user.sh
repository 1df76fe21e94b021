#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# opcache.preload: for the user of the pool, for another one, and one that fails at a reload.
. "$(dirname "$0")/lib.sh"

user=$([ "$(id -u)" = 0 ] && echo www-data || id -un)
: >"$T/by"
chmod 666 "$T/by"
preload=$(script preload.php "<?php file_put_contents('$T/by', posix_getuid()); function preloaded() { return 1; }")
hello=$(script hello.php '<?php echo preloaded(), " as ", posix_getuid();')
# Writes down who preloads.
php_conf() {
	: >"$T/by"
	pool_conf
	sed -i "s|^program = .*|program = $PHP -d opcache.enable=1 -d 'opcache.preload=$1' ${2:-}|" "$T/berth.conf"
}

php_conf "$preload"
berth_start
uid=$(id -u "$user")
for n in 1 4; do
	equal "slot $n has what was preloaded" "$(get "$T/www-$n.sock" "$hello")" "1 as $uid"
done

# A reload that can't preload changes nothing.
pids=$(workers)
echo '<?php this is not PHP' >"$T/broken.php"
php_conf "$T/broken.php"
kill -HUP "$MANAGER"
check "a preload that fails is said" until_true 20 grep -q "error: reload: .*broken.php" "$LOG"
equal "and changes nothing" "$(workers)" "$pids"
equal "it answers" "$(get "$T/www-1.sock" "$hello")" "1 as $uid"
berth_stop

# PHP does not preload as root without a user to do it as. The pool's processes are not root.
if [ "$(id -u)" = 0 ]; then
	php_conf "$preload" "-d opcache.preload_user=nobody"
	berth_start
	equal "the pool's user comes first" "$(get "$T/www-1.sock" "$hello")" "1 as $uid"
	equal "and that was" "$(cat "$T/by")" "$uid"
	berth_stop
	sed -i 's/^user = .*/user = root/' "$T/berth.conf"
	sed -i "s| -d opcache.preload_user=nobody||" "$T/berth.conf"
	berth_fails -R -c "$T/berth.conf"
	equal "as root without preload_user: status" "$STATUS" 111
	contains "as root without preload_user: the reason" "$LOG" "opcache.preload_user"
	: >"$T/by"
	sed -i "s|^program = .*|& -d opcache.preload_user=$user|" "$T/berth.conf"
	berth_start -R -c "$T/berth.conf"
	equal "as root, preloaded as another user" "$(get "$T/www-1.sock" "$hello")" "1 as 0"
	equal "and that was" "$(cat "$T/by")" "$uid"
	berth_stop
fi
