#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# SIGUSR2: the program that is installed now goes on in place of the one that runs; or nothing happens.
#
# 3 upgrades under load; 50 if SLOW is set.
. "$(dirname "$0")/lib.sh"
upgrades=$([ -n "${SLOW:-}" ] && echo 50 || echo 3)

# The program in a folder of its own, where another one can take its place.
installed=$T/bin/berth
mkdir -p "$T/bin/worker"
cp "$(dirname "$BERTH")/worker/libberth-worker.so" "$T/bin/worker/"
install_program() { cp "$1" "$installed.new" && chmod 755 "$installed.new" && mv "$installed.new" "$installed"; }
real=$BERTH
install_program "$real"
BERTH=$installed

token=$(script token.php '<?php usleep(rand(0, 1000)); echo $_SERVER["TOKEN"];')
pid=$(script pid.php '<?php echo getmypid();')
mkdir "$T/marks"
chmod 777 "$T/marks"
waits=$(script waits.php '<?php echo "begin "; touch($_SERVER["MARK"]);
while (!file_exists($_SERVER["MARK"] . ".go")) { usleep(10000); clearstatcache(); }
file_put_contents("php://stderr", "said after the upgrade\n"); echo "whole";')

settings() {
	pool_conf
	sed -i "1i [global]\ncontrol = $T/control" "$T/berth.conf"
	cat >>"$T/berth.conf" <<-C
		[single]
		listen = $T/single-%n.sock
		pm = static
		pm.max_children = 1
		spawn = exec
		$USER_LINE
		program = $PHP
	C
}
settings
berth_start
ask() { "$real" "$@" --control "$T/control"; }
upgrades_done() { grep -c 'notice: upgrade: done' "$LOG"; }
has_upgraded() { [ "$(upgrades_done)" -ge "$1" ]; }
upgrade() {
	local before
	before=$(upgrades_done)
	kill -USR2 "$MANAGER"
	until_true 30 has_upgraded $((before + 1)) || fail "no upgrade: $(tail -3 "$LOG")"
}
# all_workers: pid of each slot, pool by pool.
all_workers() { ask status --json | sed -n 's/.*"pid": \([0-9]*\).*/\1/p' | grep -vx "$MANAGER" | xargs; }
requests() { ask status --json | grep -o '"requests": [0-9]*' | xargs; }
descriptors() { find "/proc/$MANAGER/fd" | wc -l; }
flags() { awk '/^flags/ { print $2 }' "/proc/$MANAGER/fdinfo/$1"; }
# open_on_exec: descriptors from 3 on that a program started by the manager would get.
open_on_exec() {
	local fd
	for fd in /proc/"$MANAGER"/fd/*; do
		fd=${fd##*/}
		[ "$fd" -le 2 ] || [ $((0$(flags "$fd") & 02000000)) -ne 0 ] || echo "$fd"
	done 2>/dev/null
}
template() { ask status --json | awk -F'[ ,]+' '/template_pid/ && !/null/ { print $3 }'; }

