# SPDX-License-Identifier: BSD-2-Clause
# Sourced by every whole-system test: a folder of its own, waiting with deadlines, checks.
#
# Needs BERTH (the program) and HELPERS (the folder of the tests' own programs) in the
# environment; CMake sets both. Everything a test makes is below $T, which is removed at the end
# with every process that the test started.

set -u
set -o pipefail
: "${BERTH:?path of the berth program}" "${HELPERS:?folder of the test programs}"
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
PHP=${PHP:-php-cgi}
T=$(mktemp -d "${TMPDIR:-/tmp}/berth-test.XXXXXX")
chmod 755 "$T"
FAILURES=$(mktemp "${TMPDIR:-/tmp}/berth-failures.XXXXXX")
PIDS=()
# What a test's own programs start has this in its environment.
export BERTH_TEST=$T

say() { printf '%s\n' "$*"; }

# fail TEXT: note a failure and go on.
fail() {
	printf 'FAIL  %s\n' "$*" >&2
	# In a file, as this may run in a subshell.
	echo x >>"$FAILURES"
}

# die TEXT: the rest of the test makes no sense.
die() {
	fail "$*"
	exit 1
}

# skip TEXT: this machine can't do it; CTest shows it as skipped.
skip() {
	say "SKIP  $*"
	SKIPPED=1
	exit 77
}

# check TEXT COMMAND...: COMMAND must succeed.
check() {
	local text=$1
	shift
	if "$@"; then say "ok    $text"; else fail "$text"; fi
}

# equal TEXT SEEN WANTED
equal() {
	if [ "$2" = "$3" ]; then say "ok    $1: $2"; else fail "$1: $2, wanted $3"; fi
}

# contains TEXT FILE PATTERN: an extended regular expression matches a line of FILE.
contains() {
	if grep -Eq -- "$3" "$2"; then say "ok    $1"; else
		fail "$1: no line of ${2##*/} matches: $3"
		sed 's/^/      | /' "$2" | cut -c1-200 | tail -20 >&2
	fi
}

# until_true SECONDS COMMAND...: wait for a condition; false when the time is over.
until_true() {
	local end=$((SECONDS + $1))
	shift
	until "$@"; do
		[ $SECONDS -le $end ] || return 1
		sleep 0.02
	done
}

# alive PID: between two looks a process may have gone, which is no state.
alive() {
	local state
	state=$(awk '/^State/{print $2}' "/proc/$1/status" 2>/dev/null)
	[ -n "$state" ] && [ "$state" != Z ]
}
gone() { ! alive "$1"; }
all_gone() {
	local p
	for p; do alive "$p" && return 1; done
	return 0
}
is_stopped() { [ "$(awk '/^State/{print $2}' "/proc/$1/status")" = T ]; }
# freeze PID...: stop processes, and wait until they are: the signal takes effect a little later.
freeze() {
	local p
	kill -STOP "$@"
	for p; do until_true 10 is_stopped "$p" || die "pid $p can't be stopped"; done
}
children() { cat /proc/"$1"/task/*/children 2>/dev/null; }
# fds PID: how many descriptors it has.
fds() { ls "/proc/$1/fd" | wc -l; }

# descendants PID...: the pids and all that descend from them.
descendants() {
	local p
	for p; do
		[ -e "/proc/$p" ] || continue
		echo "$p"
		descendants $(children "$p")
	done
}

# zombies PID: the zombies among its descendants.
zombies() {
	local p
	for p in $(descendants "$1"); do
		[ "$(awk '/^State/{print $2}' "/proc/$p/status" 2>/dev/null)" = Z ] && echo "$p"
	done
	return 0
}

# ours PID: a number may belong to somebody else's process by now.
ours() {
	[ -e "/proc/$1" ] || return 1
	[ "$(awk '/^PPid:/ { print $2 }' "/proc/$1/status")" = $$ ] ||
		grep -qsxz "BERTH_TEST=$T" "/proc/$1/environ" ||
		[ "$(cat "/proc/$1/comm")" = "${PHP##*/}" ]
} 2>/dev/null

