# SPDX-License-Identifier: BSD-2-Clause
# Sourced behind lib.sh: the same bytes for a stock php-cgi and for a berth worker.

# Both sides run with the same settings.
PHP_OPTIONS='-d output_buffering=0 -d display_errors=0 -d log_errors=1 -d log_errors_max_len=0
	-d html_errors=0 -d date.timezone=UTC'
STOCK=$T/stock.sock
OURS=$T/ours-1.sock
ALIKE=0

# both_start [CHILDREN [LINE...]]: stock php-cgi on $STOCK, a pool of berth on $T/ours-%n.sock.
both_start() {
	local children=${1:-1}
	shift $(($# > 0))
	# shellcheck disable=SC2086 # options are words
	env -u PHP_FCGI_CHILDREN PHP_FCGI_MAX_REQUESTS=0 \
		"$PHP" $PHP_OPTIONS -b "$STOCK" >"$T/stock.log" 2>&1 </dev/null &
	STOCK_PID=$!
	PIDS+=("$STOCK_PID")
	conf "[ours]
listen = $T/ours-%n.sock
pm = static
pm.max_children = $children
$USER_LINE
program = $PHP $(xargs <<<"$PHP_OPTIONS")
$(printf '%s\n' "$@")"
	berth_start
	until_true 10 test -S "$STOCK" || die "php-cgi did not start: $(cat "$T/stock.log")"
	# The file is there a moment before the socket listens.
	until_true 10 listens "$STOCK"
}
listens() { ss -xlH | grep -Fq " $1 "; }

# raw SIDE WORD...: say words to stock or ours; what came is in $T/SIDE.*, $T/SIDE.end tells how.
raw() {
	local side=$1 socket=$OURS
	shift
	[ "$side" = stock ] && socket=$STOCK
	rm -f "$T/$side".*[0-9]* "$T/$side.end"
	"$HELPERS/fcgi-raw" -t "${RAW_SECONDS:-10}" -o "$T/$side" "$socket" "$@" \
		>"$T/$side.end" 2>"$T/$side.why"
}

# ours TEXT WORD...: our side alone; every word must get what it waits for.
ours() {
	local text=$1
	shift
	raw ours "$@" || fail "$text: $(xargs <"$T/ours.why") ($(xargs <"$T/ours.end"))"
}

# same TEXT WORD...: both sides answer with the same bytes and end in the same way. An end that
# stock makes a reset, as it left input unread, may be an end of file with us, never the reverse.
same() {
	local text=$1 file good=1
	shift
	raw stock "$@" || { fail "$text: stock: $(xargs <"$T/stock.why")"; return; }
	raw ours "$@" || { fail "$text: ours: $(xargs <"$T/ours.why") ($(xargs <"$T/ours.end"))"; return; }
	for file in "$T"/stock.[0-9]*; do
		cmp -s "$file" "$T/ours${file#"$T/stock"}" && continue
		good=0
		fail "$text: answers differ: $(cmp "$file" "$T/ours${file#"$T/stock"}" 2>&1 | cut -c1-120)"
	done
	if ! cmp -s "$T/stock.end" "$T/ours.end" &&
		[ "$(sed 's/reset/eof/' "$T/stock.end")" != "$(cat "$T/ours.end")" ]; then
		good=0
		fail "$text: ends: $(xargs <"$T/ours.end"), stock: $(xargs <"$T/stock.end")"
	fi
	ALIKE=$((ALIKE + good))
}

# alike TEXT WANTED: that many comparisons since the last call were without a difference.
alike() {
	equal "$1, comparisons without a difference" "$ALIKE" "$2"
	ALIKE=0
}

nobody_died() { equal "workers that ended meanwhile" "$(grep -c 'pid [0-9]*: ended with' "$LOG")" 0; }
