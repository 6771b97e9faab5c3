#!/usr/bin/env bash
# Forecast beside fact: `parfs plan` of a job, then the job itself, against simulated mount targets whose clock is the price list.
#
#   benches/forecast.sh [--quick]
#
# Jobs: extraction, creation, copy from target to target, copy to this host, removal, and a load of random reads. Cases: bound by IOPS
# (targets of 0.05 of OCI's ceilings, small files), by bandwidth (of 0.0125, files of 4 MiB that are read: eight such targets have
# 100 MB/s, which is far from what this host moves), by latency (2 lanes of 2 calls, 5 ms; for a load 20 ms, since `plan load` asks no
# target for its own), and by both IOPS and latency (20 ms, driven as it is where nothing is said). Each on 1, 2, 4 and 8 targets (--quick: 1 and 4). The latency is given to the forecast, except where it binds a
# job: there it is measured on the spot, as without --latency, for waking up is part of it.
# Prints forecast and fact with their ratio; the goal is 10 % for the time (of a load: the I/Os a second), which is this host's too, so a
# miss is printed. IOPS are a law: exit status 1 when a run's are not the forecast's. Trees are on /dev/shm; wants python3.
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C
counts=(1 2 4 8)
case ${1:-} in
    --quick) counts=(1 4) ;;
    "") ;;
    *) printf 'usage: benches/forecast.sh [--quick]\n' >&2 && exit 2 ;;
esac
cargo build --release --quiet
parfs=$PWD/target/release/parfs
# shellcheck source=benches/sim.sh
source benches/sim.sh
place forecast

# small DIR FILES: files of 4 KiB, 100 in a directory.
small() {
    python3 - "$1" "$2" <<'END'
import os, sys
top, files = sys.argv[1], int(sys.argv[2])
for at in range(files):
    directory = os.path.join(top, f"d{at // 100}")
    if at % 100 == 0:
        os.makedirs(directory)
    with open(os.path.join(directory, f"f{at % 100}"), "wb") as file:
        file.write(b"x" * 4096)
END
}

# large DIR FILES: files of 4 MiB that are no holes.
large() {
    local at
    mkdir -p "$1"
    for ((at = 0; at < $2; at++)); do tr '\0' x </dev/zero | head -c 4194304 >"$1/f$at" || true; done
}

# both CASE TARGETS PLAN-OPTIONS JOB PROGRAM ARGUMENTS...: the forecast, the run, and their ratio.
missed=0
broken=0
both() {
    local name=$1 targets=$2 options=$3 job=$4 program=$5 line
    shift 5
    # shellcheck disable=SC2086 # options are words
    "$parfs" plan --json --targets "$targets" $options "$job" "$@" >"$work/plan.json"
    "$parfs" "$program" --report "$work/run.json" "$@" >"$work/out" || { cat "$work/out"; return 1; }
    line=$(python3 - "$work/plan.json" "$work/run.json" "$name" "$job" "$targets" <<'END'
import json, sys
plan, run = json.load(open(sys.argv[1])), json.load(open(sys.argv[2]))
point, name, job, targets = plan["forecast"][0], *sys.argv[3:6]
forecast = sum(p["iops"] for side in plan["sides"] for p in side["procedures"])
fact = sum(t["iops_total"] for t in run["targets"] if t["is_nfs"])
ratio = run["seconds"] / point["seconds"]
law = "" if fact == forecast else "  BROKEN"
verdict = "met" if abs(ratio - 1) <= 0.10 else "MISSED"
print(f"{name:<10} {job:<8} {targets:>2}  {point['bound']:<15} {point['seconds']:8.3f} s  {run['seconds']:8.3f} s  {ratio:6.3f}"
      f"  (goal 10 %: {verdict})  IOPS {fact / forecast:.4f}{law}")
END
)
    printf '%s\n' "$line"
    [[ $line != *MISSED* ]] || missed=$((missed + 1))
    [[ $line != *BROKEN* ]] || broken=$((broken + 1))
}

