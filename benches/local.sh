#!/usr/bin/env bash
# Side by side on this machine: parcp against cp -a and cpz, parrm against rm -rf and rmz, all in turn, medians of 5 runs.
#
#   benches/local.sh [--quick] [PLACE...]
#
# PLACEs are directories in which the trees are made; by default one on tmpfs (/dev/shm) and one on the disk of $TMPDIR or
# /var/tmp. The trees: the Linux source (Debian's linux-source package, installed or fetched; --quick leaves it out) and one directory
# of 100,000 files of 100 bytes. Sources are in the page cache; before each run dirty pages are written back (sync), and a
# run ends when the command does. Processor time is shown beside wall time: it is what tells on a machine that is busy otherwise.
#
# cpz and rmz (https://github.com/SUPERCILEX/fuc) are installed by cargo into $PARFS_BENCH_CACHE, or into a temporary
# directory. On a disk, room is needed for 25 copies of the Linux source (38 GB). cpz carries modes alone; cp -a and parcp carry owners, times, links, extended attributes and ACLs as well. So parcp
# is shown twice: as it is, and told to leave those (--no-preserve). `calls` (benches/calls.c) is no copier but the bare system calls of a
# copy with its metadata, on all processors: what is left between parcp and that is parcp's own. Wants cc.
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C

runs=5
quick=
places=()
for argument; do
    case $argument in
        --quick) quick=1 runs=3 ;;
        -*) printf 'usage: benches/local.sh [--quick] [PLACE...]\n' >&2 && exit 2 ;;
        *) places+=("$argument") ;;
    esac