cleanup() {
	local status=$? failures p
	trap - EXIT
	failures=$(wc -l <"$FAILURES")
	rm -f "$FAILURES"
	{
		for p in ${PIDS[@]+"${PIDS[@]}"}; do
			ours "$p" || continue
			# Stopped first, a manager can't replace what is ended before it.
			kill -STOP "$p"
			kill -KILL $(descendants "$p")
		done
		wait
	} 2>/dev/null # where the shell tells of each job that was killed
	if [ -n "${KEEP:-}" ]; then say "kept $T"; else rm -rf "$T"; fi
	[ "${SKIPPED:-}" = 1 ] && exit 77
	if [ "$failures" -gt 0 ] || [ $status -ne 0 ]; then
		[ "$failures" -gt 0 ] || say "FAIL  the test ended with status $status" >&2
		exit 1
	fi
	say "PASS"
}
trap cleanup EXIT

# own_network ARG...: go on in a network (and mount) namespace of its own that has only lo; the
# test's own "$@" is passed on. To be called first.
own_network() {
	if [ -n "${OWN_NETWORK:-}" ]; then
		ip link set lo up || die "lo can't be set up"
		return
	fi
	unshare -nm true 2>/dev/null || skip "no network namespace of its own: needs root"
	rm -rf "$T"
	OWN_NETWORK=1 exec unshare -nm bash "$0" "$@"
}

# get ADDRESS SCRIPT [NAME=VALUE...]: the body of one request.
get() { "$HELPERS/fcgi-get" "$@"; }

# hold NAME SOCKET SCRIPT [ARG...]: start fcgi-hold, which keeps connections in any state.
# tell NAME COMMAND...: have it obey a command; prints its answer.
declare -A HOLD_IN=() HOLD_OUT=() HOLD_PID=()
hold() {
	local in out name=$1
	shift
	mkfifo "$T/hold-$name.in" "$T/hold-$name.out"
	"$HELPERS/fcgi-hold" "${@:3}" "$1" "$2" <"$T/hold-$name.in" >"$T/hold-$name.out" &
	PIDS+=("$!")
	HOLD_PID[$name]=$!
	exec {in}>"$T/hold-$name.in" {out}<"$T/hold-$name.out"
	rm "$T/hold-$name.in" "$T/hold-$name.out"
	HOLD_IN[$name]=$in HOLD_OUT[$name]=$out
}
tell() {
	local answer="no answer"
	printf '%s\n' "${*:2}" >&"${HOLD_IN[$1]}"
	read -r -t 120 answer <&"${HOLD_OUT[$1]}"
	printf '%s\n' "$answer"
}
# release NAME: end it, and its connections.
release() {
	local in=${HOLD_IN[$1]} out=${HOLD_OUT[$1]}
	exec {in}>&- {out}<&-
	# Programs started since then have the pipe as well, so it may see no end of file.
	kill "${HOLD_PID[$1]}" 2>/dev/null
	wait "${HOLD_PID[$1]}" 2>/dev/null
	return 0
}

# helper NAME: a copy of a test program that every user may run; prints its path.
helper() { cp "$HELPERS/$1" "$T/$1" && chmod 755 "$T/$1" && echo "$T/$1"; }

# script NAME CODE: a PHP script that every user may read; prints its path.
script() {
	printf '%s' "$2" >"$T/$1"
	chmod 644 "$T/$1"
	echo "$T/$1"
}

# conf TEXT: writes $T/berth.conf. As root, `user = www-data` is what most tests want: $USER_LINE.
if [ "$(id -u)" = 0 ]; then USER_LINE='user = www-data'; else USER_LINE=''; fi
conf() { printf '%s\n' "$1" >"$T/berth.conf"; }

# pool_conf [LINE...]: one pool "www" of 4 workers on $T/www-%n.sock, with more lines.
pool_conf() {
	conf "[www]
listen = $T/www-%n.sock
pm = static
pm.max_children = 4
$USER_LINE
program = $PHP -d apc.enabled=1
$(printf '%s\n' "$@")"
}

