#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Hundreds of workers: a socket each, the limit of open files, what one costs, and nothing left.
. "$(dirname "$0")/lib.sh"

N=500
[ "$(ulimit -Hn)" = unlimited ] || [ "$(ulimit -Hn)" -ge 8192 ] ||
	skip "the hard limit of open files is $(ulimit -Hn)"
mkdir "$T/run"
pid=$(script pid.php '<?php echo getmypid(), PHP_EOL;')
# All of them leave at the same time, which keeps two processors busy for some seconds.
pool_conf "process_control_timeout = 60s"
sed -i "s|^listen = .*|listen = $T/run/%n.sock|; s/^pm.max_children = .*/pm.max_children = $N/" \
	"$T/berth.conf"

# A hard limit that is too low is told before anything is started. The program leaves a trace.
printf '#!/bin/sh\ntouch "%s/started"\nexec %s "$@"\n' "$T" "$PHP" >"$T/program"
chmod 777 "$T"
printf '#!/bin/bash\nulimit -n 300\nexec "%s" "$@"\n' "$BERTH" >"$T/limited"
chmod 755 "$T/limited"
sed -i "s|^program = .*|program = sh \"$T/program\"|" "$T/berth.conf"
BERTH=$T/limited berth_fails
equal "hard limit 300: exit status" "$STATUS" 111
contains "hard limit 300: the arithmetic" "$LOG" \
	"$N workers need [0-9]{4,} open files .* hard limit \(RLIMIT_NOFILE\) is 300"
equal "hard limit 300: nothing was started or made" "$(ls "$T/run" "$T/started" 2>/dev/null)" "$T/run:"
need=$(grep -o 'need [0-9]* open' "$LOG" | tr -dc 0-9)
sed -i "s/^ulimit .*/ulimit -n $((need - 1))/" "$T/limited"
BERTH=$T/limited berth_fails
equal "a hard limit that is one too low: exit status" "$STATUS" 111
sed -i "s/^ulimit .*/ulimit -Hn $need; ulimit -Sn 1024/" "$T/limited"

# What it says is enough is enough, and the usual soft limit is no obstacle.
BERTH=$T/limited berth_start
# limits PID...: their soft limits of open files.
limits() { awk '/^Max open files/{ print $4 }' $(printf '/proc/%d/limits ' "$@"); }
check "the program that leaves a trace was started" test -e "$T/started"
equal "berth raises its own soft limit" "$(limits "$MANAGER")" "$need"
equal "workers" "$(workers | wc -w)" $N
equal "workers have the soft limit that berth was started with" \
	"$(limits $(workers) | sort | uniq -c | xargs)" "$N 1024"
for ((i = 1; i <= N; i++)); do get "$T/run/$i.sock" "$pid"; done >"$T/answers" 2>&1
equal "answers, each from its own process" "$(wc -l <"$T/answers") $(sort -u "$T/answers" | wc -l)" \
	"$N $N"
equal "they are the workers" "$(sort -n "$T/answers" | xargs | cksum)" \
	"$(workers | tr ' ' '\n' | sort -n | xargs | cksum)"
check "berth's descriptors stay below its limit" test "$(fds "$MANAGER")" -lt "$need"
worker=$(tail -1 "$T/answers")
check "a worker's descriptors are few" test "$(fds "$worker")" -le 24
say "memory of a worker: $(cat $(printf '/proc/%d/smaps_rollup ' $(workers)) | awk '
	/^Rss:/ { rss += $2; n++ } /^Pss:/ { pss += $2 }
	END { printf "RSS %d KiB, PSS %d KiB, on average over %d", rss / n, pss / n, n }')"
equal "lines above notice in the log" "$(grep -c -e warning: -e error: -e alert: "$LOG")" 0
if [ -n "${SLOW:-}" ]; then
	kill -KILL $(workers)
	all_new() { [ "$(for ((i = 1; i <= N; i++)); do get "$T/run/$i.sock" "$pid"; done | sort -u | wc -l)" = $N ]; }
	check "after kill -9 of all of them, all sockets are served" all_new
fi
all="$(workers) $(children "$MANAGER")"
berth_stop
equal "exit status after SIGTERM" "$STATUS" 0
check "no process is left" all_gone $all
equal "no file is left" "$(ls -A "$T/run")" ""
