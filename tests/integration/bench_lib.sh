# SPDX-License-Identifier: BSD-2-Clause
# Sourced by tests of berth-bench after lib.sh: runs it, reads its JSON.
#
# Needs BENCH (the program) in the environment; the null responder is beside it.

: "${BENCH:?path of the berth-bench program}"
RESPONDER=${BENCH%/*}/berth-bench-responder
export BERTH

# bench ARG...: run it to its end; $STATUS, its output in $T/out, its complaints in $T/err.
bench() {
	"$BENCH" "$@" >"$T/out" 2>"$T/err" </dev/null
	STATUS=$?
}

# bench_launch ARG...: start it in the background; $RUN is its pid.
bench_launch() {
	: >"$T/err"
	# A background job of a shell without job control has SIGINT and SIGQUIT ignored.
	env --default-signal=INT,QUIT "$BENCH" "$@" >"$T/out" 2>"$T/err" </dev/null &
	RUN=$!
	PIDS+=("$RUN")
}

# bench_wait: wait for its end; $STATUS.
bench_wait() {
	until_true 60 gone "$RUN" || die "berth-bench goes on"
	wait "$RUN" 2>/dev/null # where the shell tells of a job that was killed
	STATUS=$?
}

# value FILE PATH...: what a JSON file has there, e.g. cells 0 total answered; "-" if it is no JSON.
cat >"$T/value.php" <<'P'
<?php
$words = array_slice($argv, 2);
$at = json_decode(file_get_contents($argv[1]), true);
if (json_last_error() !== JSON_ERROR_NONE) {
	echo "-";
	exit;
}
foreach ($words as $word)
	$at = $at[$word] ?? null;
echo is_scalar($at) ? var_export($at, true) : (is_array($at) ? count($at) : "null");
P
value() { "$PHP" -q -n "$T/value.php" "$@"; }

# class FILE NAME: how many failures of a class the first cell has.
cat >"$T/class.php" <<'P'
<?php
foreach (json_decode(file_get_contents($argv[1]), true)["cells"][0]["total"]["failures"] as $f)
	if ($f["class"] === $argv[2])
		exit((string)$f["count"]);
echo 0;
P
class() { "$PHP" -q -n "$T/class.php" "$@"; }

# respond NAME ARG...: the null responder on $T/NAME.sock, or on --listen; $RESPONDER_PID.
respond() {
	local name=$1
	shift
	rm -f "$T/$name.sock"
	"$RESPONDER" --listen "$T/$name.sock" "$@" >"$T/$name.responder" 2>&1 &
	RESPONDER_PID=$!
	PIDS+=("$RESPONDER_PID")
	until_true 10 test -S "$T/$name.sock" || die "no responder: $(cat "$T/$name.responder")"
}
