#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# berth in folders with odd names, and in ones that its workers can't enter: they get the library all
# the same, also after the folder is gone.
. "$(dirname "$0")/lib.sh"

library=${LIBRARY:-$(dirname "$BERTH")/worker/libberth-worker.so}
counter=$(script counter.php '<?php echo getmypid(), " ", apcu_inc("n"), "\n";')

# install_to FOLDER: a copy of the program and its library, with modes as the umask says.
install_to() {
	mkdir -p "$1/worker"
	cat "$BERTH" >"$1/berth"
	cat "$library" >"$1/worker/libberth-worker.so"
	chmod u+x "$1/berth"
}
real=$BERTH

# shared TEXT SOCKET...: each socket's worker is another process, with one counter.
shared() {
	local text=$1 s
	shift
	for s; do get "$s" "$counter"; done >"$T/seen"
	equal "$text: processes" "$(cut -d' ' -f1 "$T/seen" | sort -u | wc -l)" $#
	equal "$text: one counter" "$(cut -d' ' -f2 "$T/seen" | xargs)" "$(seq -s' ' 1 $#)"
}

# works TEXT FOLDER: a copy of berth in FOLDER runs, and goes on without it.
works() {
	local text=$1 folder=$2 old pid
	BERTH=$folder/berth
	pool_conf
	berth_start
	shared "$text" "$T"/www-{1,2,3,4}.sock
	check "$text: it is the library that was put there" \
		grep -q 'libberth-worker' "/proc/$(template_pid)/maps"
	equal "$text: nobody uses the file" "$(cat "/proc/$(template_pid)/maps" | grep -cF "$folder")" 0
	rm -rf "$folder"
	old=$(workers)
	for pid in $old; do kill -KILL "$pid"; done
	until_true 10 all_gone $old
	for pid in 1 2 3 4; do
		check "$text: without the folder, slot $pid" get "$T/www-$pid.sock" "$counter"
	done >/dev/null
	old=$(template_pid)
	kill -KILL "$old"
	check "$text: without the folder, a new template" until_true 20 grep -q 'new template' "$LOG"
	# Until its workers are replaced as well.
	until_true 20 new_family "$old"
	shared "$text: without the folder" "$T"/www-{1,2,3,4}.sock
	berth_stop
	equal "$text: exit status" "$STATUS" 0
	BERTH=$real
}
new_family() { [ "$(workers | wc -w)" = 4 ] && [ "$(descendants "$MANAGER" | wc -l)" = 6 ]; }

install_to "$T/a folder with \"quotes\", it's odd: \$HOME %n"
works "odd name" "$T/a folder with \"quotes\", it's odd: \$HOME %n"

(umask 077 && install_to "$T/closed")
chmod 700 "$T/closed"
works "closed folder" "$T/closed"

(umask 077 && install_to "$T/files")
chmod 755 "$T/files" "$T/files/worker"
works "closed files" "$T/files"

# By a link, the library stands beside what the link points to.
install_to "$T/target"
mkdir "$T/links"
ln -s "$T/target/berth" "$T/links/berth"
BERTH=$T/links/berth
pool_conf
berth_start
shared "link" "$T"/www-{1,2,3,4}.sock
berth_stop
BERTH=$real

# Sockets, log, configuration and scripts in folders with odd names.
odd="$T/it's a \"b\" ; #c"
mkdir -m 755 "$odd"
quoted=${odd//\"/\\\"}
cat "$counter" >"$odd/a script.php"
conf "[global]
error_log = \"$quoted/a log\"
[www]
listen = \"$quoted/s %n\"
pm.max_children = 2
chdir = \"$quoted\"
$USER_LINE
program = $PHP -d apc.enabled=1"
mv "$T/berth.conf" "$odd/a conf"
berth_launch -c "$odd/a conf"
ready_in_file() { grep -q 'notice: ready, pid' "$odd/a log" 2>/dev/null; }
check "odd files: ready" until_true 40 ready_in_file
counter="$odd/a script.php"
shared "odd files" "$odd/s 1" "$odd/s 2"
equal "odd files: the working folder" "$(readlink "/proc/$(template_pid)/cwd")" "$odd"
berth_stop
equal "odd files: exit status" "$STATUS" 0
equal "odd files: nothing is left" "$(ls "$odd" | sort | xargs)" "a conf a log a script.php"
equal "odd files: nothing on standard error" "$(cat "$LOG")" ""

# Without its library berth says what it looked for, and where.
mkdir "$T/alone"
cat "$real" >"$T/alone/berth"
chmod 755 "$T/alone/berth"
BERTH=$T/alone/berth
pool_conf
berth_launch -c "$T/berth.conf"
until_true 40 ready_or_gone
if is_ready; then
	say "      (an installed library was found)"
	berth_stop
else
	wait "$MANAGER"
	equal "no library: exit status" "$?" 111
	contains "no library: the reason" "$LOG" 'error: libberth-worker.so is not where it belongs'
fi
