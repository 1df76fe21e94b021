#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Requests for scripts that can't be run: an answer, and no harm to any other slot.
. "$(dirname "$0")/lib.sh"

good=$(script good.php '<?php echo getmypid(), "\n";')
mkdir "$T/folder.php"
shut=$(script shut.php '<?php echo "secret";')
chmod 000 "$shut"

# A request that ends its worker must end that one only, so other workers do not help here.
pool_conf 'pm.rescue = no'
berth_start
before=$(for i in 1 2 3 4; do get "$T/www-$i.sock" "$good"; done)
equal "each slot answers" "$(sort -u <<<"$before" | wc -l)" 4

# answer TEXT SCRIPT STATUS BODY: slot 1's whole answer for a SCRIPT.
answer() {
	get -s "$T/www-1.sock" "$2" >"$T/answer" 2>"$T/errors"
	equal "$1: the client's status" "$?" 1
	contains "$1: status $3" "$T/answer" "^Status: $3 "
	contains "$1: what it says" "$T/answer" "$4"
	equal "$1: complete" "$(grep -c '^fcgi-get:' "$T/errors")" 0
}
answer "missing script" "$T/none.php" 404 '^No input file specified\.'
answer "folder" "$T/folder.php" 404 '^No input file specified\.'
answer "missing folder" "$T/none/none.php" 404 '^No input file specified\.'
answer "file that nobody may read" "$shut" 40[34] '^(Access denied|No input file specified)\.'
equal "it is served by the same process" "$(get "$T/www-1.sock" "$good")" "$(head -1 <<<"$before")"

# An empty SCRIPT_FILENAME ends php-cgi with status 255, without a word. The other slots are asked
# all the time meanwhile.
for i in 1 3 4; do
	get -n 400 "$T/www-$i.sock" "$good" >"$T/pids.$i" 2>&1 &
	eval "client_$i=\$!"
done
in_log() { grep -q -- "$1" "$LOG"; }
victim=$(sed -n 2p <<<"$before")
for round in 1 2 3; do
	get "$T/www-2.sock" "" >"$T/answer" 2>&1
	equal "empty name, round $round: the client's status" "$?" 1
	contains "empty name, round $round: no answer" "$T/answer" "end of file before END_REQUEST|reset by peer"
	check "empty name, round $round: the process has left" until_true 10 gone "$victim"
	until_true 10 in_log "slot 2 pid $victim: ended"
	contains "empty name, round $round: the log tells its status" "$LOG" \
		"pool www slot 2 pid $victim: ended with exit status 255 "
	next=$(get "$T/www-2.sock" "$good")
	equal "empty name, round $round: the slot answers" "$?" 0
	check "empty name, round $round: by a new process" test "$next" != "$victim"
	victim=$next
done
for i in 1 3 4; do
	eval "wait \$client_$i"
	equal "slot $i answered all the time" "$?" 0
	equal "slot $i kept its process" "$(sort -u "$T/pids.$i")" "$(sed -n "${i}p" <<<"$before")"
done
equal "every worker is there" "$(workers | wc -w)" 4
berth_stop
equal "exit status" "$STATUS" 0
