#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Workers that leak, or are old, are replaced between two requests, and no client notices.
. "$(dirname "$0")/lib.sh"

pid=$(script pid.php '<?php echo getmypid();')
# leak NAME KIB: a script that loses memory for good; PHP frees what it knows of.
leak() {
	script "$1.php" '<?php usleep(2500); $size = '"$2"' * 1024;
$lost = FFI::new("char[$size]", false, true); FFI::memset($lost, 1, $size);
echo $_SERVER["TOKEN"] ?? "lost";'
}
drop=$(leak drop 16)
flood=$(leak flood 65536)
load() { "$HELPERS/fcgi-load" "$@" 2>&1; }
all_right() { equal "$1" "$(cut -d, -f1-3 <<<"$3")" "answered $2, wrong 0, failed 0"; }
lines() { grep -Ec -- "$1" "$LOG"; }
sockets=("$T/www-1.sock" "$T/www-2.sock" "$T/www-3.sock" "$T/www-4.sock")
four() { [ "$(workers | wc -w)" = 4 ]; }
switches() { awk '/^voluntary/ { print $2 }' "/proc/$1/status"; }
# Memory is looked at every 2 s as long as somebody has worked.
rests() { local n; n=$(switches "$MANAGER"); sleep 2.5; [ "$n" = "$(switches "$MANAGER")" ]; }
age_conf() {
	conf "[www]
listen = $T/www-%n.sock
pm = static
pm.max_children = 4
$USER_LINE
program = $PHP -d ffi.enable=1
$(printf '%s\n' "$@")"
}

age_conf "pm.max_worker_memory = 16M" "pm.max_worker_memory_jitter = 4M" \
	"process_control_timeout = 100ms"
berth_start
first=$(workers)
n=$([ -n "${SLOW:-}" ] && echo 6000 || echo 1000)
all_right "leaks, kept" $((8 * n)) "$(load -k -c 8 -n "$n" "$drop" "${sockets[@]}")"
all_right "leaks, new" $((8 * n)) "$(load -c 8 -n "$n" "$drop" "${sockets[@]}")"
check "workers were replaced" test "$(lines 'above pm.max_worker_memory \((1[6-9]|20)\.')" -ge 4
check "four workers in the end" until_true 20 four
equal "none of the first ones is left" "$(comm -12 <(tr ' ' '\n' <<<"$first" | sort) \
	<(workers | tr ' ' '\n' | sort) | grep -c .)" 0
equal "none had to be killed" "$(lines 'killed')" 0

# One that is over its limit finishes its request, though process_control_timeout is short.
long=$(script long.php '<?php $end = microtime(true) + 5;
while (microtime(true) < $end) usleep(10000); echo getmypid();')
# At rest, the next look at memory is 2 s behind the next request.
until_true 20 rests
equal "a flood" "$(get "$T/www-1.sock" "$flood")" lost
before=$(get "$T/www-1.sock" "$pid")
equal "a long request of a worker above its limit" "$(get "$T/www-1.sock" "$long")" "$before"
contains "it was above it" "$LOG" "pid $before: has [0-9.]+ MiB of memory, above"
check "it leaves afterwards" until_true 10 gone "$before"
equal "it was not killed" "$(lines "pid $before: .*killed")" 0

# While all idle, nobody wakes up.
check "the manager comes to rest" until_true 20 rests
before=$(switches "$MANAGER")
sleep 3
equal "wake-ups of the idle manager in 3 s" "$(($(switches "$MANAGER") - before))" 0

# A stop has its time limit, also for one that is being replaced.
until_true 20 rests
equal "a flood" "$(get "$T/www-2.sock" "$flood")" lost
before=$(get "$T/www-2.sock" "$pid")
get -t 30 "$T/www-2.sock" "$(script forever.php '<?php for (;;) usleep(10000);')" >"$T/null" 2>&1 &
replaced() { [ "$(lines "pid $before: has .* replaced")" = 1 ] && [ "$(workers | wc -w)" = 5 ]; }
check "it is replaced while it is busy" until_true 20 replaced
berth_stop
equal "exit status" "$STATUS" 0
contains "at a stop it is killed" "$LOG" "pid $before: did not leave within .* killed"

# A limit that every worker is born above would replace them without end.
age_conf "pm.max_worker_memory = 100K"
berth_start
contains "too low: it is not applied" "$LOG" 'pm.max_worker_memory \(0.1 MiB\) is less than'
all_right "too low: load" 2000 "$(load -c 4 -n 500 "$drop" "${sockets[@]}")"
equal "too low: nobody is replaced" "$(lines ' replaced')" 0
berth_stop

# By age, idle or under load.
age_conf "pm.max_worker_lifetime = 1s" "pm.max_worker_lifetime_jitter = 1s"
berth_start
first=$(workers)
all_gone_first() { all_gone $first; }
check "idle workers are replaced" until_true 20 all_gone_first
all_right "age: load, kept" 4000 "$(load -k -c 8 -n 500 "$drop" "${sockets[@]}")"
all_right "age: load, new" 4000 "$(load -c 8 -n 500 "$drop" "${sockets[@]}")"
check "age: they were replaced" test "$(lines 'has reached pm.max_worker_lifetime \((1.[0-9]|2.0) s')" -ge 8
check "age: at different times" test "$(grep -o 'lifetime ([0-9.]* s)' "$LOG" | sort -u | wc -l)" -ge 2
equal "age: none had to be killed" "$(lines 'killed')" 0
berth_stop
equal "exit status" "$STATUS" 0

# Told to leave by a reload, or because its template is a new one, a busy worker has a time limit.
forever=$(script forever.php '<?php for (;;) usleep(10000);')
runs() { [ "$(awk '{print $14 + $15}' "/proc/$before/stat")" != "$ticks" ]; }
busy_worker() {
	before=$(get "$T/www-1.sock" "$pid")
	ticks=$(awk '{print $14 + $15}' "/proc/$before/stat")
	get -t 30 "$T/www-1.sock" "$forever" >"$T/null" 2>&1 &
	until_true 20 runs || die "the script does not run"
}
pool_conf "process_control_timeout = 300ms"
berth_start
busy_worker
kill -HUP "$MANAGER"
check "reload: the busy worker is ended" until_true 20 gone "$before"
contains "reload: the log says why" "$LOG" "pid $before: did not leave within .*0\.3 s\), killed"
check "reload: four workers in the end" until_true 20 four
busy_worker
kill -KILL "$(template_pid)"
check "new template: the busy worker is ended" until_true 20 gone "$before"
contains "new template: the log says why" "$LOG" \
	"pid $before: did not leave within .*0\.3 s\), killed"
berth_stop
equal "exit status" "$STATUS" 0
