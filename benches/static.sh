#!/usr/bin/env bash
# What the allocator is for: the same jobs by four binaries, linked with musl (as packaging/build has it) and with the host's glibc, each with
# the C library's own malloc and with mimalloc in its place.
#
#   benches/static.sh [--runs N] [--files N] [--binaries DIR]
#
# On /dev/shm, of a tree of N small files (20,000, of 0 to 16 KiB, 100 in a directory): creation of a plain archive and of a zstd one,
# extraction of both, extraction of the plain one through nfs:// onto a simulated target without a ceiling, copy, removal, a creation's forecast. The four binaries
# take turns, each run beginning with another one; printed are medians of N runs (5): seconds, processor seconds, peak memory (wait4).
# Prints size and start time of each as well. --binaries takes DIR/musl, DIR/musl-mimalloc, DIR/glibc and DIR/glibc-mimalloc in place of
# building them. Wants musl-tools (packaging/build) and python3.
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C
runs=5 files=20000 binaries=
while (($#)); do
    case $1 in
        --runs) runs=${2:-} && shift ;;
        --files) files=${2:-} && shift ;;
        --binaries) binaries=${2:-} && shift ;;
        *) printf 'usage: benches/static.sh [--runs N] [--files N] [--binaries DIR]\n' >&2 && exit 2 ;;
    esac
    shift
done
# shellcheck source=benches/sim.sh
source benches/sim.sh
place static

# made LIBC: where cargo has put it.
made() {
    if [[ $1 == musl ]]; then echo target/x86_64-unknown-linux-musl/release/parfs; else echo target/release/parfs; fi
}

# built: the four, in $work.
built() {
    local libc to triple=x86_64-unknown-linux-musl
    for libc in musl glibc; do
        to=(--quiet --release --locked --bin parfs)
        [[ $libc == glibc ]] || to+=(--target "$triple")
        # Only the binary's crate is told: the library is the same in both.
        cargo rustc "${to[@]}" -- --cfg system_malloc
        cp "$(made "$libc")" "$work/$libc"
        cargo build "${to[@]}"
        cp "$(made "$libc")" "$work/$libc-mimalloc"
    done
}

if [[ -n $binaries ]]; then
    cp "$binaries"/{musl,glibc}{,-mimalloc} "$work"
else
    built
fi
strip "$work"/{musl,glibc}{,-mimalloc}

mkdir "$work/served"
serve "$work/glibc-mimalloc" --dir "$work/served" --targets 2 --scale 100

python3 - "$work" "$runs" "$files" "$url" <<'END'
import os, random, resource, shutil, statistics, subprocess, sys, time
work, runs, files, url = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
tree, to = f"{work}/tree", f"{work}/to"
draw = random.Random(1)
for at in range(files):
    directory = f"{tree}/d{at // 1000}/d{at // 100}"
    os.makedirs(directory, exist_ok=True)
    with open(f"{directory}/f{at}", "wb") as file:
        file.write(draw.randbytes(draw.randrange(8192)) + bytes(draw.randrange(8192)))
BINARIES = ["musl", "musl-mimalloc", "glibc", "glibc-mimalloc"]
JOBS = {
    "create": ["tar", "-cf", f"{work}/made.tar", "-C", tree, "."],
    "create zstd": ["tar", "-caf", f"{work}/made.tar.zst", "-C", tree, "."],
    "extract": ["tar", "-xf", f"{work}/a.tar", "-C", to],
    "extract zstd": ["tar", "-xf", f"{work}/a.tar.zst", "-C", to],
    "extract nfs://": ["tar", "-xf", f"{work}/a.tar", "-C", f"{url}/"],
    "copy": ["cp", "--restore", tree, to],
    "remove": ["rm", "-rf", f"{work}/copied"],
    "plan create": ["plan", "create", "-cf", f"{work}/planned.tar", "-C", tree, "."],
}

def prepare(job):
    for path in (to, f"{work}/copied"):
        shutil.rmtree(path, ignore_errors=True)
    for name in os.listdir(f"{work}/served"):
        shutil.rmtree(f"{work}/served/{name}")
    if job == "remove":
        subprocess.run(["cp", "-a", tree, f"{work}/copied"], check=True)
    elif job != "copy":
        os.mkdir(to)

def timed(line):
    begin = time.monotonic()
    child = subprocess.Popen(line, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        sys.exit(f"{' '.join(line)}: exit status {child.returncode}")
    return time.monotonic() - begin, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024

for name, codec in (("a.tar", []), ("a.tar.zst", ["--zstd"])):
    subprocess.run([f"{work}/glibc", "tar", *codec, "-cf", f"{work}/{name}", "-C", tree, "."], check=True)
print(f"{os.cpu_count()} processors, /dev/shm, {files:,} files, medians of {runs}: seconds, processor seconds, peak MiB")
print(f"{'':16}" + "".join(f"{name:>24}" for name in BINARIES))
start = {name: statistics.median(timed([f"{work}/{name}", "--version"])[0] for _ in range(50)) for name in BINARIES}
print(f"{'size, start':16}" + "".join(f"{os.path.getsize(f'{work}/{name}') / 1048576:13.1f} MiB {1000 * start[name]:3.1f} ms" for name in BINARIES))
for job, line in JOBS.items():
    measured = {name: [] for name in BINARIES}
    for run in range(runs):
        for turn in range(len(BINARIES)):
            name = BINARIES[(run + turn) % len(BINARIES)]
            prepare(job)
            measured[name].append(timed([f"{work}/{name}", *line]))
    columns = []
    for name in BINARIES:
        wall, processor, peak = (statistics.median(of) for of in zip(*measured[name]))
        columns.append(f"{wall:10.3f} {processor:6.2f} {peak:6.0f}")
    print(f"{job:16}" + "".join(columns), flush=True)
END
