#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Runs a command beside a real systemd that is booted for it: boot.sh COMMAND [ARG...]
#
# The machine is made of namespaces (pid, mount, cgroup, network, uts, ipc) around this one's files.
# Its /run and /dev are its own, and what is written to /etc, /usr, /opt, /var, /root and /tmp lands
# on overlays in memory, so nothing is left when it ends. The only units are those of the folder units/
# and what the command puts into /run/systemd/system; so it is up in a fraction of a second. It is
# no prison: root in there is root.
#
# The command is no service: it has this script's terminal, environment and folder. Its exit status
# is this script's, but for 77: such a machine can't be had here, the reason is on standard error.
# 125: it should be possible, but did not boot.
#
# Stages: outside -> "build" (own mounts, waits and tears down) -> "init" (pid 1 of the machine).
set -u
self=$(readlink -f "$0")
units=${self%/*}/units
systemd=/usr/lib/systemd/systemd
[ -x $systemd ] || systemd=/lib/systemd/systemd

no() {
	echo "boot.sh: no machine with systemd here: $*" >&2
	exit 77
}

outside() {
	local tool version
	[ "$(id -u)" = 0 ] || no "it takes root to make one"
	[ -x $systemd ] || no "systemd is not installed"
	version=$($systemd --version | awk 'NR == 1 { print $2 }')
	[ "$version" -ge 247 ] || no "systemd $version is older than 247"
	for tool in unshare nsenter setpriv mount systemctl journalctl; do
		command -v $tool >/dev/null || no "$tool is not installed"
	done
	grep -qw cgroup2 /proc/filesystems || no "the kernel has no cgroup v2"
	grep -qw overlay /proc/filesystems || modprobe overlay 2>/dev/null ||
		no "the kernel has no overlay file system"
	unshare --pid --fork --mount --cgroup --net --uts --ipc true 2>/dev/null ||
		no "namespaces are not permitted"
	BOOT_STAGE=build exec unshare --mount --propagation private bash "$self" "$@"
}

# The files of the machine, as far as they do not depend on its pids.
build_files() {
	local folder
	mount -t tmpfs -o mode=755 machine /run || no "mounts are not permitted"
	mkdir -p /run/boot/cgroup /run/systemd/system /run/systemd/journald.conf.d /run/lock
	mkfifo /run/boot/up
	mount -t cgroup2 cgroup2 /run/boot/cgroup || no "cgroup v2 can't be mounted"
	for folder in etc usr opt var root tmp; do
		[ -d "/$folder" ] || continue
		mkdir -p /run/boot/$folder/{upper,work}
		# The mode of /tmp comes from the upper layer.
		chmod --reference=/$folder /run/boot/$folder/upper
		mount -t overlay -o "lowerdir=/$folder,upperdir=/run/boot/$folder/upper,workdir=/run/boot/$folder/work" \
			overlay /$folder || no "an overlay of /$folder can't be mounted"
	done
	printf '[Journal]\nStorage=volatile\nReadKMsg=no\nAudit=no\nRateLimitIntervalSec=0\n' \
		>/run/systemd/journald.conf.d/boot.conf
	tr -d - </proc/sys/kernel/random/uuid >/etc/machine-id
	mount -t tmpfs -o mode=755 dev /run/lock
	cp -a /dev/{null,zero,full,random,urandom,tty} /run/lock/
	mkdir /run/lock/{shm,pts}
	ln -s /proc/self/fd /run/lock/fd
	ln -s fd/0 /run/lock/stdin
	ln -s fd/1 /run/lock/stdout
	ln -s fd/2 /run/lock/stderr
	ln -s pts/ptmx /run/lock/ptmx
	ln -s null /run/lock/console
	mount --move /run/lock /dev
}

# The pid 1. What needs the new namespaces is mounted here.
init() {
	local pid
	read -r pid _ </proc/self/stat # /proc is still the other one's
	echo "$pid" >/run/boot/pid
	mount -t proc proc /proc
	mount -t cgroup2 cgroup2 /sys/fs/cgroup
	mount -t tmpfs -o mode=1777 shm /dev/shm
	mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts /dev/pts
	umount /run/boot/cgroup
	cd /
	exec env -i container=test TERM=dumb PATH=/usr/sbin:/usr/bin:/sbin:/bin \
		SYSTEMD_UNIT_PATH="/run/systemd/system:/run/systemd/transient:$units" \
		SYSTEMD_GENERATOR_PATH=/run/boot/none SYSTEMD_ENVIRONMENT_GENERATOR_PATH=/run/boot/none \
		$systemd --system --unit=booted.service --show-status=no
}

tear_down() {
	local status=$? i
	trap - EXIT
	trap '' HUP INT TERM
	exec 2>/dev/null
	# With their pid 1 all processes of a pid namespace are killed, and it is the last to go.
	if [ -n "$machine" ]; then
		if [ -s /run/boot/pid ]; then kill -KILL "$(</run/boot/pid)"; else kill -KILL "$machine"; fi
		wait "$machine"
	fi
	for ((i = 0; i < 200; i++)); do
		find "$group" -depth -type d -exec rmdir {} +
		[ -d "$group" ] || break
		sleep 0.02
	done
	exit $status
}

build() {
	local up='' deadline=$((SECONDS + 30)) status
	build_files
	group=/run/boot/cgroup/berth-test.$$
	machine=''
	trap tear_down EXIT
	mkdir "$group" || no "a cgroup can't be made"
	# One that a killed run left behind is empty, and its number may come again.
	find /run/boot/cgroup/ -maxdepth 1 -name 'berth-test.*' | while read -r old; do
		grep -qs "^State:[[:space:]]*[^Z[:space:]]" "/proc/${old##*.}/status" ||
			find "$old" -depth -type d -exec rmdir {} + 2>/dev/null
	done
	# Each dies with the one above it, so a kill -9 of this script leaves no process.
	BOOT_STAGE=init setpriv --pdeathsig KILL bash -c '
		echo $$ >"$0/cgroup.procs" && exec unshare --kill-child --fork --pid --cgroup --mount \
			--propagation private --net --uts --ipc bash "$1"' \
		"$group" "$self" </dev/null >/run/boot/log 2>&1 &
	machine=$!
	exec 9<>/run/boot/up
	until read -r -t 0.5 up <&9; do
		if ! kill -0 $machine 2>/dev/null || [ $SECONDS -gt $deadline ]; then
			echo "boot.sh: systemd did not boot" >&2
			cat /run/boot/log >&2
			nsenter -t "$(</run/boot/pid)" -a journalctl --no-pager -n 50 >&2
			exit 125
		fi
	done
	exec 9>&-
	# Beside the units' cgroups. In the background, where a trap does not wait for its end.
	mkdir "$group/test"
	(
		unset BOOT_STAGE NOTIFY_SOCKET LISTEN_FDS LISTEN_PID LISTEN_FDNAMES INVOCATION_ID \
			JOURNAL_STREAM WATCHDOG_USEC WATCHDOG_PID XDG_RUNTIME_DIR DBUS_SESSION_BUS_ADDRESS
		echo $BASHPID >"$group/test/cgroup.procs"
		exec nsenter -t "$(</run/boot/pid)" -a \
			env --default-signal=INT,QUIT -C "$PWD" BOOTED=1 "$@"
	) <&0 &
	wait $!
	status=$?
	exit $status
}

# A signal that comes while a command runs in the foreground would be lost without a trap.
trap "exit 129" HUP
trap "exit 130" INT
trap "exit 143" TERM
case ${BOOT_STAGE-} in
build) build "$@" ;;
init) init ;;
*)
	[ $# -gt 0 ] || {
		echo "usage: boot.sh COMMAND [ARG...]" >&2
		exit 125
	}
	outside "$@"
	;;
esac
