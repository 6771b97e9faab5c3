# shellcheck shell=bash disable=SC2154,SC2015
# Shared by the parts of tests/servers/run: results, bounded waiting, manifests of trees. Sourced, never run.
# Leaves out anything about parfs or a server.

passed=0
failed=0
export LC_ALL=C TZ=UTC

# ok NAME
ok() {
    passed=$((passed + 1))
    printf 'ok %s\n' "$1"
}

# bad NAME REASON...: a failed check; the reason is one line.
bad() {
    local name=$1
    shift
    failed=$((failed + 1))
    printf 'FAIL %s %s\n' "$name" "$(printf '%s' "$*" | tr '\n' ' ')"
}

# die REASON...: the suite cannot go on; counted as a failed check, so that the last line says it too.
die() {
    bad suite "$@"
    exit 1
}

# log NAME: the file that a check's output goes to; the directory is kept when a check failed.
log() {
    printf '%s/logs/%s.log' "$work" "${1//\//_}"
}

# until_true SECONDS COMMAND...: repeats the command until it succeeds.
until_true() {
    local end=$((SECONDS + $1))
    shift
    until "$@" >/dev/null 2>&1; do
        ((SECONDS < end)) || return 1
        sleep 0.1
    done
}

# first_difference A B: one line that shows where two manifests part.
first_difference() {
    local text
    text=$(diff -a "$1" "$2" | grep -a '^[<>]' | head -n 2 | cut -c -160 | cat -v | tr '\n' ' ') || true
    printf '%s (%s differing lines)' "$text" "$(diff -a "$1" "$2" | grep -ac '^[<>]' || true)"
}

# manifest DIR: everything about a tree that an extraction must reproduce, one line for each object, sorted: path, type,
# mode, owner, mtime to the nanosecond, link count, symlink target; size of what has one; device numbers; the first
# name (in byte order) of each group of hard links; and the bytes of each file. The root itself is left out: it was
# there before the extraction. A directory's size and link count are its file system's affair. Files below 14 levels are
# read from their own directory, because their path may be longer than PATH_MAX.
manifest() {
    (
        cd "$1" || exit 1
        find . -mindepth 1 \( -type d -printf '%P %y %m %U %G - %T@ - \0' \) \
            -o \( -type f -printf '%P %y %m %U %G %s %T@ %n \0' \) \
            -o \( -printf '%P %y %m %U %G - %T@ %n %l\0' \) | sort -z | tr '\n\0' '\1\n'
        find . -mindepth 1 \( -type b -o -type c \) -print0 | sort -z |
            xargs -0 -r stat --printf '%n device %t:%T\n'
        local inode path
        declare -A first=()
        find . -mindepth 1 ! -type d -links +1 -printf '%P\0%i\0' | paste -z - - | sort -z |
            while IFS=$'\t' read -r -d '' path inode; do
                : "${first[$inode]:=$path}"
                printf '%s same as %s\n' "$path" "${first[$inode]}"
            done
        find . -mindepth 1 -maxdepth 14 -type f -print0 | sort -z | xargs -0 -r sha256sum -z | tr '\n\0' '\1\n'
        find . -mindepth 15 -type f -execdir sha256sum -z {} \; | tr '\n\0' '\1\n'
    )
}

# same_tree NAME WANT GOT: a check that two manifests are equal.
same_tree() {
    if cmp -s "$2" "$3"; then
        ok "$1"
    else
        bad "$1" "trees differ: $(first_difference "$2" "$3")"
    fi
}

# without_symlink_times MANIFEST: nfs-ganesha 4.3 with FSAL VFS answers OK to a SETATTR of a symlink's times and makes no
# system call for it, so there they cannot be compared. The simulator's trees are compared with them.
without_symlink_times() {
    sed -E 's/ (l 777 [0-9]+ [0-9]+ -) -?[0-9.]+ ([0-9]+) / \1 - \2 /' "$1"
}

# same_tree_ganesha NAME WANT DIR: a check that a tree that nfs-ganesha wrote is as the manifest says.
same_tree_ganesha() {
    manifest "$3" >"$work/got"
    without_symlink_times "$work/got" >"$work/got.ganesha"
    without_symlink_times "$2" >"$work/want.ganesha"
    same_tree "$1" "$work/want.ganesha" "$work/got.ganesha"
}

# remove_all PATH...: trees, also with directories that an ordinary user may not write to.
remove_all() {
    [[ $(id -u) == 0 ]] || find "$@" -type d ! -perm -u+rwx -exec chmod u+rwx {} + 2>/dev/null
    find "$@" -delete
}
