#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Any FastCGI program can be a pool: libfcgi's and Perl's, forked from a template or executed.
. "$(dirname "$0")/lib.sh"

echo_responder=$(helper echo-responder)
cat >"$T/responder.pl" <<'P'
use FCGI;
my $calls = 0;
my $request = FCGI::Request();
while ($request->Accept() >= 0) {
	$calls++;
	print "Content-Type: text/plain\r\n\r\n$$\n";
}
P
chmod 644 "$T/responder.pl"
perl=$(command -v perl) && perl -MFCGI -e 1 2>/dev/null || perl=

# pool NAME SPAWN PROGRAM: no slot is answered for by another one.
pool() {
	printf '%s\n' "[$1]" "listen = $T/$1-%n.sock" "pm = static" "pm.max_children = 3" \
		"$USER_LINE" "spawn = $2" "program = $3" "pm.rescue = no"
}

pools='c-template c-exec'
text=$(pool c-template template "'$echo_responder'"; pool c-exec exec "'$echo_responder'")
if [ -n "$perl" ]; then
	pools="$pools perl-template perl-exec"
	text=$text$'\n'$(pool perl-template template "$perl '$T/responder.pl'"
		pool perl-exec exec "$perl '$T/responder.pl'")
else
	say "skip  Perl: its module FCGI (libfcgi-perl) is not installed"
fi
conf "$text"
berth_start
for p in $pools; do
	pids=$(for n in 1 2 3; do get "$T/$p-$n.sock" /x; done)
	equal "$p: a process a slot" "$(grep '^[0-9]*$' <<<"$pids" | sort -u | grep -c .)" 3
	equal "$p: each slot keeps its own" \
		"$(for n in 1 2 3; do get -n 5 "$T/$p-$n.sock" /x; done | uniq | xargs)" \
		"$(xargs <<<"$pids")"
	parents=$(for pid in $pids; do awk '/^PPid/{print $2}' "/proc/$pid/status"; done | sort -u)
	equal "$p: parents" "$(wc -l <<<"$parents")" 1
	case $p in
	*-exec) equal "$p: the manager is the parent" "$parents" "$MANAGER" ;;
	*) check "$p: a template is the parent" test "$(awk '/^PPid/{print $2}' \
		"/proc/$parents/status")" = "$MANAGER" -a "$parents" != "$MANAGER" ;;
	esac
	old=$(sed -n 2p <<<"$pids")
	kill -9 "$old"
	# One that is about to die may still take a connection with it.
	until_true 10 gone "$old"
	new=$(get -t 20 "$T/$p-2.sock" /x)
	check "$p: a killed one comes back" test -n "$new" -a "$new" != "$old"
	equal "$p: and the others stay" "$(for n in 1 3; do get "$T/$p-$n.sock" /x; done | xargs)" \
		"$(sed -n '1p;3p' <<<"$pids" | xargs)"
done
family=$(descendants "$MANAGER")
berth_stop
equal "exit status" "$STATUS" 0
check "all has gone" all_gone $family
equal "nothing had to be killed at the stop" "$(grep -c 'did not leave' "$LOG")" 0
