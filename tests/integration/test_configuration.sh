#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# berth check and berth run on good and bad configurations: what they print, their exit statuses,
# and that a bad one starts nothing.
. "$(dirname "$0")/lib.sh"

pid_script=$(script pid.php '<?php echo getmypid(), "\n";')
sockets() { find "$T" -type s | wc -l; }

# good_check TEXT ARG...: accepted, nothing on standard error.
good_check() {
	local text=$1
	shift
	"$BERTH" check "$@" >"$T/out" 2>"$T/err"
	equal "$text: exit status" "$?" 0
	equal "$text: no complaint" "$(cat "$T/err")" ""
	contains "$text: it says so" "$T/out" 'configuration OK$'
}

# refuses TEXT LINE_NUMBER KEY REASON LINE...: check and run say FILE:LINE: KEY: REASON and end
# with 100; nothing is started. KEY may be empty.
refuses() {
	local text=$1 where=$T/berth.conf${2:+:$2} key=${3:+$3: } reason=$4
	shift 4
	conf "$(printf '%s\n' "$@")"
	refuses_file "$text" "^berth: $(escape "$where: $key").*$reason"
}
escape() { sed 's/[][().*+?^$|\\{}]/\\&/g' <<<"$1"; }
refuses_file() {
	"$BERTH" check -c "$T/berth.conf" >"$T/out" 2>"$T/err"
	equal "$1: check's exit status" "$?" 100
	contains "$1: check's reason" "$T/err" "$2"
	equal "$1: check prints nothing else" "$(cat "$T/out")" ""
	berth_fails
	equal "$1: run's exit status" "$STATUS" 100
	check "$1: run says the same" cmp "$LOG" "$T/err"
	equal "$1: nothing was started" "$(sockets)" 0
}

pool=("[www]" "listen = $T/www-%n.sock" "pm.max_children = 2" "$USER_LINE")

# What it understood is a configuration that means the same.
conf "[global]
log_level = warning
process_control_timeout = 7

; a comment
[www]
listen = $T/\$pool-%n.sock
listen = 127.0.0.1:0
pm = static
pm.max_children = 3
$USER_LINE
env[A] = \"a b\"
php_admin_value[memory_limit] = 77M
program = $PHP -d 'a=b c'
[other]
listen = @other-$$
pm.max_children = 1
spawn = exec
$USER_LINE"
good_check "two pools" -c "$T/berth.conf"
cp "$T/out" "$T/first"
for line in '\[www\]' "listen = \"?$T/www-%n.sock\"?" 'pm.max_children = 3' 'env\[A\] = "a b"' \
	'php_admin_value\[memory_limit\] = 77M' 'process_control_timeout = 7s' '\[other\]' 'spawn = exec' \
	'log_level = warning'; do
	contains "two pools: understood: $line" "$T/out" "^$line\$"
done
cp "$T/out" "$T/berth.conf"
good_check "what was printed" -c "$T/berth.conf"
check "what was printed means the same" cmp "$T/out" "$T/first"
equal "a check starts nothing" "$(sockets)" 0

refuses "unknown key" 5 "pm.max_childs" "did you mean pm.max_children" "${pool[@]}" "pm.max_childs = 3"
refuses "php-fpm's key" 5 "pm.status_path" "php-fpm key that berth does not have" "${pool[@]}" \
	"pm.status_path = /status"
refuses "key of the other kind" 2 "listen" "section of a pool" "[global]" "listen = /x"
refuses "not a number" 3 "pm.max_children" "'many' is not accepted.*whole number" "[www]" \
	"listen = $T/www-%n.sock" "pm.max_children = many" "$USER_LINE"
refuses "number out of range" 3 "pm.max_children" "'0' is not accepted" "[www]" \
	"listen = $T/www-%n.sock" "pm.max_children = 0" "$USER_LINE"
refuses "no number" 1 "pm.max_children" "no number of workers" "[www]" "listen = $T/www-%n.sock" "$USER_LINE"
refuses "no address" 1 "listen" "no address" "[www]" "pm.max_children = 1" "$USER_LINE"
refuses "bad time" 5 "process_control_timeout" "'1 week' is not accepted" "${pool[@]}" \
	"process_control_timeout = 1 week"
