# shellcheck shell=bash disable=SC2154
# What the scenes share: the mounts, parfs, trees and their comparison. Sourced in the bed or on a host with mounts, after
# these were set: MOUNTS (mount points of one export, separated by commas), INPUT (folder with tree.tar, flat.tar and capped.tar),
# PARFS_BIN (folder with partar, parcp, parrm), KERNEL (tests/kernel). BED is set in the bed only.

work=$(mktemp -d)
mkdir "$work/logs"
# shellcheck source-path=SCRIPTDIR source=../../servers/lib.sh
. "$KERNEL/../servers/lib.sh"
PATH=$PARFS_BIN:$PATH

IFS=, read -r -a points <<<"$MOUNTS"
top=parfs-kernel-test.$$
# The same directory through each mount, and through the server itself where that is at hand.
dirs=("${points[@]/%//$top}")
served=${BED:+/mnt/export/$top}
served=${served:-${dirs[0]}}

# On a host with mounts nobody sets delays.
if [[ -z ${BED-} ]]; then
    rtt() { :; }
fi

# undelayed COMMAND...: preparation and comparison take no delay.
undelayed() {
    rtt off
    "$@"
    local status=$?
    rtt start
    return $status
}

leave() {
    rtt off
    cd / && rm -rf "$served" "$work"
}
trap leave EXIT

fresh() {
    rm -rf "$served"
    mkdir "$served" && chmod 755 "$served"
    cold
    local dir
    for dir in "${dirs[@]}"; do
        ls -d "$dir" >/dev/null || die "$dir does not show what the export has"
    done
}

# over K PROGRAM ARGUMENT...: sets cmd to the program over the first K mounts; false where K mounts are not there, or cannot
# be used at once. The arguments name the first mount alone.
over() {
    local k=$1 program=$2 chosen
    shift 2
    ((k <= ${#points[@]})) || return 3
    chosen=$(IFS=, && echo "${points[*]:0:k}")
    if ! "$program" --help | grep -q -e '--mounts'; then
        ((k == 1)) || return 3
        cmd=("$program" "$@")
    elif ((k == 1)); then
        cmd=("$program" --no-spread "$@")
    else
        cmd=("$program" --mounts "$chosen" "$@")
    fi
}

# can K: whether parfs can use K mounts here; says it when not.
can() {
    if over "$1" partar; then return 0; fi
    echo "left out: $1 mounts"
    return 1
}

# measured LABEL COMMAND...: a step from cold caches, whose status must be 0.
measured() {
    local label=$1 status
    shift
    cold
    step "$label" "$@" >"$work/out" 2>&1
    status=$?
    ((status == 0)) || bad "$label" "status $status: $(tail -n 3 "$work/out")"
    return $status
}

# measured_over K LABEL PROGRAM ARGUMENT...: the same for parfs over K mounts, with its report.
measured_over() {
    local k=$1 label=$2
    shift 2
    over "$k" "$@" --report @report@ && measured "$label $k" "${cmd[@]}"
}

# same_everywhere NAME WANT TREE [K]: TREE is as the manifest says through each (or the first K) mounts, from cold caches.
same_everywhere() {
    local dir
    cold
    for dir in "${dirs[@]:0:${4:-8}}"; do
        manifest "$dir/$3" >"$work/got"
        same_tree "$1, through ${dir%/*}" "$2" "$work/got"
    done
}

# gone NAME TREE: nothing is left of TREE through any mount.
gone() {
    local dir left=
    cold
    for dir in "${dirs[@]}"; do
        [[ ! -e $dir/$2 ]] || left+=" $dir/$2"
    done
    if [[ -z $left ]]; then ok "$1"; else bad "$1" "left: $left"; fi
}
