#!/usr/bin/env bash
# What planning a large tree takes: `parfs plan` of removal, copy, creation and extraction, beside listing the same tree.
#
#   benches/plan.sh [--quick] [ENTRIES]
#
# ENTRIES (1,000,000; --quick: 100,000) empty files, 1,000 in a directory, on /dev/shm. Three places: this host's directory, beside
# `find -size` (which asks for each file's attributes as well); the same through nfs:// from a simulated target that answers in 1 ms, beside
# partar -c of it into /dev/null, which lists it and reads nothing else; and its archive, beside partar -t. Through nfs:// twice: with a
# processor for the target alone, as a server has its own, and with all processors for both, where what a forecast does beside listing
# takes the target's time. What others take to list the same (libnfs's nfs-ls -R, GNU tar's and bsdtar's -t) is printed too, of those that
# are installed.
# Commands of one place in turn; prints seconds and processor seconds, medians of 5 runs (--quick: one), and the highest peak of memory
# (wait4). Goals: under 300 MB, which is held for each plan (exit status 1); no slower than listing, of which a miss is printed. Wants python3.
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C
entries=1000000
runs=5
for argument; do
    case $argument in
        --quick) entries=100000 runs=1 ;;
        [1-9]*[0-9] | [1-9]) entries=$argument ;;
        *) printf 'usage: benches/plan.sh [--quick] [ENTRIES]\n' >&2 && exit 2 ;;
    esac
done
if [[ -z ${PARFS-} ]]; then
    cargo build --release --quiet
    PARFS=${CARGO_TARGET_DIR:-$PWD/target}/release/parfs
fi
# shellcheck source=benches/sim.sh
source benches/sim.sh
place plan

python3 - "$work/tree" "$entries" <<'END_OF_TREE'
import os, sys
top, entries = sys.argv[1], int(sys.argv[2])
for at in range(entries):
    directory = os.path.join(top, f"d{at // 1000}")
    if at % 1000 == 0:
        os.makedirs(directory)
    os.close(os.open(os.path.join(directory, f"f{at % 1000}"), os.O_CREAT | os.O_WRONLY, 0o644))
END_OF_TREE
tar -cf "$work/tree.tar" -C "$work" tree
mkdir "$work/out"
serve "$PARFS" --dir "$work" --latency 1ms

# row KIND NAME COMMAND...: a command of the next table. KIND `list` is what the plans are beside, `beside` is for comparison only.
rows=()
row() {
    rows+=("$@" "")
}

# measure PREFIX...: runs the rows in turn, by the prefix, and prints what they took.
failed=0
measure() {
    python3 - "$runs" "$#" "$@" "${rows[@]}" <<'END_OF_RUNS' || failed=1
import os, statistics, subprocess, sys, time
runs, words = int(sys.argv[1]), int(sys.argv[2])
prefix, rest = sys.argv[3:3 + words], sys.argv[3 + words:]
rows = []
while rest:
    end = rest.index("")
    rows.append((rest[0], rest[1], prefix + rest[2:end], []))
    rest = rest[end + 1:]
for turn in range(runs):
    for at in range(len(rows)):
        _, name, command, measured = rows[(at + turn) % len(rows)]
        start = time.monotonic()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        measured.append((time.monotonic() - start, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024 / 1e6))
        if status != 0:
            sys.exit(f"{name}: status {status}")
listed = next((statistics.median(took for took, _, _ in measured) for kind, _, _, measured in rows if kind == "list"), None)
too_much = False
for kind, name, _, measured in rows:
    took, spent, _ = map(statistics.median, zip(*measured))
    mb = max(mb for *_, mb in measured)
    beside = ""
    if kind == "plan":
        ratio = took / listed
        too_much |= mb >= 300
        beside = f"  {ratio:5.2f}  ({'met' if ratio <= 1 else 'MISSED'})  {'met' if mb < 300 else 'TOO MUCH'}"
    print(f"{name:<32} {took:8.2f} s {spent:8.2f} s {mb:8.1f} MB{beside}")
sys.exit(too_much)
END_OF_RUNS
    rows=()
}

printf '%s entries, %s processors\n' "$entries" "$(nproc)"
printf '%-32s %10s %10s %11s  beside listing; under 300 MB\n' what time processor memory
row list "find -size" find "$work/tree" -size +1
row plan "plan remove" "$PARFS" plan remove -rf "$work/tree"
row plan "plan copy" "$PARFS" plan copy -a "$work/tree" "$work/out/tree"
row plan "plan create" "$PARFS" plan create -cf "$work/new.tar" -C "$work" tree
measure

through_nfs() {
    row list "nfs://: partar -c to /dev/null" "$PARFS" partar -cf /dev/null -C "$url/" tree
    row plan "nfs://: plan remove" "$PARFS" plan remove -rf "$url/tree"
    row plan "nfs://: plan copy" "$PARFS" plan copy -a "$url/tree" "$url/out/tree"
    row plan "nfs://: plan create" "$PARFS" plan create -cf "$work/new.tar" -C "$url/" tree
}
read -r first others <<<"$(python3 -c '
import os
first, *others = sorted(os.sched_getaffinity(0))
print(first, ",".join(map(str, others)))')"
if [[ -n $others ]] && command -v taskset >/dev/null; then
    printf 'The target on processor %s, the others on %s:\n' "$first" "$others"
    taskset -acp "$first" "$sim_pid" >/dev/null
    through_nfs
    measure taskset -c "$others"
    taskset -acp "$first,$others" "$sim_pid" >/dev/null
fi
printf 'All on all processors:\n'
through_nfs
measure
if command -v nfs-ls >/dev/null; then
    host=${url#nfs://} host=${host%%/*}
    row beside "nfs://: nfs-ls -R" nfs-ls -R "nfs://${host%:*}/tree?nfsport=${host##*:}&mountport=${host##*:}"
    measure
fi

row beside "tar -t" tar -tf "$work/tree.tar"
! command -v bsdtar >/dev/null || row beside "bsdtar -t" bsdtar -tf "$work/tree.tar"
row list "partar -t" "$PARFS" partar -tf "$work/tree.tar"
row plan "plan extract" "$PARFS" plan extract -xf "$work/tree.tar" -C "$work/out"
row plan "nfs://: plan extract" "$PARFS" plan extract -xf "$work/tree.tar" -C "$url/out"
measure
[[ $failed == 0 ]]