refuses "bad mode" 5 "listen.mode" "'0999' is not accepted.*octal" "${pool[@]}" "listen.mode = 0999"
refuses "bad switch" 5 "clear_env" "'perhaps' is not accepted" "${pool[@]}" "clear_env = perhaps"
refuses "bad process manager" 5 "pm" "needs pm.min_spare_servers" "${pool[@]}" "pm = dynamic"
refuses "relative folder" 5 "chdir" "absolute" "${pool[@]}" "chdir = here"
refuses "bad variable" 5 "env[1A]" "no name for a variable" "${pool[@]}" "env[1A] = x"
refuses "berth's variable" 5 "env[LD_PRELOAD]" "berth sets this variable" "${pool[@]}" "env[LD_PRELOAD] = x"
refuses "unclosed quote" 5 "" "." "${pool[@]}" 'program = "php-cgi'
refuses "no key" 5 "" "." "${pool[@]}" 'what is this'
refuses "key twice" 5 "pm.max_children" "given twice, first at .*:3;" "${pool[@]}" "pm.max_children = 4"
refuses "section twice" 5 "" "www.* is there twice, first at .*:1;" "${pool[@]}" "[www]"
refuses "bad section" 1 "" "no name for a pool" "[a/b]" "${pool[@]:1}"
refuses "two pools on one path" 6 "listen" \
	"www-2.sock collides with .*/www-2.sock \(slot 2\) of pool www" "${pool[@]}" "[b]" "listen = $T/www-2.sock" \
	"pm.max_children = 1" "$USER_LINE"
refuses "two pools on one port" 6 "listen" "0.0.0.0:19001 collides with 127.0.0.1:19001 \(slot 1\) of pool www" "[www]" \
	"listen = 127.0.0.1:19000+%n" "pm.max_children = 2" "$USER_LINE" "[b]" \
	"listen = 0.0.0.0:19001" "pm.max_children = 1" "$USER_LINE"
refuses "port above 65535" 2 "listen" "65534\+%n|65535" "[www]" "listen = 127.0.0.1:65534+%n" \
	"pm.max_children = 2" "$USER_LINE"
refuses "missing include" 5 "include" "none.conf: can't be read: No such file" "${pool[@]}" \
	"include = $T/none.conf"
refuses "include of itself" 5 "include" "include one another" "${pool[@]}" "include = berth.conf"
refuses "no pool" "" "" "." "[global]" "log_level = notice"
refuses "empty file" "" "" "." ""

