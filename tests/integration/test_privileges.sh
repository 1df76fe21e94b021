#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Who the template and the workers are: user, group, supplementary groups, and root only if asked.
. "$(dirname "$0")/lib.sh"

[ "$(id -u)" = 0 ] || skip "becoming somebody else needs root"
# In a mount namespace the user database can have what this test needs.
own_network
cp /etc/passwd "$T/passwd"
cp /etc/group "$T/group"
echo 'berth-test:x:54320:54320::/nowhere:/bin/sh' >>"$T/passwd"
printf '%s\n' 'berth-test:x:54320:' 'berth-a:x:54321:berth-test' 'berth-b:x:54322:root,berth-test' \
	'berth-c:x:54323:root' >>"$T/group"
mount --bind "$T/passwd" /etc/passwd && mount --bind "$T/group" /etc/group ||
	die "the user database can't be replaced"

who=$(script who.php '<?php echo posix_geteuid(), " ", posix_getegid(), "\n";')
install -d -m 777 "$T/out"
preload=$(script preload.php "<?php file_put_contents('$T/out/preload', posix_getuid() . ' ' .
	posix_geteuid() . ' ' . posix_getegid());")
start=(--listen "$T/www-%n.sock" --children 2)

# status PID KEY: its values in /proc/PID/status.
status() { awk -v key="$2:" '$1 == key { $1 = ""; sub(/^ /, ""); print }' "/proc/$1/status"; }

# identities TEXT UID GID GROUPS: of the template and all workers.
identities() {
	local text=$1 pid
	check "$text: workers" test "$(workers | wc -w)" -gt 0
	for pid in $(template_pid) $(workers); do
		equal "$text: uids" "$(status "$pid" Uid)" "$2 $2 $2 $2"
		equal "$text: gids" "$(status "$pid" Gid)" "$3 $3 $3 $3"
		equal "$text: groups" "$(status "$pid" Groups | tr ' ' '\n' | sort -n | xargs)" "$4"
		[ "$2" = 0 ] || equal "$text: capabilities" \
			"$(status "$pid" CapPrm)/$(status "$pid" CapEff)" 0000000000000000/0000000000000000
	done
	equal "$text: what PHP says" "$(get "$T/www-1.sock" "$who")" "$2 $3"
}

# runs TEXT UID GID GROUPS ARG...: starts, looks, stops.
runs() {
	local seen=("${@:1:4}")
	shift 4
	berth_start "$@"
	identities "${seen[@]}"
	berth_stop
}

# refused TEXT PATTERN ARG...: exit status 100, a reason, and nothing was started.
refused() {
	local text=$1 pattern=$2
	shift 2
	berth_fails "$@"
	equal "$text: exit status" "$STATUS" 100
	contains "$text: the reason" "$LOG" "$pattern"
	equal "$text: no socket" "$(find "$T" -type s | wc -l)" 0
}

# with_lines LINE...: a configuration of two workers.
with_lines() {
	conf "[www]
listen = $T/www-%n.sock
pm.max_children = 2
$(printf '%s\n' "$@")"
}

with_lines
refused "no user" "^berth: $T/berth.conf:1: user: pool www would run as root; .*--allow-to-run-as-root" \
	-c "$T/berth.conf"
runs "no user, -R" 0 0 "$(status $$ Groups | tr ' ' '\n' | sort -n | xargs)" -c "$T/berth.conf" -R
refused "no --user" "^berth: command line: --user: .*--allow-to-run-as-root" "${start[@]}"
runs "no --user, --allow-to-run-as-root" 0 0 "$(status $$ Groups | tr ' ' '\n' | sort -n | xargs)" \
	"${start[@]}" --allow-to-run-as-root

