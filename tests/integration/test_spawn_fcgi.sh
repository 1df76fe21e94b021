#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `berth spawn-fcgi` beside the real one: the same command lines, whose traces are compared. What is
# to differ has a name in the table, by which the manual page has it, and what ours does instead.
. "$(dirname "$0")/lib.sh"
[ "$(id -u)" = 0 ] || skip "half of it takes root"
[ -x /usr/bin/spawn-fcgi ] || skip "spawn-fcgi is not installed"
own_network "$@"
# The number is that of Debian 12; others have other messages.
/usr/bin/spawn-fcgi -v | grep -q 'v1\.6\.[45] ' || skip "spawn-fcgi is another version"
umask 022
PAGE=$(cd "$HERE/../.." && pwd)/docs/berth-spawn-fcgi.1
SIDE_BY_SIDE=10 # command lines at once; most of their time is the tenth of a second that both wait

mkdir "$T/bin" "$T/rows"
cp "$BERTH" "$T/bin/spawn-fcgi"
chmod 755 "$T/bin/spawn-fcgi"
# probe [STATUS]: writes down how it was started, and ends, or stays.
cat >"$T/probe" <<'P'
#!/bin/sh
# With as few processes as can be.
(readlink /proc/$$/fd/[0-9] >"$REPORTS/report.$$") # in the shell, the redirection would be seen
{
	while read -r key value; do
		case $key in
		Uid: | Gid: | Groups: | SigBlk: | SigIgn: | CapEff:) echo "$key $value" ;;
		esac
	done </proc/$$/status
	read -r pid comm state parent group session rest </proc/$$/stat
	[ "$session" = $$ ] && echo "in a session of its own"
	echo "umask $(umask)"
	echo "files $(ulimit -n)"
	echo "folder $(pwd)"
	export -p
	echo end
} >>"$REPORTS/report.$$"
[ $# -eq 0 ] || exit "$1"
exec sleep 100
P
chmod 755 "$T/probe"
PROBE=$T/probe

# run_one PROGRAM FOLDER PORT USER PREPARE ARGUMENTS: all traces of one run, in and beside FOLDER.
run_one() {
	local program=$1 D=$2 PORT=$3 wrap=() LEAK='' WRAP=''
	mkdir -m 777 "$D" "$D.reports"
	chmod 777 "$D" "$D.reports"
	cd "$D" || exit
	eval "$5"
	[ "$4" = root ] || wrap=(setpriv --reuid nobody --regid nogroup --clear-groups)
	# shellcheck disable=SC2206 # several words
	wrap=($WRAP ${wrap[@]+"${wrap[@]}"})
	eval "set -- $6"
	if [ -n "$LEAK" ]; then exec 9</dev/null; fi
	export REPORTS=$D.reports
	timeout 20 ${wrap[@]+"${wrap[@]}"} bash -c 'exec -a spawn-fcgi "$@"' _ "$program" "$@" \
		>"$D.out" 2>"$D.err" </dev/null
	echo $? >"$D.status"
}

# results: brings all traces into a form that can be compared, *.result.
cat >"$T/results" <<'P'
use strict;
my ($sockets, @rows) = @ARGV;
# What a message is about, whatever its words are.
my @classes = (
	[qr/invalid option|unrecognized option/, 'unknown option'],
	[qr/requires an argument/, 'no argument'],
	[qr/no FastCGI application/, 'no program'],
	[qr/no socket given/, 'no socket'],
	[qr/but not both|exclude each other/, 'two sockets'],
	[qr/too long/, 'long path'],
	[qr/valid IP address/, 'address'],
	[qr/invalid port/, 'port'],
	[qr/invalid number/, 'number'],
	[qr/can't find user/, 'user'],
	[qr/can't find group/, 'group'],
	[qr/set uid to 0/, 'root user'],
	[qr/set gid to 0/, 'root group'],
	[qr/WARNING.* uid \d+/, 'unknown uid'],
	[qr/warning: -c is/, 'ignored -c'], [qr/warning: -S is/, 'ignored -S'],
	[qr/warning: -u is/, 'ignored -u'], [qr/warning: -g is/, 'ignored -g'],
	[qr/warning: -U is/, 'ignored -U'], [qr/warning: -G is/, 'ignored -G'],
	[qr/chroot\(/, 'root folder'],
	[qr/chdir\(/, 'working folder'],
	[qr/already in use/, 'in use'],
	[qr/bind failed|removing old socket|chmod socket|socket is empty/, 'bind'],
	[qr/PID-file/, 'pid file'],
	[qr/exec failed/, 'exec'],
	[qr/fork failed/, 'fork'],
	[qr/stdout\/stderr to/, 'no null'],
);
sub classify {
	my ($line) = @_;
	return $line if $line =~ /^spawn-fcgi: child (exited|signaled)/;
	for my $class (@classes) {
		return $class->[1] if $line =~ $class->[0];
	}
	return $line;
}
sub lines {
	my ($path) = @_;
	open(my $file, '<', $path) or return ();
	chomp(my @lines = <$file>);
	return @lines;
}
sub content {
	my ($path) = @_;
	open(my $file, '<', $path) or return '';
	local $/;
	return <$file> // '';
}
sub files {
	my ($folder, $below) = @_;
	opendir(my $handle, "$folder/$below") or return ();
	my @found;
	for my $name (sort grep { !/^\.\.?$/ } readdir $handle) {
		push @found, "$below$name";
		push @found, files($folder, "$below$name/") if !-l "$folder/$below$name" && -d _;
	}
	return @found;
}
sub result {
	my ($run, $port) = @_;
	my @result = ('status ' . content("$run.status"));
	my %pids;
	chomp @result;
	for my $line (lines("$run.out")) {
		$pids{$1} = 1 if $line =~ s/PID: (\d+)/PID: N/;
		# The text of help and version is each program's own.
		$line = 'VERSION' if $line =~ /^spawn-fcgi v/;
		$line = 'HELP' if $line =~ /^Usage/;
		push @result, "out: $line";
		last if $line eq 'HELP';
	}
	push @result, map { 'err: ' . classify($_) } lines("$run.err");
	for my $name (files($run, '')) {
		my @stat = lstat("$run/$name");
		my $kind = -l _ ? 'link' : -d _ ? 'folder' : -S _ ? 'socket' : -f _ ? 'file' : 'other';
		my $text = $kind eq 'file' ? content("$run/$name") : '';
		$text =~ s/\n/\\n/g;
		$text =~ s/(\d+)/$pids{$1} ? 'N' : $1/ge;
		push @result, sprintf('%s %s mode %o owner %d:%d %s', $kind, $name, $stat[2] & 07777,
			@stat[4, 5], $text);
	}
	for (lines($sockets)) {
		my ($family, $state, $queue, $length, $address) = split;
		push @result, "tcp $length $1:PORT" if $family eq 'tcp' && $address =~ /^(.*):$port$/;
		push @result, "unix $length" if $address =~ m|^\Q$run\E/|;
	}
	my @children;
	for my $report (glob "$run.reports/report.*") {
		$report =~ /(\d+)$/;
		my $pid = $1;
		my $text = content($report);
		$text =~ s/(socket|pipe):\[\d+\]/$1/g;
		$text =~ s/^export REPORTS.*\n//m;
		$text =~ s/^/child: /mg;
		push @children, $text;
	}
	return join("\n", @result, sort @children) =~ s/\Q$run\E/DIR/gr =~ s/\b$port\b/PORT/gr . "\n";
}
for my $row (@rows) {
	for my $run ('a', 'b') {
		open(my $file, '>', "$row/$run.result") or die;
		print $file result("$row/$run", content("$row/$run.port"));
	}
}
P

# reports_there: all children that were told of have said how they were started.
reports_there() {
	local told said
	told=$(cat "$T"/rows/*/[ab].out | grep -c 'PID: ')
	# Others write, too, and some of those that were told of are no probes.
	said=$(cat "$T"/rows/*/[ab].reports/report.* | grep -cx end)
	[ "$said" -ge "$((told - OTHERS))" ] && [ "$said" = "$(ls "$T"/rows/*/[ab].reports | grep -c '^report')" ]
}

# complete ROW: of one row.
complete() {
	[ "$(cat "$1"/[ab].reports/report.* 2>/dev/null | grep -cx end)" -ge "$(cat "$1"/[ab].out | grep -c "PID: ")" ]
}

# agrees NUMBER: the difference is what the table says.
agrees() {
	local row=$T/rows/$1
	if [ -z "${ROW_NAME[$1]}" ]; then cmp -s "$row/a.result" "$row/b.result"; else
		! cmp -s "$row/a.result" "$row/b.result" &&
			grep -Eqz -- "${ROW_PATTERN[$1]}" "$row/b.result"
	fi
}

# judge NUMBER: say what is wrong.
judge() {
	local row=$T/rows/$1
	agrees "$1" && return
	fail "${ROW_TEXT[$1]}${ROW_NAME[$1]:+: ${ROW_NAME[$1]}, wanted ${ROW_PATTERN[$1]}}"
	diff -U0 "$row/a.result" "$row/b.result" | tail -n +3 | sed 's/^/      | /' >&2
}

# row USER PREPARE ARGUMENTS: both do the same.
# differ NAME PATTERN USER PREPARE ARGUMENTS: they don't; ours matches PATTERN.
ROW_NAME=(none) ROW_PATTERN=(none) ROW_RUN=(none none none) ROW_TEXT=(none)
ROWS=0
OTHERS=4 # programs of the table that live and write no report
NAMES=()
row() { differ '' '' "$@"; }
differ() {
	ROWS=$((ROWS + 1))
	[ -z "$1" ] || NAMES+=("$1")
	ROW_NAME+=("$1") ROW_PATTERN+=("$2") ROW_TEXT+=("row $ROWS: $3: ${4:+$4; }spawn-fcgi $5")
	ROW_RUN+=("${@:3}")
	launch $ROWS
	[ $((ROWS % SIDE_BY_SIDE)) != 0 ] || wait
}

# launch NUMBER: run both programs in the background.
launch() {
	local row=$T/rows/$1 port=$((30000 + 2 * $1))
	rm -rf "$row"
	mkdir -m 755 "$row"
	printf %s $port >"$row/a.port"
	printf %s $((port + 1)) >"$row/b.port"
	(run_one /usr/bin/spawn-fcgi "$row/a" $port "${ROW_RUN[@]:3*$1:3}") &
	(run_one "$T/bin/spawn-fcgi" "$row/b" $((port + 1)) "${ROW_RUN[@]:3*$1:3}") &
}

# collect NUMBER...: results of these rows; their processes end.
collect() {
	{
		ss -Hltn | sed 's/^/tcp /'
		ss -Hlxn | sed 's/^u_str/unix/'
	} >"$T/sockets"
	perl "$T/results" "$T/sockets" "${@/#/$T/rows/}" || die "no results"
	kill -KILL $(grep -lsxz "BERTH_TEST=$T" /proc/[0-9]*/environ | cut -d/ -f3 |
		grep -vx -e $$ -e $BASHPID) 2>/dev/null
}

# What is asked of the program itself.
row root '' ''
row root '' '-v'
row root '' '-h'
row root '' '-\?'
row nobody '' ''
differ unknown-option 'status 255.*out: HELP.*unknown option' root '' '-x'
differ unknown-option 'status 255.*no argument' root '' '-s'
differ unknown-option 'status 255.*unknown option' nobody '' '--nonsense -s s -- $PROBE'
row root '' '-s s'
row root '' '-- $PROBE'
row root '' '-s s -p $PORT -- $PROBE'
row root '' '-v -s s -- $PROBE'
row root '' '-s s -v -p 9x'

# Ports and addresses.
row root '' '-p $PORT -- $PROBE'
row nobody '' '-p $PORT -- $PROBE'
row root '' '-p $PORT -b 7 -- $PROBE'
row root '' '-a 127.0.0.1 -p $PORT -- $PROBE'
row root '' '-a ::1 -p $PORT -- $PROBE'
row root '' '-a :: -p $PORT -- $PROBE'
row root '' '-a localhost -p $PORT -- $PROBE'
row root '' '-a "" -p $PORT -- $PROBE'
row root '' '-a 192.0.2.1 -p $PORT -- $PROBE'
row root '' '-p 9x -- $PROBE'
row root '' '-p 0 -- $PROBE'
row root '' '-p "" -- $PROBE'
differ port-range 'status 255.*err: port' root '' '-p 85537 -- $PROBE'
differ port-range 'status 255.*err: port' root '' '-p -1 -- $PROBE'
differ short-address 'status 0.*tcp 1024 127.0.0.1:PORT' root '' '-a 127.1 -p $PORT -- $PROBE'

# Unix sockets.
row root '' '-s $D/s -- $PROBE'
row nobody '' '-s $D/s -- $PROBE'
row root '' '-s s -- $PROBE'
row root 'umask 077' '-s $D/s -- $PROBE'
row root 'umask 0' '-s $D/s -- $PROBE'
row root 'umask 077' '-s $D/s -M 0666 -- $PROBE'
row root '' '-s $D/s -M 600 -- $PROBE'
row nobody '' '-s $D/s -M 0 -- $PROBE'
row root '' '-s $D/s -b 3 -- $PROBE'
row root '' '-s $D/s -b 0 -- $PROBE'
row root '' '-s $D/missing/s -- $PROBE'
row nobody 'mkdir -m 755 d' '-s $D/d/s -- $PROBE'
row root '' '-s $D/$(printf "x%.0s" {1..108}) -- $PROBE'
row root 'mkdir s' '-s $D/s -- $PROBE'
row root '/usr/bin/spawn-fcgi -s $D/s -- /bin/true 2>/dev/null' '-s $D/s -- $PROBE'
row root '"$program" -s $D/s -- /bin/sleep 2 >/dev/null' '-s $D/s -- $PROBE'
differ no-delete 'status 255.*err: bind.*file s mode 600' root 'echo x >s; chmod 600 s' '-s $D/s -- $PROBE'
differ bad-number 'status 255.*err: number' root '' '-s $D/s -M 9 -- $PROBE'
differ bad-number 'status 255.*err: number' root '' '-s $D/s -M 777x -- $PROBE'
differ bad-number 'status 255.*err: number' root '' '-s $D/s -b x -- $PROBE'
differ bad-number 'status 255.*err: number' root '' '-s $D/s -C x -- $PROBE'
differ bad-number 'status 255.*err: number' root '' '-s $D/s -F x -- $PROBE'
differ mode-range 'status 255.*err: number' root '' '-s $D/s -M 12345 -- $PROBE'
differ empty-path 'status 255.*err: bind' root '' '-s "" -M 600 -P pid -- $PROBE'

# The program.
row root '' '-s $D/s $PROBE'
row root '' '-s $D/s -- $PROBE 0'
row root '' '-s $D/s -- $PROBE 3'
differ each-checked 'status 3.*exited with: 3.*exited with: 3.*exited with: 3' nobody '' '-s $D/s -F 3 -- $PROBE 3'
row root '' '-s $D/s -- /bin/sh -c "kill -9 \$\$"'
row root '' '-s $D/s -f $PROBE'
row root '' '-s $D/s -f "$PROBE 4"'
row root '' '-s $D/s -f "exit 5" -- $PROBE'
row root '' '-s $D/s -f /missing'
row root '' '-s $D/s -d /usr -- $PROBE'
row nobody '' '-s $D/s -d /missing -- $PROBE'
row root '' '-s $D/s -C 5 -- $PROBE'
row root 'export PHP_FCGI_CHILDREN=3' '-s $D/s -C -1 -- $PROBE'
row root 'export PHP_FCGI_CHILDREN=3' '-s $D/s -C 0 -- $PROBE'
row root 'export PHP_FCGI_MAX_REQUESTS=3; ulimit -n 99; umask 027' '-s $D/s -- $PROBE'
row root '' '-s $D/s -F 3 -- $PROBE'
row root '' '-s $D/s -F 0 -- $PROBE'
row root '' '-s $D/s -F -1 -- $PROBE'
differ exec-message 'status 2.*err: exec.*exited with: 2' root '' '-s $D/s -- /missing'
differ exec-message 'status 13.*err: exec.*exited with: 13' root 'touch p' '-s $D/s -- $D/p'
differ descriptors 'child: socket.*/dev/null' root 'LEAK=1' '-s $D/s -- $PROBE'
differ fork-failed 'status 255.*err: fork' root \
	'export ASAN_OPTIONS=detect_leaks=0 WRAP="prlimit --nproc=1 setpriv --reuid $PORT --regid nogroup --clear-groups"' '-s $D/s -- $PROBE'
differ each-checked 'status 6.*err: spawn-fcgi: child exited with: 6' root 'touch first' \
	'-s $D/s -F 2 -f "sh -c \"rm $D/first && exec sleep 2; sleep 0.03; exit 6\" 2>&1"'

# -n: the process becomes the program.
row root '' '-n -s $D/s -- $PROBE 0'
row root '' '-n -s $D/s -- $PROBE 7'
row nobody '' '-n -p $PORT -C 2 -- $PROBE 7'
row root '' '-n -s $D/s -F 3 -P pid -- $PROBE 7'
row root '' '-n -s $D/s -u www-data -- $PROBE 7'
row root '' '-n -s $D/s -- /missing'
row root 'LEAK=1' '-n -s $D/s -- $PROBE 7'
row root '' '-n -s $D/s -f "echo out; echo err: exec failed >&2"'

# The pid file.
row root '' '-s $D/s -P $D/pid -- $PROBE'
row nobody '' '-s $D/s -P pid -F 3 -- $PROBE'
row root 'echo 1234567890 >pid' '-s $D/s -P pid -M 600 -- $PROBE'
row root 'umask 077' '-s $D/s -P pid -- $PROBE'
row root 'mkdir pid' '-s $D/s -P pid -- $PROBE'
row root '' '-s $D/s -P $D/missing/pid -- $PROBE'
row nobody 'mkdir -m 755 d' '-s $D/s -P $D/d/pid -- $PROBE'
row nobody 'mkdir -m 755 d; echo 1234567890 >d/pid; chmod 666 d/pid' '-s $D/s -P $D/d/pid -- $PROBE'
row root 'mkdir -m 700 d' '-s $D/s -P $D/d/pid -u nobody -F 2 -- $PROBE'
differ pid-unchanged 'status 255.*in use.*file pid .*77' root \
	'"$program" -s $D/s -- /bin/sleep 2 >/dev/null; printf 77 >pid' '-s $D/s -P pid -- $PROBE'
differ pid-unchanged 'status 3.*file pid .*77' root 'printf 77 >pid' '-s $D/s -P pid -- $PROBE 3'
differ pid-nothing 'status 3' root '' '-s $D/s -P pid -- $PROBE 3'
differ pid-nothing 'status 0' root '' '-s $D/s -F 0 -P pid -- $PROBE'
differ pid-link 'status 0.*file old .*77.*file pid .*N' root 'printf 77 >old; ln -s old pid' \
	'-s $D/s -P pid -- $PROBE'

# Root's options.
row root '' '-s $D/s -u www-data -- $PROBE'
row root '' '-s $D/s -u 33 -- $PROBE'
row root '' '-s $D/s -u nobody -g www-data -- $PROBE'
row root '' '-s $D/s -g www-data -- $PROBE'
row root '' '-s $D/s -g 54321 -- $PROBE'
row root '' '-s $D/s -u 54321 -- $PROBE'
row root '' '-s $D/s -u 54321 -g 54322 -- $PROBE'
row root '' '-s $D/s -U nobody -- $PROBE'
row root '' '-s $D/s -U 54321 -G www-data -- $PROBE'
row root '' '-s $D/s -G www-data -- $PROBE'
row root '' '-s $D/s -u www-data -U nobody -- $PROBE'
row root '' '-s $D/s -u www-data -U nobody -G games -M 600 -F 2 -- $PROBE'
row root '' '-p $PORT -u www-data -d /usr -C 4 -- $PROBE'
row root '' '-s $D/s -u missing -- $PROBE'
row root '' '-s $D/s -g missing -- $PROBE'
row root '' '-s $D/s -U missing -- $PROBE'
row root '' '-s $D/s -G missing -- $PROBE'
row root '' '-s $D/s -u root -- $PROBE'
row root '' '-s $D/s -g root -- $PROBE'
row root '' '-s $D/s -U root -- $PROBE'
row root '' '-s $D/s -G root -- $PROBE'
row root '' '-s $D/s -u "" -- $PROBE'
row root 'mkdir -m 700 d' '-s $D/s -u nobody -d $D/d -- $PROBE'
row root '' '-s $D/s -c / -- $PROBE'
row root '' '-s $D/s -c / -u www-data -d /usr -- $PROBE'
row root '' '-s $D/s -c /missing -- $PROBE'
row root '' '-s $D/s -S -c /missing -- $PROBE'
differ big-id 'status 255.*err: user' root '' '-s $D/s -u 99999999999 -- $PROBE'
differ ignored-root 'status 0.*ignored -u.*Uid: 65534' nobody '' '-s $D/s -u www-data -- $PROBE'
differ ignored-root 'status 0.*ignored -c.*ignored -S' nobody '' '-s $D/s -c /missing -S -- $PROBE'
differ ignored-root 'ignored -g.*ignored -U.*ignored -G' nobody '' \
	'-s $D/s -g missing -U root -G root -- $PROBE'
# A leak checker needs /proc.
JAIL='mkdir d; export ASAN_OPTIONS=detect_leaks=0'
differ chroot-null 'status 2.err: exec.*socket d/s' root "$JAIL" '-s /s -c $D/d -- /missing'
differ chroot-null 'status 2.err: exec.*socket s' root "$JAIL" '-s $D/s -S -c $D/d -- /missing'
wait
until_true 10 reports_there || fail "children that do not say how they were started"
collect $(seq $ROWS)
# On a busy machine, who ends at once may take more than the tenth of a second that is looked at.
for try in 1 2; do
	for ((i = 1; i <= ROWS; i++)); do
		agrees $i && continue
		say "again, alone: ${ROW_TEXT[i]}"
		launch $i
		wait
		until_true 2 complete "$T/rows/$i" || :
		collect $i
	done
done
for ((i = 1; i <= ROWS; i++)); do judge $i; done

check "$ROWS command lines, ${#NAMES[@]} of them to differ" test "$ROWS" -ge 60
for name in $(printf '%s\n' "${NAMES[@]}" | sort -u); do
	contains "the page has $name" "$PAGE" "^\.It $name\$"
done
for name in $(sed -n '/^\.Sh DIFFERENCES/,$s/^\.It //p' "$PAGE"); do
	# Not seen from outside by a command line alone.
	[ "$name" = no-delay ] || check "a row shows $name" grep -qx "$name" <(printf '%s\n' "${NAMES[@]}")
done

# The options of the program are those of the page.
"$T/bin/spawn-fcgi" -h | grep -oE '^  -[-a-zA-Z]+' | tr -d ' ' | sort -u >"$T/program"
sed -n '/^\.Sh DESCRIPTION/,/^\.Sh ENVIRONMENT/s/^\.It Fl \([-a-zA-Z]*\).*/-\1/p' "$PAGE" | sort -u >"$T/page"
"$T/bin/spawn-fcgi" -h | grep -qE '^  -\?, -h ' && echo -h >>"$T/program"
equal "options that one of program and page lacks" "$(sort -u "$T/program" | grep -vx -- - | comm -3 - "$T/page" | xargs)" ""