for i in 1 2 3 4; do get "$T/www-$i.sock" "$pid" >"$T/null"; done
before=$(all_workers)
counts=$(requests)
template=$(template)
inodes=$(stat -c %i "$T"/*.sock | xargs)
open=$(descriptors)
foreign=$(open_on_exec | xargs)
upgrade
equal "the same workers" "$(all_workers)" "$before"
equal "their counters" "$(requests)" "$counts"
equal "the same template" "$(template)" "$template"
equal "the same sockets" "$(stat -c %i "$T"/*.sock | xargs)" "$inodes"
equal "descriptors of the manager" "$(descriptors)" "$open"
equal "descriptors that programs would get" "$(open_on_exec | xargs)" "$foreign"
equal "no zombies" "$(zombies "$MANAGER")" ""
check "its program is what was installed" test "/proc/$MANAGER/exe" -ef "$installed"
contains "its environment is as it was" <(tr '\0' '\n' <"/proc/$MANAGER/environ"; echo end) '^end$'

# Another file in the place of ours; asked for by the command, which waits.
install_program "$real"
check "not the one that runs any more" test ! "/proc/$MANAGER/exe" -ef "$installed"
check "berth upgrade" ask upgrade
check "which runs now" test "/proc/$MANAGER/exe" -ef "$installed"
equal "the same workers" "$(all_workers)" "$before"

# A request outlives it, as does what its script says, and its worker can be replaced later.
get -t 60 "$T/www-2.sock" "$waits" "MARK=$T/marks/a" >"$T/answer" 2>&1 &
client=$!
check "a request runs" until_true 10 test -e "$T/marks/a"
upgrade
touch "$T/marks/a.go"
wait "$client"
equal "its answer" "$(cat "$T/answer")" "begin whole"
check "what it says is in the log" until_true 10 grep -q "www slot 2 pid .*said after the upgrade" "$LOG"
victim=$(cut -d' ' -f2 <<<"$before")
ends() { grep -c "pid $victim: ended with signal 9" "$LOG"; }
kill -KILL "$victim"
ended() { [ "$(ends)" = 1 ]; }
check "the new manager is told how a worker ended" until_true 10 ended
replaced() { [ "$(all_workers | wc -w)" = 5 ] && ! all_workers | grep -qw "$victim"; }
check "which is replaced" until_true 10 replaced
single=$(all_workers | cut -d' ' -f5)
kill -KILL "$single"
check "likewise an executed one" until_true 10 grep -q "single slot 1 pid $single: ended with signal 9" "$LOG"
replaced() { [ "$(all_workers | wc -w)" = 5 ]; }
check "which is replaced, too" until_true 10 replaced

# What does not prove itself changes nothing.
refused() { # TEXT PATTERN
	local lines state
	lines=$(wc -l <"$LOG")
	state=$(all_workers) open=$(descriptors)
	kill -USR2 "$MANAGER"
	said() { tail -n +$((lines + 1)) "$LOG" | grep -q 'upgrade: nothing was changed'; }
	check "$1: it says so" until_true 20 said
	contains "$1: and why" <(tail -n +$((lines + 1)) "$LOG") "$2"
	equal "$1: the same workers" "$(all_workers)" "$state"
	equal "$1: descriptors" "$(descriptors)" "$open"
	equal "$1: it answers" "$(get "$T/www-1.sock" "$pid")" "$(cut -d' ' -f1 <<<"$state")"
}
# program TEXT: a script in place of ours.
program() {
	printf '#!/bin/bash\n%s\n' "$1" >"$T/program"
	install_program "$T/program"
}
program 'echo "not today" >&2; exit 1'
refused "a program that fails" 'did not prove itself, exit status 1: not today'
check "berth upgrade fails" test "$(ask upgrade >"$T/null" 2>&1; echo $?)" = 1
program 'kill -9 $$'
refused "one that dies" 'did not prove itself, signal 9'
# with EDIT: one that changes the state before the real one sees it.
with() {
	program "sed '$1' <&\$BERTH_STATE >'$T/state' || exit 1
exec {changed}<'$T/state' {BERTH_STATE}<&-
export BERTH_STATE=\$changed
exec '$real' \"\$@\""
}
with 's/"version": [0-9]*/"version": 9999/'
refused "another version of the state" 'has left does not fit: version: 9999'
with '0,/"slots"/s//"slats"/'
refused "a part that is missing" 'has left.*pools\[0\].slots: it is missing'
with '0,/"score": [0-9]*/s//"score": 999/'
refused "a number that can not be" 'has left.*pool www.*score'
with '20q'
refused "a state that is cut" 'has left.*JSON'
install_program "$real"
# Unless there is one where it would be installed, too.
if ! strings "$real" | grep -q '^/.*lib.*/berth/libberth-worker.so$' ||
	[ ! -e "$(strings "$real" | grep -m1 '^/.*lib.*/berth/libberth-worker.so$')" ]; then
	mv "$T/bin/worker" "$T/bin/elsewhere"
	refused "no library" 'libberth-worker.so is not where it belongs'
	mv "$T/bin/elsewhere" "$T/bin/worker"
fi
cp "$T/berth.conf" "$T/good.conf"
echo "nosuchkey = 1" >>"$T/berth.conf"
refused "a broken configuration" 'nosuchkey'
cp "$T/good.conf" "$T/berth.conf"
rm "$installed"
refused "no program" 'No such file'

# Workers that speak another version stay until new ones are there.
with 's/"abi": [0-9]*/"abi": 1/'
before=$(all_workers)
reloads() { grep -c 'notice: reload: done' "$LOG"; }
check "an upgrade to a program that speaks another version" ask upgrade
has_reloaded() { [ "$(reloads)" = 1 ]; }
check "a reload follows" until_true 30 has_reloaded
equal "no old worker is left" "$(for p in $before; do alive "$p" && echo "$p"; done)" ""
equal "workers" "$(all_workers | wc -w)" 5
check "they answer" test -n "$(get "$T/www-3.sock" "$pid")"
as_before() { [ "$(descriptors)" = "$open" ]; }
until_true 10 as_before
equal "descriptors" "$(descriptors)" "$open"
install_program "$real"

# Under load, kept and new, each request is answered; workers come and go meanwhile.
sed -i 's/^pm.max_children = 4/&\npm.max_requests = 50/' "$T/berth.conf"
check "a reload afterwards" ask reload
before=$(all_workers)
sockets=("$T/www-1.sock" "$T/www-2.sock" "$T/www-3.sock" "$T/www-4.sock")
load_until_enough() {
	while [ ! -e "$T/enough" ]; do "$HELPERS/fcgi-load" "$@" "$token" "${sockets[@]}" 2>&1; done
}
load_until_enough -k -c 8 -n 100 >"$T/kept" &
kept=$!
PIDS+=("$kept")
load_until_enough -c 8 -n 100 >"$T/new" &
new=$!
PIDS+=("$new")
for ((i = 0; i < upgrades; i++)); do upgrade; done
enough() { [ "$(wc -l <"$T/kept")" -ge 2 ] && [ "$(wc -l <"$T/new")" -ge 2 ]; }
until_true 30 enough
touch "$T/enough"
wait "$kept"
wait "$new"
for how in kept new; do
	equal "$how: rounds of load with a fault" "$(grep -vc ', wrong 0, failed 0,' "$T/$how")" 0
	check "$how: there was load" test "$(wc -l <"$T/$how")" -ge 2
done
as_first() { [ "$(descriptors)" = "$open" ]; }
until_true 10 as_first
equal "descriptors after $upgrades upgrades" "$(descriptors)" "$open"
equal "processes" "$(all_workers | wc -w)" 5

# Workers that die meanwhile are seen, whoever sees them.
for signal in USR2 HUP; do
	victims=$(all_workers)
	before=$(upgrades_done)
	kill -USR2 "$MANAGER"
	kill -KILL $victims
	[ $signal = HUP ] && kill -HUP "$MANAGER"
	check "workers killed during an upgrade: it is done" until_true 30 has_upgraded $((before + 1))
	all_new() { local p; [ "$(all_workers | wc -w)" = 5 ] && for p in $victims; do all_workers | grep -qw "$p" && return 1; done; return 0; }
	check "and they are replaced" until_true 20 all_new
done

# Asked for in the middle of a reload it follows; a stop in the middle stops.
before=$(upgrades_done)
kill -HUP "$MANAGER"
kill -USR2 "$MANAGER"
check "after a reload" until_true 30 has_upgraded $((before + 1))
kill -USR2 "$MANAGER"
berth_stop
equal "exit status" "$STATUS" 0
equal "sockets that are left" "$(ls "$T" | grep -Ec 'sock$|control$')" 0
equal "what can't be" "$(grep -c "can't be in state" "$LOG")" 0
