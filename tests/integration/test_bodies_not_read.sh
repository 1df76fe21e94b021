#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What a script leaves of its body, and what a client sends too much or too little of: it never
# becomes a request, never delays or resets an answer, never meets another client.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/same.sh"

all=$(script all.php '<?php $b = file_get_contents("php://input");
echo "<", $_SERVER["TOKEN"], " ", strlen($b), ">";')
none=$(script none.php '<?php echo "<", $_SERVER["TOKEN"], ">";')
half=$(script half.php '<?php $f = fopen("php://input", "r"); $n = 0;
while ($n < $_SERVER["CONTENT_LENGTH"] / 2) $n += strlen(fread($f, 1000));
echo "<", $_SERVER["TOKEN"], ">"; ')
exits=$(script exits.php '<?php echo "<", $_SERVER["TOKEN"], ">"; flush(); exit(1);')
both_start 1

# answers TEXT CONNECTION WANTED: the tokens that came on a connection.
RIGHT=0
answers() {
	local seen
	seen=$(grep -ao "<[^>]*>" "$T/ours.$2.out" | tr -d "<>" | xargs)
	if [ "$seen" = "$3" ]; then RIGHT=$((RIGHT + 1)); else fail "$1: $seen, wanted $3"; fi
}
# closed TEXT: one answer, and a proper end behind it.
closed() {
	if [ "$(cat "$T/ours.end")" = "0: 1 answers, eof" ]; then RIGHT=$((RIGHT + 1)); else
		fail "$1: $(xargs <"$T/ours.end")"
	fi
}

for size in 100 8192 65535; do
	for body in 20 70000 400000; do
		[ $((body / size)) -gt 1000 ] && continue
		for s in "$none" "$half" "$exits" "$all"; do
			name=$(basename "$s" .php)
			ours "$name, body $body in $size, kept" size=$size keep script="$s" env=TOKEN=a \
				post=$body answer script="$none" env=TOKEN=b get answer \
				on=1 env=TOKEN=c get answer on=0 env=TOKEN=d get answer
			[ "$s" = "$all" ] && a="a $body" || a=a
			answers "$name, body $body in $size, kept" 0 "$a b d"
			answers "another client" 1 c
			ours "$name, body $body, pipelined" size=$size keep script="$s" env=TOKEN=a post=$body \
				script="$none" env=TOKEN=b get env=TOKEN=c get answer=3
			answers "$name, body $body in $size, pipelined" 0 "$a b c"
			ours "$name, body $body, not kept" size=$size script="$s" env=TOKEN=a post=$body eof
			answers "$name, body $body in $size, not kept" 0 "$a"
			closed "its end"
		done
	done
done

# The script has all that it was told of, and the answer is out, when more of the body comes. Stock
# takes that for a record and closes; the worker passes over it.
ours "more behind the answer" keep script="$all" env=TOKEN=a length=1000 begin params body=1000 answer \
	on=1 env=TOKEN=b get answer on=0 body=49000 rec=5 env=TOKEN=c get answer
answers "more behind the answer: the next request" 0 "a 1000 c 0"
answers "more behind the answer: another client in between" 1 "b 0"
ours "more in pieces" keep script="$all" env=TOKEN=a length=10 begin params body=10 answer \
	body=4000 cut=5 on=1 env=TOKEN=b get answer on=0 cut=1000 on=1 env=TOKEN=c get answer \
	on=0 rec=5 env=TOKEN=d get answer
answers "more in pieces" 0 "a 10 d 0"
answers "another client between the pieces" 1 "b 0 c 0"
# The content of this record is a whole request for the script, with the token "trap".
pairs=$(printf '\017\\%03o' ${#none} | xargs -0 printf | od -An -tx1 | tr -d ' \n'
	printf 'SCRIPT_FILENAME%s\005\004TOKENtrap\016\003REQUEST_METHODGET' "$none" |
		od -An -v -tx1 | tr -d ' \n')
inner=0101000100080000000101000000000001040001$(printf %04x $((${#pairs} / 2)))0000${pairs}0104000100000000
inner=${inner}0105000100000000
outer=01050001$(printf %04x $((${#inner} / 2)))0000$inner
# The bytes of the trap are a request indeed.
ours "the trap" hex="$inner" answer
answers "the trap works outside of a body" 0 trap
ours "a trap in the body" keep script="$all" env=TOKEN=a length=10 begin params body=10 answer \
	hex="$outer" rec=5 env=TOKEN=b get answer silent=50
answers "a request inside of what is left" 0 "a 10 b 0"
ours "a trap at once" keep script="$all" env=TOKEN=a length=10 begin params body=10 hex="$outer" rec=5 \
	env=TOKEN=b get answer=2 silent=50
answers "a request inside of what is left, all at once" 0 "a 10 b 0"
for size in 1 5 8 9 20 40 60 90; do
	[ $size -lt $((${#inner} / 2)) ] || continue
	ours "a trap in pieces of $size" keep script="$all" env=TOKEN=a length=10 begin params body=10 \
		answer hex="$outer" cut=$size on=1 env=TOKEN=c get answer on=0 cut=$size rec=5 \
		env=TOKEN=b get answer silent=20
	answers "a request inside of what is left, in pieces of $size" 0 "a 10 b 0"
	answers "and another client between them" 1 "c 0"
done
ours "no end of the input" keep script="$none" env=TOKEN=a begin params answer env=TOKEN=b get answer
answers "the empty STDIN record left out" 0 "a b"
ours "padding behind the end" keep script="$none" env=TOKEN=a pad=200 get answer env=TOKEN=b get answer
answers "an empty STDIN record with padding" 0 "a b"

# A script that has taken a part of a record: php-cgi itself closes then, kept or not. The answer
# is whole, what follows on this connection is not run, and the next connection is fresh.
for body in 100 50000 3000000; do
	for size in 64 65535; do
		[ $((body / size)) -gt 1000 ] && continue
		ours "longer, $body in $size, not kept" size=$size script="$all" env=TOKEN=a length=40 \
			post=$body eof
		answers "longer, $body in $size, not kept" 0 "a 40"
		closed "longer, $body in $size, not kept"
		ours "longer, $body in $size, kept" keep size=$size script="$all" env=TOKEN=a length=40 \
			post=$body eof on=1 env=TOKEN=b get answer
		answers "longer, $body in $size, kept" 0 "a 40"
		answers "the next connection" 1 "b 0"
		ours "longer, $body in $size, another behind it" keep size=$size script="$all" \
			env=TOKEN=a length=40 post=$body env=TOKEN=b get eof
		answers "longer, $body in $size, another behind it" 0 "a 40"
		closed "longer, $body in $size, another behind it"
	done
done

# Shorter: stock hangs until its client closes; here the script gets what there is.
ours "shorter, kept" keep script="$all" env=TOKEN=a length=100 post=40 answer \
	script="$none" env=TOKEN=b get answer on=1 env=TOKEN=c get answer on=0 env=TOKEN=d get answer
answers "shorter, kept" 0 "a 40 b d"
answers "shorter: another client" 1 "c"
ours "shorter, not kept" script="$all" env=TOKEN=a length=100 post=40 eof
answers "shorter, not kept" 0 "a 40"
closed "shorter, not kept"
ours "shorter, pipelined" keep script="$all" env=TOKEN=a length=100000 post=40 env=TOKEN=b length=5 \
	post=4 script="$none" env=TOKEN=c get answer=3
answers "shorter, pipelined" 0 "a 40 b 4 c"
ours "shorter, script reads none" keep script="$none" env=TOKEN=a length=100 post=40 answer env=TOKEN=b \
	length=100 post=40 answer on=1 env=TOKEN=c get answer
answers "shorter, script reads none" 0 "a b"
answers "shorter: a client behind it" 1 c
ours "nothing of it" keep script="$all" env=TOKEN=a length=100 post=0 answer env=TOKEN=b post=1 answer
answers "no body at all" 0 "a 0 b 1"

same "longer, not kept" script="$all" env=TOKEN=a length=40 post=100 eof
same "longer by far, not kept" script="$all" env=TOKEN=a length=40 post=50000 eof
same "no body wanted, but one there" script="$all" env=TOKEN=a length=0 post=50 eof
same "longer, kept" keep script="$all" env=TOKEN=a length=40 post=100 eof
alike "what stock can answer" 4
equal "answers and ends were right" "$RIGHT" 223
nobody_died