# The name of the last slot is the longest: what fits for slot 9 need not fit for slot 10.
fill=$(printf '%*s' $((107 - ${#T} - 8)) '' | tr ' ' x) # /x...x-N.sock has 107 bytes for one digit
conf "[www]
listen = $T/$fill-%n.sock
pm.max_children = 9
$USER_LINE"
good_check "longest path" -c "$T/berth.conf"
refuses "path too long for the last slot" 2 "listen" "." "[www]" "listen = $T/$fill-%n.sock" \
	"pm.max_children = 10" "$USER_LINE"

# Every error is told at once.
conf "[global]
log_level = loud
[www]
listen = nonsense:port
pm.max_children = -3
listen.mode = 8
pm.colour = red
$USER_LINE
[b]"
"$BERTH" check -c "$T/berth.conf" >/dev/null 2>"$T/err"
equal "many errors: exit status" "$?" 100
for where in 2:\ log_level 4:\ listen 5:\ pm.max_children 6:\ listen.mode 7:\ pm.colour 9:\ listen \
	9:\ pm.max_children; do
	contains "many errors: $where" "$T/err" "^berth: $T/berth.conf:$where: "
done

# Files: by name, by wildcard, none, the default one.
mkdir -p "$T/conf.d"
for name in b a; do
	printf '[%s]\nlisten = %s\npm.max_children = 1\n%s\n' "$name" "$T/$name.sock" "$USER_LINE" \
		>"$T/conf.d/$name.conf"
done
echo 'not to be read' >"$T/conf.d/c.conf.old"
conf "include = conf.d/*.conf"
good_check "include" -c "$T/berth.conf"
equal "include: in order" "$(grep '^\[' "$T/out" | grep -v global | xargs)" "[a] [b]"
berth_start
for name in a b; do
	get "$T/$name.sock" "$pid_script" >"$T/out"
	equal "include: pool $name runs" "$?" 0
done
berth_stop
echo 'pm.max_children = 0' >>"$T/conf.d/a.conf"
refuses_file "error in an included file" "^berth: $T/conf.d/a.conf:5: pm.max_children: "
conf "include = none.d/*.conf
$(printf '%s\n' "${pool[@]}")"
good_check "wildcard without a match" -c "$T/berth.conf"

"$BERTH" check -c "$T/none.conf" >"$T/out" 2>"$T/err"
equal "missing file: exit status" "$?" 100
contains "missing file: the reason" "$T/err" "^berth: $T/none.conf: can't be read: No such file or directory\$"
"$BERTH" check >"$T/out" 2>"$T/err"
status=$?
"$BERTH" check -c /etc/berth/berth.conf >"$T/out2" 2>"$T/err2"
equal "default file: exit status" "$status" "$?"
check "default file: output" cmp "$T/out" "$T/out2"
check "default file: errors" cmp "$T/err" "$T/err2"
[ -e /etc/berth/berth.conf ] ||
	contains "default file: its name" "$T/err" '^berth: /etc/berth/berth.conf: '

# The example that comes with berth; its pool runs as www-data if berth is root.
example=$HERE/../../conf/berth.conf
"$BERTH" check -c "$example" >"$T/out" 2>"$T/err"
equal "example: exit status" "$?" 0
equal "example: no error" "$(grep -vc 'warning: .*ignored: not started as root' "$T/err")" 0
contains "example: it says so" "$T/out" 'configuration OK$'

# Without a file.
user=()
[ -z "$USER_LINE" ] || user=(--user www-data)
berth_start --listen "$T/www-%n.sock" --children 2 "${user[@]}" -- "$PHP" -d memory_limit=79M
equal "no file: workers" "$(workers | wc -w)" 2
limit=$(script limit.php '<?php echo ini_get("memory_limit"), "\n";')
equal "no file: the program's arguments" "$(get "$T/www-2.sock" "$limit")" 79M
berth_stop
equal "no file: exit status" "$STATUS" 0
good_check "no file" --listen "$T/www-%n.sock" --children 2 "${user[@]}" -o 'env[A]=b=c'
contains "no file: -o" "$T/out" '^env\[A\] = "?b=c"?$'

# words TEXT STATUS STREAM PATTERN ARG...
words() {
	local text=$1 status=$2 stream=$3 pattern=$4
	shift 4
	"$BERTH" "$@" >"$T/out" 2>"$T/err"
	equal "$text: exit status" "$?" "$status"
	contains "$text: what it says" "$T/$stream" "$pattern"
	[ "$stream" = out ] && stream=err || stream=out
	equal "$text: nothing else" "$(cat "$T/$stream")" ""
}
for word in help --help -h; do words "$word" 0 out '^Usage: berth run' $word; done
for word in version --version -V; do words "$word" 0 out '^berth [0-9]+\.[0-9]+' $word; done
words "run --help" 0 out '^Usage: berth run' run --help
words "no verb" 100 err '^berth: command line: the verb is missing'
words "unknown verb" 100 err '^berth: command line: start: unknown verb' start
words "option before the verb" 100 err '^berth: command line: -c: options stand behind' -c x
words "unknown option" 100 err '^berth: command line: --children-max: unknown option' run --children-max 3
words "missing argument" 100 err '^berth: command line: --listen: its argument is missing' run --listen
words "file and pool" 100 err 'not accepted together with -c' run -c /x --listen /y
words "no children" 100 err '^berth: command line: --children: ' check --listen "$T/x.sock"
words "bad number" 100 err "^berth: command line: --children: 'x' is not accepted" check --listen "$T/x.sock" --children x
words "no program" 100 err '^berth: command line: --: the program is missing' check --listen /x --children 1 --