with_lines 'user = root'
refused "user root" "berth.conf:4: user: is root.*--allow-to-run-as-root" -c "$T/berth.conf"
with_lines 'user = 0'
refused "user 0" "berth.conf:4: user: is root.*--allow-to-run-as-root" -c "$T/berth.conf"
with_lines 'user = berth-test' 'group = root'
refused "group root" "berth.conf:5: group: .*group root" -c "$T/berth.conf"
with_lines 'group = berth-a'
refused "group without user" "berth.conf:4: group: is given without user" -c "$T/berth.conf"
with_lines 'user = berth-nobody-at-all'
refused "unknown user" "berth.conf:4: user: there is no user berth-nobody-at-all" -c "$T/berth.conf"
with_lines 'user = berth-test' 'group = berth-nobody-at-all'
refused "unknown group" "berth.conf:5: group: there is no group berth-nobody-at-all" -c "$T/berth.conf"
with_lines 'user = 54999'
refused "number that is nobody's" "berth.conf:4: user: .*group" -c "$T/berth.conf"
refused "unknown --user" "command line: --user: there is no user berth-nobody-at-all" \
	"${start[@]}" --user berth-nobody-at-all

with_lines 'user = berth-test' \
	"program = $PHP -d opcache.enable=1 -d 'opcache.preload=$preload'"
runs "a user with groups" 54320 54320 "54320 54321 54322" -c "$T/berth.conf"
equal "a preloaded script runs as the user" "$(cat "$T/out/preload")" "54320 54320 54320"
equal "and what it writes is the user's" "$(stat -c '%u %g' "$T/out/preload")" "54320 54320"

with_lines 'user = berth-test' 'group = berth-c'
runs "another group" 54320 54323 "54321 54322 54323" -c "$T/berth.conf"
with_lines 'user = 54999' 'group = 54998'
runs "numbers that are nobody's" 54999 54998 54998 -c "$T/berth.conf"
runs "--user" 54320 54320 "54320 54321 54322" "${start[@]}" --user berth-test
runs "--user and --group" 54320 54321 "54321 54322" "${start[@]}" --user berth-test --group berth-a

# Executed workers become the same.
with_lines 'user = berth-test' 'spawn = exec'
berth_start
for pid in $(children "$MANAGER"); do
	equal "exec: uid, gid" "$(status "$pid" Uid)/$(status "$pid" Gid)" \
		"54320 54320 54320 54320/54320 54320 54320 54320"
	equal "exec: groups" "$(status "$pid" Groups)" "54320 54321 54322"
done
berth_stop

# An ordinary user's berth takes such a file as well, with a word about what it can't do.
install -d -m 755 "$T/program" "$T/program/worker"
install -d -m 700 -o nobody -g nogroup "$T/own"
install -m 755 "$BERTH" "$T/program/berth"
install -m 644 "$(dirname "$BERTH")/worker/libberth-worker.so" "$T/program/worker/"
printf '#!/bin/sh\nexec setpriv --reuid=nobody --regid=nogroup --clear-groups env "TMPDIR=%s" "%s" "$@"\n' \
	"$T/own" "$T/program/berth" >"$T/as-nobody"
chmod 755 "$T/as-nobody"
BERTH=$T/as-nobody
conf "[www]
listen = $T/own/www-%n.sock
pm.max_children = 2
user = www-data
group = www-data
listen.owner = www-data
php_admin_value[memory_limit] = 77M"
berth_start
for key in user group listen.owner; do
	contains "ordinary user: $key is noticed" "$LOG" \
		"^berth: warning: $T/berth.conf:[456]: $key: ignored"
done
own_uid=$(id -u nobody)
for pid in $(template_pid) $(workers); do
	equal "ordinary user: uid" "$(status "$pid" Uid)" "$own_uid $own_uid $own_uid $own_uid"
done
equal "ordinary user: it works" "$(get "$T/own/www-2.sock" "$who")" "$own_uid $(id -g nobody)"
equal "ordinary user: the socket's owner" "$(stat -c %U "$T/own/www-1.sock")" nobody
limit=$(script limit.php '<?php var_dump(ini_set("memory_limit", "78M"), ini_get("memory_limit"));')
equal "ordinary user: PHP settings" "$(get "$T/own/www-1.sock" "$limit" | xargs)" "bool(false) string(3) 77M"
berth_stop
equal "ordinary user: exit status" "$STATUS" 0
equal "ordinary user: no socket is left" "$(ls "$T/own")" ""
