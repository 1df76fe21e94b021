#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A kept connection whose bytes come cut anywhere: its answers are stock's, and meanwhile another
# client of the same worker is served.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/same.sh"

echo=$(script echo.php '<?php $b = file_get_contents("php://input");
echo "<", $_SERVER["TOKEN"], ">", strlen($b), " ", md5($b), "\n";')
both_start 1

# tokens TEXT FILE FIRST STEP: the tokens in FILE are FIRST, FIRST + STEP, ... in that order.
tokens() {
	local seen
	seen=$(grep -ao '<[0-9]\{5\}>' "$2" | tr -d '<>')
	equal "$1" "$(awk -v n="$3" -v step="$4" '$1 + 0 != n { bad++ } { n += step } END {
		print bad + 0 " wrong of " NR }' <<<"$seen")" "0 wrong of $5"
}

get=(env=TOKEN='#####' get)
# The padding of an empty STDIN record is what stock takes for the next header.
post=(env=TOKEN='#####' length=20 begin params size=7 pad=3 body=20 pad=0 end)
say "one request, each byte"
same "GET" script="$echo" keep "${get[@]}" each
cuts=$(grep -ac '<[0-9]\{5\}>' "$T/ours.0.out")
check "cuts: $cuts" test "$cuts" -gt 100
tokens "each its own answer" "$T/ours.0.out" 1 1 "$cuts"
same "POST" script="$echo" keep "${post[@]}" each
same "not kept" script="$echo" "${get[@]}" each

say "two and three at once, each byte"
same "two" script="$echo" keep "${get[@]}" "${post[@]}" each
cuts=$(grep -ac '<[0-9]\{5\}>' "$T/ours.0.out")
tokens "each its own answer" "$T/ours.0.out" 1 1 "$cuts"
same "three" script="$echo" keep "${get[@]}" "${post[@]}" id=7 "${get[@]}" each
same "GET_VALUES and two" script="$echo" keep values=FCGI_MAX_REQS "${get[@]}" "${post[@]}" each
same "four, and no cut" script="$echo" keep "${get[@]}" "${get[@]}" "${post[@]}" "${get[@]}" answer=4 \
	"${get[@]}" answer hang-up
alike "against stock" 7

say "a long head and a long body, cut here and there"
step=997
[ -n "${SLOW:-}" ] && step=61
same "long head" script="$echo" keep begin \
	many=65 record many=65 record many=500 record env=TOKEN='#####' params end each=1,$step
same "head longer than what is read ahead" script="$echo" keep begin \
	many=1200 record many=1200 record many=600 record env=TOKEN='#####' params end each=1,$((step * 7))
same "long body" script="$echo" keep env=TOKEN='#####' psize=65535 length=100000 \
	begin params size=8192 pad=5 body=100000 pad=0 end each=1,$step
alike "against stock" 3

# Between the two parts a second client asks; the third is new each time.
say "others in between"
ours "one kept client waits for its rest" script="$echo" on=1 keep "${get[@]}" on=2 close "${get[@]}" \
	on=0 keep "${get[@]}" each
cuts=$(grep -ac '<[0-9]\{5\}>' "$T/ours.0.out")
tokens "the cut one's" "$T/ours.0.out" 1 3 "$cuts"
tokens "the kept one's" "$T/ours.1.out" 2 3 "$cuts"
tokens "the new ones'" "$T/ours.2.out" 3 3 "$cuts"
