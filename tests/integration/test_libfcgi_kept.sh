#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Programs on libfcgi and Perl's FCGI keep connections of many clients: every answer is its own.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/same.sh"

responder=$(helper echo-responder)
cat >"$T/responder.pl" <<'P'
use FCGI;
my $request = FCGI::Request();
while ($request->Accept() >= 0) {
	my ($body, $n, $part) = ("", 0, "");
	my $most = defined $ENV{READ} ? $ENV{READ} : 1 << 30;
	while ($n < $most) {
		my $want = $most - $n < 5000 ? $most - $n : 5000;
		my $got = read(STDIN, $part, $want) or last;
		$n += $got;
	}
	print "Content-Type: text/plain\r\n\r\n$ENV{TOKEN} $n\n";
}
P
chmod 644 "$T/responder.pl"
perl=$(command -v perl) && perl -MFCGI -e 1 2>/dev/null || perl=

pool() {
	printf '%s\n' "[$1]" "listen = $T/$1-%n.sock" "pm = static" "pm.max_children = 2" \
		"$USER_LINE" "program = $2"
}
pools=c
text=$(pool c "'$responder'")
if [ -n "$perl" ]; then
	pools='c perl'
	text=$text$'\n'$(pool perl "$perl '$T/responder.pl'")
else
	say "skip  Perl: its module FCGI (libfcgi-perl) is not installed"
fi
conf "$text"
berth_start

# seen CONNECTION: the answers' lines.
seen() { tr -d '\r' <"$T/ours.$1.out" | grep -av '^Content\|^$' | sed 's/Content-Type.*//' | xargs; }

requests=150
[ -n "${SLOW:-}" ] && requests=3000
for p in $pools; do
	OURS=$T/$p-1.sock
	ours "$p: kept, in turns" keep script=/x env=TOKEN=a get answer on=1 env=TOKEN=b get answer \
		on=0 env=TOKEN=c get answer on=2 close env=TOKEN=d get eof on=1 keep env=TOKEN=e get answer
	equal "$p: one client" "$(seen 0)" "a 0 c 0"
	equal "$p: another one" "$(seen 1)" "b 0 e 0"
	equal "$p: one that is not kept" "$(seen 2)" "d 0"
	ours "$p: at once" keep script=/x env=TOKEN=a get env=TOKEN=b post=30 env=TOKEN=c size=1000 \
		post=100000 id=9 env=TOKEN=d get id=1 env=TOKEN=e close get eof
	equal "$p: several at once" "$(seen 0)" "a 0 b 30 c 100000 d 0 e 0"
	ours "$p: unread bodies" keep script=/x env=TOKEN=a env=READ=0 post=30 answer env=TOKEN=b get answer \
		env=TOKEN=c env=READ=10 post=200000 answer env=TOKEN=d get answer \
		env=TOKEN=e env=READ=10 size=100 post=50000 env=TOKEN=f post=50 answer=2 \
		on=1 env=TOKEN=g get answer on=0 env=TOKEN=h env=READ=1 length=5 begin params body=5 \
		answer body=5000 on=1 env=TOKEN=i get answer on=0 rec=5 env=TOKEN=j get answer
	equal "$p: bodies that are not read" "$(seen 0)" "a 0 b 0 c 10 d 0 e 10 f 50 h 1 j 0"
	equal "$p: another client between them" "$(seen 1)" "g 0 i 0"
	ours "$p: cut everywhere" on=1 keep script=/x env=TOKEN='#####' get on=0 env=TOKEN='#####' get \
		env=TOKEN='#####' length=9 begin params size=4 pad=1 body=9 end each
	equal "$p: cut everywhere, the answers" "$(seen 0 | tr ' ' '\n' | awk 'length == 5 { n++
		if (last && $1 <= last) bad++; last = $1 } END { print (n > 200), bad + 0 }')" "1 0"
	for options in "-k" "-k -p" "-k -x" "-k -p -x" ""; do
		# shellcheck disable=SC2086 # options are words
		"$HELPERS/fcgi-load" -c 24 -n "$requests" $options /x "$T/$p-1.sock" "$T/$p-2.sock" \
			>"$T/load" 2>&1
		equal "$p: 24 clients, fcgi-load $options" \
			"$(sed 's/, slowest.*//' "$T/load")" "answered $((24 * requests)), wrong 0, failed 0"
	done
done
nobody_died
