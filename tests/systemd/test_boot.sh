#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# boot.sh itself: what it gives back, and that nothing is left of it, however it ends.
. "$(dirname "$0")/../integration/lib.sh"

BOOT=$(readlink -f "$(dirname "$0")/boot.sh")
# One that says why not is skipped; so is this test then.
bash "$BOOT" true 2>"$T/why"
[ $? = 77 ] && skip "$(cat "$T/why")"

bash "$BOOT" sh -c 'exit 42'
equal "the command's exit status" "$?" 42
equal "its streams" "$(echo in | bash "$BOOT" sh -c 'cat; echo out >&2' 2>&1 | xargs)" "in out"
equal "its folder and arguments" "$(cd "$T" && bash "$BOOT" sh -c 'pwd; echo "$1"' x 'a  b')" "$T
a  b"
bash "$BOOT" sh -c "cat /proc/1/comm; systemctl is-system-running; ip -br link | wc -l" >"$T/inside"
equal "pid 1, its state, network devices" "$(xargs <"$T/inside")" "systemd running 1"

# What is written there is not written here.
bash "$BOOT" sh -c "for f in /etc /usr /opt /var /tmp /root /run /dev; do echo x >\$f/berth-boot-test.$$ || exit; done; echo written" >"$T/inside"
equal "what can be written to" "$(cat "$T/inside")" written
equal "what is written here" "$(ls /{etc,usr,opt,var,tmp,root,run,dev}/berth-boot-test.$$ 2>/dev/null)" ""

# However it ends, no process and no cgroup stay.
cgroups() {
	unshare --mount --propagation private sh -c "mount -t cgroup2 cgroup2 /mnt && find /mnt -maxdepth 1 -name 'berth-test.*' -printf '%f\n'"
}
inside() { pgrep -f "^sleep 12345.$$\$" >/dev/null; }
# Before it runs, its text is among the arguments of what makes the machine.
any() { pgrep -f "sleep 12345.$$" >/dev/null; }
nothing() { ! any && [ -z "$(cgroups | grep -x "berth-test.$pid")" ]; }
begun() { [ -s "$T/pid" ] && any; }
for try in "begun TERM" "begun INT" "inside TERM" "inside INT" "inside KILL"; do
	read -r state signal <<<"$try"
	rm -f "$T/pid"
	# In a session of its own: SIGINT is ignored by what a script starts in the background.
	setsid --fork env --default-signal=INT bash -c 'echo $$ >"$0"; exec bash "$@"' "$T/pid" \
		"$BOOT" sh -c "systemd-cat -p info true; exec sleep 12345.$$" </dev/null >/dev/null 2>&1
	until_true 30 "$state" || die "it does not boot"
	pid=$(cat "$T/pid")
	kill -"$signal" "$pid"
	if [ $signal = KILL ]; then
		until_true 20 eval "! any" || fail "after SIGKILL a process is left"
		# An empty cgroup of such a one goes with the next.
		bash "$BOOT" true
	fi
	until_true 20 nothing || fail "$try: something is left"
	say "ok    nothing is left: $try"
done

# Where it can't be, it says so.
if setpriv --reuid=www-data --regid=www-data --clear-groups true 2>/dev/null; then
	cp -r "${BOOT%/*}" "$T/copy" && chmod -R a+rX "$T/copy"
	setpriv --reuid=www-data --regid=www-data --clear-groups bash "$T/copy/boot.sh" true 2>"$T/why"
	equal "not as root: status" "$?" 77
	contains "not as root: the reason" "$T/why" 'takes root'
fi