# berth_launch ARG...: start berth in the background; $MANAGER is its pid, $LOG its output.
berth_launch() {
	LOG=$T/log.$((${#PIDS[@]} + 1))
	: >"$LOG"
	# A background job of a shell without job control has SIGINT and SIGQUIT ignored.
	env --default-signal=INT,QUIT "$BERTH" run "$@" >"$LOG" 2>&1 </dev/null &
	MANAGER=$!
	PIDS+=("$MANAGER")
}

is_ready() { grep -q 'notice: ready, pid' "$LOG"; }
ready_or_gone() { is_ready || gone "$MANAGER"; }

# berth_start [ARG...]: start it and wait until it is ready; default -c $T/berth.conf.
berth_start() {
	[ $# -gt 0 ] || set -- -c "$T/berth.conf"
	berth_launch "$@"
	until_true 40 ready_or_gone
	is_ready && return 0
	sed 's/^/      | /' "$LOG" >&2
	die "berth did not get ready"
}

# berth_stop [SIGNAL]: stop it; $STATUS is its exit status.
berth_stop() {
	kill -"${1:-TERM}" "$MANAGER"
	until_true 40 gone "$MANAGER" || die "berth did not stop"
	wait "$MANAGER"
	STATUS=$?
}

# berth_fails [ARG...]: run it to its end, which must come by itself; $STATUS, $LOG.
berth_fails() {
	[ $# -gt 0 ] || set -- -c "$T/berth.conf"
	berth_launch "$@"
	until_true 40 gone "$MANAGER" || die "berth goes on"
	wait "$MANAGER"
	STATUS=$?
}

template_pid() { children "$MANAGER" | awk '{print $1}'; }
# workers: pids of the workers of a template pool.
workers() { children "$(template_pid)"; }
# Ports of this test alone, below those that berth-bench and the kernel choose from. CTest gives each
# test its own hundred.
PORTS=${PORTS:-$((10000 + $$ % 100 * 100))}
# free_port [COUNT]: a port P of 127.0.0.1 with P .. P+COUNT free. None is given twice.
free_port() {
	local p n=${1:-1} i busy
	busy=$(cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | awk '{n=split($2,a,":"); print a[n]}')
	p=$(cat "$T/next-port" 2>/dev/null || echo "$PORTS")
	for (( ; p + n < PORTS + 100; p++)); do
		for ((i = 0; i <= n; i++)); do
			grep -qx "$(printf '%04X' $((p + i)))" <<<"$busy" && continue 2
		done
		echo $((p + n + 1)) >"$T/next-port"
		echo "$p"
		return
	done
	die "no port is free in $PORTS .. $((PORTS + 99))"
}

# nginx_start UPSTREAM_SERVERS [LOCATION_LINES]: nginx on $NGINX_PORT for scripts below $T.
nginx_start() {
	local nginx
	nginx=$(PATH=$PATH:/usr/sbin command -v nginx) || die "nginx is not installed"
	NGINX_PORT=$(free_port)
	cat >"$T/nginx.conf" <<-N
		$([ "$(id -u)" = 0 ] && echo 'user www-data;')
		worker_processes 2; daemon off; pid "$T/nginx.pid"; error_log "$T/nginx.log" error;
		events { worker_connections 1024; }
		http {
			access_log off;
			client_body_temp_path "$T/nginx-b"; fastcgi_temp_path "$T/nginx-f";
			proxy_temp_path "$T/nginx-p"; uwsgi_temp_path "$T/nginx-u";
			scgi_temp_path "$T/nginx-s";
			upstream php { zone php 256k; least_conn; $1 }
			server {
				listen 127.0.0.1:$NGINX_PORT; root "$T";
				location / {
					include /etc/nginx/fastcgi_params;
					fastcgi_param SCRIPT_FILENAME \$document_root\$fastcgi_script_name;
					fastcgi_pass php;
					${2:-}
				}
			}
		}
	N
	"$nginx" -c "$T/nginx.conf" -p "$T" -e "$T/nginx.log" >"$T/nginx.out" 2>&1 &
	NGINX=$!
	PIDS+=("$NGINX")
	until_true 10 port_open "$NGINX_PORT" || die "nginx did not start: $(cat "$T/nginx.out")"
}
# queued PATH: how many connections wait in the queue of a unix socket.
queued() { ss -xlH | awk -v a=" $1 " 'index($0, a) { print $3 }'; }
is_queued() { [ "$(queued "$1")" = "$2" ]; }
port_open() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# upstream_servers N: "server unix:/..-1.sock max_fails=0; ..." for nginx_start.
upstream_servers() {
	local i
	for ((i = 1; i <= $1; i++)); do printf 'server "unix:%s/www-%d.sock" max_fails=0; ' "$T" "$i"; done
}
