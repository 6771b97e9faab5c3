#!/usr/bin/env bash
# Side by side on this machine: partar against GNU tar (with pigz and zstd -T0) and bsdtar, in turn, medians of 5 runs.
#
#   benches/tar.sh [--quick] [--runs N] [--only WORDS] [PLACE...]
#
# PLACEs are directories in which the trees are made, by default /dev/shm. The tree is the Linux source (Debian's linux-source package,
# installed or fetched; --quick takes a quarter of its directories of the third level, and 3 runs). --only takes the tables whose names
# begin so ("creation, plain"); --runs N makes N runs of each. Archives are in the page cache, on the place; before each run dirty pages are
# written back (sync), and a run ends when the command does. Processor time, of all processes that a command starts, is shown beside
# wall time: it is what tells on a machine that is busy otherwise. Wants pigz, zstd and bsdtar.
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C

runs=5
quick=
only=
places=()
while (($#)); do
    case $1 in
        --quick) quick=1 runs=3 ;;
        --only) only=${2:-} && shift ;;
        --runs) runs=${2:-} && shift ;;
        -*) printf 'usage: benches/tar.sh [--quick] [--runs N] [--only WORDS] [PLACE...]\n' >&2 && exit 2 ;;
        *) places+=("$1") ;;
    esac
    shift
done
[[ ${#places[@]} -gt 0 ]] || places=(/dev/shm)

work=$(mktemp -d "${TMPDIR:-/var/tmp}/parfs-tar.XXXXXX")
made=()
trap 'rm -rf "$work" "${made[@]}"' EXIT
die() { printf '%s\n' "$*" >&2 && exit 1; }
log() { printf '%s/%s.log' "$work" "$1"; }

tools() {
    local tool
    for tool in tar bsdtar pigz zstd; do command -v "$tool" >/dev/null || die "$tool is not installed"; done
    cargo build --release --quiet
    ln -s "$PWD/target/release/parfs" "$work/partar"
    # shellcheck disable=SC2016
    printf '#!/bin/sh\nexec tar -I pigz "$@"\n' >"$work/tar-with-pigz"
    # shellcheck disable=SC2016
    printf '#!/bin/sh\nexec tar -I "zstd -T0" "$@"\n' >"$work/tar-with-zstd-T0"
    chmod +x "$work"/tar-with-*
    PATH=$work:$PATH
}

# linux_archive: $work/linux.tar.xz.
# shellcheck source=tests/servers/linux.sh
source tests/servers/linux.sh

# timed COMMAND...: its wall time and processor time in seconds are in $seconds.
timed() {
    local TIMEFORMAT='%R %U %S' status=0
    sync
    { time "$@" >"$(log run)" 2>&1 || status=$?; } 2>"$work/time"
    [[ $status == 0 ]] || die "$*: $(tail -n 2 "$(log run)")"
    seconds=$(awk '{ print $1 ":" $2 + $3 }' "$work/time")
}

# extract HERE ARCHIVE COMMAND: into a new directory.
extract() {
    mkdir "$1/to"
    timed "$3" -xf "$1/$2" -C "$1/to"
    rm -rf "$1/to"
}

# create HERE OPTIONS COMMAND: of the tree, with the options of partar and bsdtar; what the others compress is in their names.
create() {
    local options=()
    [[ $3 == tar* ]] || read -ra options <<<"$2"
    timed "$3" "${options[@]}" -cf "$1/made" -C "$1/source" .
    rm "$1/made"
}

# compare HERE JOB SUBJECT NAME COMMAND...: each command does the job in turn, beginning with another one in each run.
compare() {
    local here=$1 job=$2 subject=$3 name=$4 run i command
    shift 4
    [[ $name == "$only"* ]] || return 0
    local commands=("$@")
    local -A of=()
    for ((run = 0; run < runs; run++)); do
        for ((i = 0; i < ${#commands[@]}; i++)); do
            command=${commands[(i + run) % ${#commands[@]}]}
            "$job" "$here" "$subject" "$command"
            of[$command]+="$seconds "
        done
    done
    for command in "${commands[@]}"; do
        printf '%s\t%s\t%s\t%s\n' "$(stat -f -c %T "$here")" "$name" "$command" "${of[$command]}"
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
        m = median($4, 1); key = $1 "\t" $2
        if (!(key in order)) { order[key] = ++keys; name[keys] = key }
        lines[key] = lines[key] $3 "\t" m "\t" median($4, 2) "\n"
        if ($3 !~ /^partar/ && (!(key in best) || m < best[key])) best[key] = m
    }
    END {
        for (k = 1; k <= keys; k++) {
            key = name[k]; split(key, part, "\t")
            printf "\n%s, %s\n", part[1], part[2]
            n = split(lines[key], line, "\n")
            for (i = 1; i < n; i++) {
                split(line[i], f, "\t")
                ratio = f[2] / best[key]
                printf "  %-20s %8.3f s (processor %7.3f s)  %5.2f of the best other%s\n", f[1], f[2], f[3], ratio, (f[1] ~ /^partar/) ? (ratio <= 1.05 ? "  (goal 1.05: met)" : "  (goal 1.05: MISSED)") : ""
            }
        }
    }' "$work/times"
}

# archives HERE: linux.tar; as pigz and zstd -T0 pack it, one gzip member and one zstd frame; and as frames of 8 MiB each.
archives() {
    local here=$1 part
    mkdir "$here/source"
    tar -xf "$work/linux.tar.xz" -C "$here/source"
    if [[ $quick ]]; then
        find "$here/source" -mindepth 3 -maxdepth 3 -type d | sort | awk 'NR % 4' | tr '\n' '\0' | xargs -0 rm -rf
    fi
    tar -cf "$here/linux.tar" -C "$here/source" .
    pigz -c "$here/linux.tar" >"$here/linux.tar.gz"
    zstd -q -T0 -c "$here/linux.tar" >"$here/linux.tar.zst"
    split -b 8M -a 3 "$here/linux.tar" "$here/part."
    for part in "$here"/part.*; do zstd -q -c "$part"; done >"$here/linux-frames.tar.zst"
    rm "$here"/part.*
}

tools
printf 'Linux %s, %s processors, %s; %s; %s; %s; zstd %s; medians of %s runs\n' "$(uname -r)" "$(nproc)" \
    "$(awk '/MemTotal/ { printf "%.0f GiB", $2 / 1048576 }' /proc/meminfo)" "$(tar --version | head -n 1)" \
    "$(bsdtar --version)" "$(pigz --version 2>&1)" "$(zstd -q --version | head -n 1)" "$runs"
linux_archive || die "no Linux source"
for place in "${places[@]}"; do
    here=$(mktemp -d "$place/parfs-tar.XXXXXX")
    made+=("$here")
    archives "$here"
    compare "$here" extract linux.tar "extraction, plain" tar bsdtar partar
    compare "$here" extract linux.tar.gz "extraction, gzip of one member" tar-with-pigz bsdtar partar
    compare "$here" extract linux.tar.zst "extraction, zstd of one frame" tar-with-zstd-T0 bsdtar partar
    compare "$here" extract linux-frames.tar.zst "extraction, zstd of frames of 8 MiB" tar-with-zstd-T0 bsdtar partar
    compare "$here" create "" "creation, plain" tar bsdtar partar
    compare "$here" create --gzip "creation, gzip" tar-with-pigz bsdtar partar
    compare "$here" create --zstd "creation, zstd" tar-with-zstd-T0 bsdtar partar
    rm -rf "$here"
    report
    rm "$work/times"
done
