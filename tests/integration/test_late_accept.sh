#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A worker that leaves takes no connection after it has handed on those that it had.
. "$(dirname "$0")/lib.sh"
mkdir "$T/drop"
chmod 777 "$T/drop"
conf "[www]
listen = $T/www-%n.sock
pm = static
pm.max_children = 2
$USER_LINE
program = $(helper slow-leaver) $T/drop/go"
berth_start
old=$(get "$T/www-1.sock" /leave)
check "a worker has handed on its connections" until_true 20 test -e "$T/drop/go.leaves"
check "and is still there" kill -0 "$old"
hold late "$T/www-1.sock" /stay
tell late open 1 >"$T/null"
tell late send header >"$T/null"
# Meanwhile it would have had the time to take that one.
for ((i = 0; i < 20; i++)); do get "$T/www-2.sock" /stay; done >"$T/null"
touch "$T/drop/go"
check "it leaves" until_true 20 gone "$old"
check "another one serves" test -n "$(get "$T/www-1.sock" /stay)"
equal "who came late is still connected" "$(tell late state)" "open 1, ended 0"
release late
berth_stop
equal "exit status" "$STATUS" 0