# load_both CASE TARGETS PLAN-OPTIONS OPTIONS...: the same of a load, by the I/Os a second of all targets.
load_both() {
    local name=$1 targets=$2 options=$3 hosts=${url#nfs://} job line
    shift 3
    job=(--name="$name" --ioengine=nfs --x_targets="nfs://${hosts//,// nfs://}/" --rw=randread --size=32m "$@")
    # shellcheck disable=SC2086 # options are words
    "$parfs" plan load --json --targets "$targets" $options "${job[@]}" >"$work/plan.json"
    "$parfs" load --scale "$targets" --report-csv "$work/run.csv" --output "$work/out" --time_based --runtime=4 --ramp_time=1 "${job[@]}"
    line=$(python3 - "$work/plan.json" "$work/run.csv" "$name" "$targets" <<'END'
import csv, json, sys
(job,), (run,) = json.load(open(sys.argv[1]))["jobs"], csv.DictReader(open(sys.argv[2]))
name, targets = sys.argv[3:5]
forecast, fact = job["rows"][0]["ios_per_s"], float(run["iops"])
ratio = fact / forecast
verdict = "met" if abs(ratio - 1) <= 0.10 and run["failed"] == "0" else "MISSED"
print(f"{name:<10} load     {targets:>2}  {job['each']['bound']:<15} {forecast:8.1f} /s {fact:8.1f} /s  {ratio:6.3f}  (goal 10 %: {verdict})")
END
)
    printf '%s\n' "$line"
    [[ $line != *MISSED* ]] || missed=$((missed + 1))
}

fresh() {
    rm -rf "$work/served" "$work/local" "$work/a.tar"
    mkdir -p "$work/served/in" "$work/local"
}

# small_jobs CASE FILES TARGETS PLAN-OPTIONS LANES SIM-OPTIONS...
small_jobs() {
    local name=$1 files=$2 n=$3 options=$4 lanes=$5
    shift 5
    fresh
    small "$work/local/tree" "$files"
    tar -cf "$work/a.tar" -C "$work/local" tree
    cp -r "$work/local/tree" "$work/served/tree"
    serve "$parfs" --dir "$work/served" --targets "$n" "$@"
    # shellcheck disable=SC2086
    {
        both "$name" "$n" "$options" extract partar $lanes -xf "$work/a.tar" -C "$url/in"
        both "$name" "$n" "$options" create partar $lanes -cf "$work/back.tar" -C "$url/" tree
        both "$name" "$n" "$options" copy parcp $lanes -a "$url/tree" "$url/copy"
        both "$name" "$n" "$options" remove parrm $lanes -rf "$url/tree"
    }
    unserve
}

printf '%s processors; forecast and fact of simulated mount targets\n' "$(nproc)"
printf 'case       job      targets  bound        forecast       fact   fact/forecast\n'
for n in "${counts[@]}"; do
    small_jobs iops $((1500 * n)) "$n" "--scale 0.05 --latency 1ms" "" --scale 0.05 --latency 1ms
    serve "$parfs" --targets "$n" --scale 0.05 --latency 1ms
    load_both iops "$n" "--scale 0.05 --latency 1ms" --bs=32k --iodepth=16
    unserve
done
for n in "${counts[@]}"; do
    fresh
    large "$work/served/tree" $((8 * n))
    serve "$parfs" --dir "$work/served" --targets "$n" --scale 0.0125 --latency 1ms
    both bandwidth "$n" "--scale 0.0125 --latency 1ms" create partar -cf "$work/back.tar" -C "$url/" tree
    rm -f "$work/back.tar"
    both bandwidth "$n" "--scale 0.0125 --latency 1ms" copy parcp -a "$url/tree" "$work/local/tree"
    load_both bandwidth "$n" "--scale 0.0125 --latency 1ms" --bs=1m --iodepth=8
    unserve
done
for n in "${counts[@]}"; do
    small_jobs latency 1000 "$n" "" "-P 2 --window 2" --latency 5ms
    serve "$parfs" --targets "$n" --latency 20ms
    load_both latency "$n" "--latency 20ms" --bs=32k --iodepth=8
    unserve
done
for n in "${counts[@]}"; do small_jobs both $((1500 * n)) "$n" "" "" --latency 20ms; done
printf '%s missed, %s with other IOPS than forecast\n' "$missed" "$broken"
[[ $broken == 0 ]]
