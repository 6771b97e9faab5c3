#!/usr/bin/env bash
# The paper's four tests with `parfs load --scale 1,2,4,8`, against eight simulated mount targets whose clock is the price list.
#
#   benches/load-scale.sh [--quick] [FACTOR]
#
# Each target is a simulator of its own, with OCI's ceilings times FACTOR (by default 0.05: eight of them are then within what one
# machine moves) and an answer in 1 ms. Random reads and writes of 32 KiB and of 1 MiB, 16 in flight on each target, 8 s after 2 s of ramp
# (--quick: 1 and 8 targets, 4 s). Goals: I/Os a second of each target within 3 % of what the paper measured (25,018, 12,580, 937 and 761)
# times FACTOR, and linear within 3 %. Exit status 1 when one is missed.
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C
counts=1,2,4,8 seconds=8
[[ ${1:-} != --quick ]] || { counts=1,8 seconds=4 && shift; }
factor=${1:-0.05}
cargo build --release --quiet
parfs=$PWD/target/release/parfs
work=$(mktemp -d)
pids=()
finish() {
    ((${#pids[@]} == 0)) || kill "${pids[@]}" 2>/dev/null || true
    rm -rf "$work"
}
trap finish EXIT

urls=
for ((target = 1; target <= 8; target++)); do
    mkfifo "$work/sim$target"
    "$parfs" sim --scale "$factor" >"$work/sim$target" &
    pids+=($!)
    read -r url <"$work/sim$target"
    urls+="${urls:+ }$url"
done

printf '%s; %s processors; 8 simulators with %s of the ceilings of an OCI mount target\n' "$(uname -sr)" "$(nproc)" "$factor"
missed=0
# test_of NAME RW BS GOAL
test_of() {
    local name=$1 rw=$2 bs=$3 goal=$4
    "$parfs" load --scale "$counts" --scale-ceilings "$factor" --report-csv "$work/$name.csv" --output "$work/$name.txt" --name="$name" \
        --ioengine=nfs --x_targets="$urls" --rw="$rw" --bs="$bs" --size=32m --iodepth=16 --time_based --runtime="$seconds" --ramp_time=2
    grep -v 'Laying out\|^Step\|^fio-\|^Starting\|^$\|^Ceilings\|ioengine=' "$work/$name.txt" || true
    # Columns 4, 5 and 9: targets, I/Os a second of each, linearity.
    awk -F, -v goal="$goal" -v factor="$factor" 'NR > 1 {
        ratio = $5 / (goal * factor)
        is_met = ratio > 0.97 && ratio < 1.03 && $9 > 97 && $9 < 103 && $NF == 0
        printf "  %s on %s: %.1f of %.1f IOPS each (%.1f %%), linear %.1f %%: %s\n", $1, $4, $5, goal * factor, 100 * ratio, $9,
            is_met ? "met" : "MISSED"
        missed += !is_met
    } END { exit missed > 0 }' "$work/$name.csv" || missed=1
}
test_of read-32k randread 32k 25018
test_of write-32k randwrite 32k 12580
test_of read-1m randread 1m 937
test_of write-1m randwrite 1m 761
exit "$missed"
