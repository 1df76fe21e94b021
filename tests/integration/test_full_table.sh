#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# More kept connections at one socket than a worker holds: a sibling that has room takes some.
. "$(dirname "$0")/lib.sh"

token=$(script token.php '<?php echo $_SERVER["TOKEN"], " ", getmypid(), "\n";')
busy=$(script busy.php "<?php touch('$T/started'); while (!file_exists('$T/go')) { usleep(5000); clearstatcache(); } echo 'done';")
chmod 777 "$T"
[ "$(ulimit -Hn)" -ge 4096 ] || skip "needs 4096 descriptors"
ulimit -n "$(ulimit -Hn)"
pool_conf
sed -i 's/^pm.max_children = .*/pm.max_children = 2/' "$T/berth.conf"
berth_start
# The sibling is busy meanwhile, so it can't take any by itself.
get "$T/www-2.sock" "$busy" >"$T/done" &
sibling=$!
until_true 10 test -e "$T/started"
for i in 1 2 3; do
	hold "h$i" "$T/www-1.sock" "$token"
	tell "h$i" open 450 >"$T/null"
	equal "450 more, first requests" "$(tell "h$i" ask | cut -d: -f1)" "answered 450, wrong 0, failed 0"
done
# What was passed on waits for the sibling: nobody takes it back and passes it on again without end.
holder=$(tell h3 ask | sed 's/.*: *//')
timeout 1 strace -f -qq -e trace=sendmsg -o "$T/passed" -p "$holder" 2>"$T/null"
check "messages in a second without a request: $(grep -c sendmsg "$T/passed")" \
	test "$(grep -c sendmsg "$T/passed")" -le 25
touch "$T/go"
wait "$sibling"
equal "the busy sibling's answer" "$(cat "$T/done")" "done"
# A worker holds 1024 of the 1350. Idle ones were passed on, not closed.
for i in 1 2 3; do
	equal "connections $i, once more" "$(tell "h$i" ask | cut -d: -f1)" "answered 450, wrong 0, failed 0"
done
for i in 1 2 3; do release "h$i"; done
berth_stop
