# SPDX-License-Identifier: BSD-2-Clause
# Sourced by every test that needs a systemd: goes on beside one that was booted for it, with berth
# installed, and has the means of tests/integration/lib.sh.

if [ -z "${BOOTED:-}" ]; then
	exec bash "$(dirname "${BASH_SOURCE[0]}")/boot.sh" bash "$0" "$@"
fi
BERTH=$(readlink -f "$BERTH")
HELPERS=$(readlink -f "$HELPERS")
. "$(dirname "${BASH_SOURCE[0]}")/../integration/lib.sh"

# Only the machine's own files are written to.
BUILD=$(cd "$(dirname "$BERTH")/.." && pwd)
PREFIX=$(sed -n 's/^CMAKE_INSTALL_PREFIX:[A-Z]*=//p' "$BUILD/CMakeCache.txt")
case $PREFIX in
/usr | /usr/* | /opt/*) ;;
*) skip "berth would be installed below $PREFIX, which is no overlay" ;;
esac
cmake --install "$BUILD" >"$T/install" 2>&1 || die "cmake --install: $(tail -3 "$T/install")"
UNITS=$PREFIX/lib/systemd/system
ln -s "$UNITS"/berth*.service /run/systemd/system/

# Scripts and configuration where services with a /tmp of their own see them.
SITE=/var/www/site
mkdir -p "$SITE" /etc/berth

# site NAME CODE: a PHP script; prints its path.
site() {
	printf '%s' "$2" >"$SITE/$1.new" && mv "$SITE/$1.new" "$SITE/$1"
	echo "$SITE/$1"
}

# berth_conf TEXT: the default configuration.
berth_conf() { printf '%s\n' "$1" >/etc/berth/berth.conf; }

# drop_in UNIT LINE...: lines in the unit's [Service] section.
drop_in() {
	mkdir -p "/run/systemd/system/$1.d"
	printf '%s\n' "[Service]" "${@:2}" >"/run/systemd/system/$1.d/test.conf"
	systemctl daemon-reload
}

# prop UNIT NAME: a property of a unit.
prop() { systemctl show -P "$2" "$1"; }
prop_is() { [ "$(prop "$1" "$2")" = "$3" ]; }
# journal UNIT: its lines.
journal() { journalctl --sync >/dev/null 2>&1; journalctl -q -o cat --no-pager -u "$1"; }
# cgroup_pids UNIT: the processes of a unit.
cgroup_pids() { cat "/sys/fs/cgroup/system.slice/$1/cgroup.procs" 2>/dev/null; }
# explain UNIT: what a reader of a failure wants to see.
explain() {
	systemctl status --no-pager -l -n 30 "$1" 2>&1 | sed 's/^/      | /' >&2
}
