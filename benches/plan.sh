#!/usr/bin/env bash
# What planning a large tree takes: `parfs plan` of removal, copy, creation and extraction, beside listing the same tree.
#
#   benches/plan.sh [--quick] [ENTRIES]
#
# ENTRIES (1,000,000; --quick: 100,000) empty files, 1,000 in a directory, on /dev/shm. Three places: this host's directory, beside
# `find -size` (which asks for each file's attributes as well); the same through nfs:// from a simulated target that answers in 1 ms, beside
# partar -c of it into /dev/null, which lists it and reads nothing else; and its archive, beside partar -t. What others take to list the same
# (libnfs's nfs-ls -R, GNU tar's and bsdtar's -t) is printed too, of those that are installed.
# Prints seconds and processor seconds, medians of 3 runs (--quick: one), and the highest peak of memory (wait4). Goals: under 300 MB, which is
# held for each plan (exit status 1); no slower than listing, which is this host's too, so that a miss is printed. Wants python3.
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C
entries=1000000
runs=3
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

# timed KIND NAME COMMAND...: runs it, prints what it took. KIND `list` is what the plans after it are beside, `beside` is for comparison only.
listed=0
failed=0
timed() {
    local kind=$1 name=$2 line
    shift 2
    line=$(python3 - "$kind" "$name" "$listed" "$runs" "$@" <<'END_OF_RUN'
import os, statistics, subprocess, sys, time
kind, name, listed, runs, *command = sys.argv[1:]
measured = []
for _ in range(int(runs)):
    start = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    measured.append((time.monotonic() - start, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024 / 1e6))
    if status != 0:
        sys.exit(f"{name}: status {status}")
took, spent, _ = map(statistics.median, zip(*measured))
mb = max(mb for *_, mb in measured)
beside = ""
if kind == "plan":
    ratio = took / float(listed)
    beside = f"  {ratio:5.2f}  ({'met' if ratio <= 1 else 'MISSED'})  {'met' if mb < 300 else 'TOO MUCH'}"
print(f"{name:<32} {took:8.2f} s {spent:8.2f} s {mb:8.1f} MB{beside}")
END_OF_RUN
)
    printf '%s\n' "$line"
    if [[ $kind == list ]]; then
        listed=$(awk '{ for (i = 2; i <= NF; i++) if ($i == "s") { print $(i - 1); exit } }' <<<"$line")
    fi
    [[ $line != *"TOO MUCH"* ]] || failed=1
}

printf '%s entries, %s processors\n' "$entries" "$(nproc)"
printf '%-32s %10s %10s %11s  beside listing; under 300 MB\n' what time processor memory
timed list "find -size" find "$work/tree" -size +1
timed plan "plan remove" "$PARFS" plan remove -rf "$work/tree"
timed plan "plan copy" "$PARFS" plan copy -a "$work/tree" "$work/out/tree"
timed plan "plan create" "$PARFS" plan create -cf "$work/new.tar" -C "$work" tree
timed list "nfs://: partar -c to /dev/null" "$PARFS" partar -cf /dev/null -C "$url/" tree
if command -v nfs-ls >/dev/null; then
    host=${url#nfs://} host=${host%%/*}
    timed beside "nfs://: nfs-ls -R" nfs-ls -R "nfs://${host%:*}/tree?nfsport=${host##*:}&mountport=${host##*:}"
fi
timed plan "nfs://: plan remove" "$PARFS" plan remove -rf "$url/tree"
timed plan "nfs://: plan copy" "$PARFS" plan copy -a "$url/tree" "$url/out/tree"
timed plan "nfs://: plan create" "$PARFS" plan create -cf "$work/new.tar" -C "$url/" tree
timed beside "tar -t" tar -tf "$work/tree.tar"
! command -v bsdtar >/dev/null || timed beside "bsdtar -t" bsdtar -tf "$work/tree.tar"
timed list "partar -t" "$PARFS" partar -tf "$work/tree.tar"
timed plan "plan extract" "$PARFS" plan extract -xf "$work/tree.tar" -C "$work/out"
timed plan "nfs://: plan extract" "$PARFS" plan extract -xf "$work/tree.tar" -C "$url/out"
[[ $failed == 0 ]]
