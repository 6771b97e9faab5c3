#!/usr/bin/env bash
# What parfs load costs beside fio on this machine: processor time for each I/O, start and stop, files laid out. In turn, medians.
#
#   benches/load.sh [--quick] [PLACE]
#
# PLACE is a directory for the files (by default /dev/shm for what is cached; direct I/O is not measured here, for it measures the disk).
# Processor time for each I/O is what both programs count of their jobs' threads (usr and sys in the terse line), with all latencies
# measured; ratios are of pairs of runs, one right after the other, so that a busy machine harms both alike. Wants fio.
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C

pairs=9 seconds=2
[[ ${1:-} != --quick ]] || { pairs=3 seconds=1 && shift; }
place=${1:-/dev/shm}
command -v fio >/dev/null || { printf 'fio is not installed\n' >&2 && exit 1; }
cargo build --release --quiet
work=$(mktemp -d "$place/parfs-load.XXXXXX")
trap 'rm -rf "$work"' EXIT
ln -s "$PWD/target/release/parfs" "$work/parfs-fio"
missed=0

median() { sort -g | awk '{ n[NR] = $1 } END { print NR % 2 ? n[(NR + 1) / 2] : (n[NR / 2] + n[NR / 2 + 1]) / 2 }'; }

# per_io PROGRAM OPTION...: user and total processor time of an I/O in ns. Fields of terse version 3: KiB read, ms, usr, sys.
per_io() {
    local program=$1
    shift
    "$program" --name=bench --filename="$work/file" --size=512m --rw=randread --bs=4k --invalidate=0 --fadvise_hint=0 --time_based \
        --runtime="$seconds" --minimal "$@" |
        awk -F';' '{ sub(/%/, "", $88); sub(/%/, "", $89); ios = $6 / 4; ns = $9 * 1e6 / 100; print $88 * ns / ios, ($88 + $89) * ns / ios }'
}

# compared NAME FIELD LIMIT OPTION...: pairs of runs; FIELD 1 is user time, 2 all of it.
compared() {
    local name=$1 field=$2 limit=$3 ours theirs
    shift 3
    : >"$work/ours" && : >"$work/theirs" && : >"$work/ratios"
    for ((pair = 0; pair < pairs; pair++)); do
        theirs=$(per_io fio "$@" | cut -d' ' -f"$field")
        ours=$(per_io "$work/parfs-fio" "$@" | cut -d' ' -f"$field")
        printf '%s\n' "$ours" >>"$work/ours" && printf '%s\n' "$theirs" >>"$work/theirs"
        awk -v a="$ours" -v b="$theirs" 'BEGIN { print a / b }' >>"$work/ratios"
    done
    told "$name" "$limit" "$(median <"$work/ours")" "$(median <"$work/theirs")" "$(median <"$work/ratios")" ns/IO
}

told() {
    local verdict=met
    awk -v ratio="$5" -v limit="$2" 'BEGIN { exit !(ratio > limit) }' && verdict=MISSED && missed=1
    printf '%-44s parfs %9.1f   fio %9.1f %-6s ratio %5.2f  (goal %s: %s)\n' "$1" "$3" "$4" "$6" "$5" "$2" "$verdict"
}

# elapsed COMMAND...: ms.
elapsed() {
    local TIMEFORMAT=%R
    { time "$@" >"$work/log" 2>&1 || { cat "$work/log" >&2 && exit 1; }; } 2>"$work/time"
    awk '{ print $1 * 1000 }' "$work/time"
}

start_and_stop() {
    for ((pair = 0; pair < pairs; pair++)); do
        elapsed "$1" --name=start --ioengine=null --size=4k --bs=4k
    done | median
}

laid_out() {
    for ((pair = 0; pair < 3; pair++)); do
        rm -rf "$work/tree" && mkdir "$work/tree"
        elapsed "$1" --name=small --directory="$work/tree" --nrfiles=20000 --filesize=1k --openfiles=100 --rw=read --bs=1k --create_only=1
    done | median
}

printf '%s; %s; %s processors; medians of %s pairs\n' "$(uname -sr)" "$(fio --version)" "$(nproc)" "$pairs"
fio --name=file --filename="$work/file" --size=512m --rw=write --bs=1m --minimal >"$work/log"
compared 'null, user time' 1 1.0 --ioengine=null
compared 'psync, cached 4 KiB, user time' 1 1.0 --ioengine=psync
compared 'libaio, cached 4 KiB, depth 32, all time' 2 1.05 --ioengine=libaio --iodepth=32
if "$work/parfs-fio" --name=probe --ioengine=io_uring --filename="$work/file" --size=4k --minimal >"$work/log" 2>&1; then
    compared 'io_uring, cached 4 KiB, depth 32, all time' 2 1.05 --ioengine=io_uring --iodepth=32
else
    printf 'io_uring: not on this machine: %s\n' "$(head -n 1 "$work/log")"
fi
ours=$(start_and_stop "$work/parfs-fio") theirs=$(start_and_stop fio)
told 'start and stop of a null job (goal in ms)' 30 "$ours" "$theirs" "$ours" ms
ours=$(laid_out "$work/parfs-fio") theirs=$(laid_out fio)
told '20,000 files of 1 KiB laid out' 0.5 "$ours" "$theirs" "$(awk -v a="$ours" -v b="$theirs" 'BEGIN { print a / b }')" ms
exit "$missed"