done
[[ ${#places[@]} -gt 0 ]] || places=(/dev/shm "${TMPDIR:-/var/tmp}")

work=$(mktemp -d "${TMPDIR:-/var/tmp}/parfs-local.XXXXXX")
made=()
trap 'rm -rf "$work" "${made[@]}"' EXIT
cache=${PARFS_BENCH_CACHE:-$work/cache}
die() { printf '%s\n' "$*" >&2 && exit 1; }
log() { printf '%s/%s.log' "$work" "$1"; }

tools() {
    # Built where the others are: the flags and the profile are each package's own.
    cargo build --release --quiet
    for name in parcp parrm; do ln -s "$PWD/target/release/parfs" "$work/$name"; done
    for name in cpz rmz; do
        [[ -x $cache/bin/$name ]] ||
            CARGO_TARGET_DIR=$cache/target cargo install --quiet --root "$cache" "$name" || die "cannot install $name"
    done
    cc -O2 -pthread -o "$work/calls" benches/calls.c
    PATH=$work:$cache/bin:$PATH
}

# linux_archive: $work/linux.tar.xz.
# shellcheck source=tests/servers/linux.sh
source tests/servers/linux.sh

# flat DIR: 100,000 files of 100 bytes in one directory.
flat() {
    mkdir "$1"
    awk 'BEGIN { for (i = 0; i < 10000000; i++) printf "x" }' >"$work/bytes"
    (cd "$1" && split -b 100 -d -a 6 "$work/bytes" f)
    rm "$work/bytes"
}

# The host of a virtual machine takes memory back that was not used for a while, and each page's first touch is slow then, for every
# copier: what they do themselves does not show. So most of what is free is touched first.
warm() {
    [[ -w /dev/shm ]] || return 0
    local free
    free=$({ awk '/MemAvailable/ { print $2 }' /proc/meminfo && df -k --output=avail /dev/shm | tail -n 1; } | sort -n | head -n 1)
    made+=("$(mktemp /dev/shm/parfs-local.XXXXXX)")
    # Less is as well, where less can be had.
    head -c "$((free * 3 / 4))K" /dev/zero >"${made[-1]}" || true
    rm "${made[-1]}"
}

# timed COMMAND...: its wall time and processor time in seconds are in $seconds.
timed() {
    local TIMEFORMAT='%R %U %S' status=0
    sync
    { time "$@" >"$(log run)" 2>&1 || status=$?; } 2>"$work/time"
    [[ $status == 0 ]] || die "$*: $(tail -n 2 "$(log run)")"
    seconds=$(awk '{ print $1 ":" $2 + $3 }' "$work/time")
}

copiers=("cp -a" "cpz" "calls" "parcp" "parcp --no-preserve=ownership,timestamps,links,xattr")
removers=("rm -rf" "rmz" "parrm -rf")

# copies PLACE TREE RUN: one copy by each copier, beginning with another one in each run.
copies() {
    local i command
    for ((i = 0; i < ${#copiers[@]}; i++)); do
        command=${copiers[(i + $3) % ${#copiers[@]}]}
        # shellcheck disable=SC2086 # options are words
        timed $command "$2" "$1/copy$3.$i"
        of[$command]+="$seconds "
    done
}

# removals PLACE RUN: those copies go, each by another remover than in the last run: no remover gets one copier's copies only.
removals() {
    local i command
    for ((i = 0; i < ${#copiers[@]}; i++)); do
        command=${removers[(i + $2) % ${#removers[@]}]}
        # shellcheck disable=SC2086
        timed $command "$1/copy$2.$i"
        of[$command]+="$seconds "
    done
}

# On tmpfs copies are removed after each run, for memory's sake. On a disk all runs copy before any removes: ext4 without a
# journal passes over inodes that were removed in the last minutes one by one, which made cp -a take 40 s instead of 4.
compare() {
    local place=$1 name=$2 tree=$3 run command kind
    kind=$(stat -f -c %T "$place")
    local -A of=()
    warm
    # What needed memory may have taken the source out of the cache.
    tar -c -C "$(dirname "$tree")" "$(basename "$tree")" | wc -c >/dev/null
    for ((run = 0; run < runs; run++)); do
        copies "$place" "$tree" "$run"
        [[ $kind != tmpfs ]] || removals "$place" "$run"
    done
    if [[ $kind != tmpfs ]]; then
        for ((run = 0; run < runs; run++)); do removals "$place" "$run"; done
    fi
    for command in "${copiers[@]}" "${removers[@]}"; do
        printf '%s\t%s\t%s\t%s\n' "$kind" "$name" "$command" "${of[$command]}"
    done >>"$work/times"
}

report() {
    awk -F '\t' '
    # Of the which-th number of each run.
    function median(text, which,    n, all, one, i, j, t) {
        n = split(text, all, " ")
        for (i = 1; i <= n; i++) { split(all[i], one, ":"); all[i] = one[which] }
        for (i = 2; i <= n; i++) for (j = i; j > 1 && all[j - 1] + 0 > all[j] + 0; j--) { t = all[j]; all[j] = all[j - 1]; all[j - 1] = t }
        return all[int((n + 1) / 2)] + 0
    }
    {
        m = median($4, 1); job = $3 ~ /^(cp|parcp|calls)/ ? "copy" : "remove"
        key = $1 "\t" $2 "\t" job
        if (!(key in order)) { order[key] = ++keys; name[keys] = key }
        lines[key] = lines[key] $3 "\t" m "\t" median($4, 2) "\n"
        if ($3 !~ /^(par|calls)/ && (!(key in best) || m < best[key])) best[key] = m
    }
    END {
        for (k = 1; k <= keys; k++) {
            key = name[k]; split(key, part, "\t")
            printf "\n%s, %s: %s\n", part[1], part[2], part[3]
            n = split(lines[key], line, "\n")
            for (i = 1; i < n; i++) {
                split(line[i], f, "\t")
                ratio = f[2] / best[key]
                printf "  %-54s %8.3f s (processor %7.3f s)  %5.2f of the best other%s\n", f[1], f[2], f[3], ratio, (f[1] ~ /^par/) ? (ratio <= 1.1 ? "  (goal 1.10: met)" : "  (goal 1.10: MISSED)") : ""
            }
        }
    }' "$work/times"
}

tools
printf 'Linux %s, %s processors, %s; %s; %s; %s; medians of %s runs\n' "$(uname -r)" "$(nproc)" \
    "$(awk '/MemTotal/ { printf "%.0f GiB", $2 / 1048576 }' /proc/meminfo)" "$(cp --version | head -n 1)" "$(cpz --version)" \
    "$(rmz --version)" "$runs"
[[ $quick ]] || linux_archive || die "no Linux source"
for place in "${places[@]}"; do
    here=$(mktemp -d "$place/parfs-local.XXXXXX")
    made+=("$here")
    flat "$here/flat"
    compare "$here" "100,000 files in one directory" "$here/flat"
    rm -rf "$here/flat"
    if [[ ! $quick ]]; then
        mkdir "$here/linux"
        tar -x -f "$work/linux.tar.xz" -C "$here/linux"
        # What was removed above is to be forgotten (see compare).
        [[ $(stat -f -c %T "$here") == tmpfs ]] || sleep 310
        compare "$here" "Linux source" "$here/linux"
    fi
    rm -rf "$here"
done
report
