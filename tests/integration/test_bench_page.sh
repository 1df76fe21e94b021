#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# berth-bench(1) has every option that the program has, and no other.
. "$(dirname "$0")/lib.sh"
. "$HERE/bench_lib.sh"
page=$(cd "$HERE/../.." && pwd)/docs/berth-bench.1

for command in compare run ramp floor selftest diff; do
	bench "$command" --help
	grep -Eo -- '--[a-z-]+ ' "$T/out" | tr -d ' ' | sort -u
done | sort -u >"$T/program"
# An item of a list of options: ".It Fl t , Fl -threads Ar n".
sed -n 's/^\.It .*Fl -\([a-z-]*\).*/--\1/p' "$page" | sort -u >"$T/page"
equal "options that the page lacks" "$(comm -23 "$T/program" "$T/page" | xargs)" ""
equal "options that only the page has" "$(comm -13 "$T/program" "$T/page" | xargs)" ""
check "there are some" test "$(wc -l <"$T/program")" -gt 40
bench run --help
grep -Eo -- '^  -[a-zA-Z],' "$T/out" | tr -d ' ,' | while read -r letter; do
	contains "letter $letter" "$page" "^\.It Fl ${letter#-} , Fl -"
done
for section in SIGNALS ENVIRONMENT 'EXIT STATUS' EXAMPLES; do
	contains "section $section" "$page" "^\.Sh $section$"
done
for class in eagain refused starved dropped deadline bad_record; do
	contains "failure class $class" "$page" "$class"
done
