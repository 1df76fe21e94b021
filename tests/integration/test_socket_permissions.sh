#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Who may connect: mode, owner and group of the socket files, whatever umask berth has.
. "$(dirname "$0")/lib.sh"

# What a script, and a program that it starts, have as umask.
umasks=$(script umask.php '<?php printf("%03o ", umask()); echo trim(`umask`);')
body=$(script ok.php '<?php echo "ok";')
modes() { stat -c "${1:-%a}" "$T"/www-?.sock | sort -u | xargs; }
root() { [ "$(id -u)" = 0 ]; }

for mask in 000 022 077; do
	for mode in template exec; do
		# Executed workers are ready after a second only: one umask will do for them.
		[ $mode = template ] || [ $mask = 077 ] || continue
		pool_conf "spawn = $mode"
		umask $mask
		berth_start
		umask 022
		equal "umask $mask, $mode: mode of the sockets" "$(modes)" 660
		equal "umask $mask, $mode: what scripts see" \
			"$(get "$T/www-3.sock" "$umasks")" "$mask 0$mask"
		berth_stop
	done
done

for mode in 0600 0666 0000 0777; do
	pool_conf "listen.mode = $mode"
	berth_start
	equal "listen.mode = $mode" "0$(printf %03d "$(modes)")" "$mode"
	berth_stop
done

# Stopped after each bind and before each listen, berth shows every mode that a file ever has.
seen=$T/seen
watch_files() {
	while :; do
		stat -c '%a %n' "$T"/www-?.sock 2>/dev/null
		sleep 0.005
	done >"$seen"
}
if strace -o /dev/null -e trace=bind true 2>/dev/null; then
	cat >"$T/slowly" <<-S
		#!/bin/sh
		exec strace -o "$T/strace" -e 'trace=bind,listen,/ch(own|mod)' -e inject=bind:delay_exit=100000 \
			-e inject=listen:delay_enter=100000 "$BERTH" "\$@"
	S
	chmod 755 "$T/slowly"
	pool_conf
	watch_files &
	watcher=$!
	umask 000
	BERTH=$T/slowly berth_start
	umask 022
	kill "$watcher"
	wait "$watcher" 2>/dev/null
	equal "files that appeared" "$(cut -d' ' -f2- "$seen" | sort -u | wc -l)" 4
	equal "every mode that they had meanwhile" "$(cut -d' ' -f1 "$seen" | sort -u | xargs)" 660
	! root || equal "sockets that listened before they had their owner" "$(awk '
		/^bind/ { owner = 0 } /^[a-z]*chown/ { owner = 1 } /^listen/ && !owner' "$T/strace" |
		wc -l)" 0
	# The pid is strace's; berth is its child.
	kill -TERM "$(children "$MANAGER" | xargs)"
	until_true 20 gone "$MANAGER" || die "berth did not stop"
else
	say "skip  no strace: a wider mode for a short time"
fi

root || {
	say "skip  owner, group and other users: only root can give files away"
	exit
}

pool_conf
berth_start
equal "owner and group by default: the pool's user's" "$(modes %U:%G)" www-data:www-data
check "no warning about the folder" test -z "$(grep 'shuts out' "$LOG")"
nginx_start "$(upstream_servers 4)"
for i in 1 2 3 4; do
	equal "nginx as www-data gets in by default" \
		"$(curl -s "http://127.0.0.1:$NGINX_PORT/ok.php")" ok
done
# Nobody else does, apart from root.
as_nobody() { setpriv --reuid=nobody --regid=nogroup --clear-groups "$(helper fcgi-get)" "$@"; }
equal "nobody does not" "$(as_nobody "$T/www-1.sock" "$body" 2>&1 | grep -c 'Permission denied')" 1
berth_stop

pool_conf "listen.owner = root" "listen.group = nogroup" "listen.mode = 0620"
berth_start
equal "listen.owner, listen.group, listen.mode" "$(modes %U:%G:%a)" root:nogroup:620
equal "the group gets in: write permission is what counts" "$(as_nobody "$T/www-1.sock" "$body")" ok
equal "others don't: nginx's answer" \
	"$(curl -s -o "$T/page" -w '%{http_code}' "http://127.0.0.1:$NGINX_PORT/ok.php")" 502
contains "nginx's reason" "$T/nginx.log" '13: Permission denied'
berth_stop

# A folder that the socket's group can't pass.
# in_folder OWNER MODE: sockets in a folder like that.
in_folder() {
	rm -rf "$T/folder"
	mkdir -m "$2" "$T/folder"
	chown "$1" "$T/folder"
	pool_conf
	sed -i "s|^listen = .*|listen = $T/folder/www-%n.sock|" "$T/berth.conf"
	berth_start
	berth_stop
}
in_folder root:root 700
contains "folder root:root 0700: a warning" "$LOG" "warning: .*$T/folder .*0700.* shuts out group"
equal "one, not one a slot" "$(grep -c 'shuts out' "$LOG")" 1
in_folder root:www-data 700
contains "folder root:www-data 0700: a warning" "$LOG" "warning: .*$T/folder .* shuts out group"
for ok in "root:www-data 750" "root:root 711" "root:root 755"; do
	in_folder $ok
	check "folder $ok: no warning" test -z "$(grep 'shuts out' "$LOG")"
done
