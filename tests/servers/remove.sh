# shellcheck shell=bash disable=SC2154,SC2015
# parrm against find and ls: trees removed from nfs-ganesha, from the simulator and from directories, whole and in part.
# Sourced by tests/servers/run after the others.

# Files in the one large directory: nfs-ganesha pages its listing with cookies of its own.
many_names=20000

# tree_remove DIR: the trees of archives.sh, a path longer than PATH_MAX, and links to what must not be touched.
tree_remove() {
    mkdir -p "$work/outside/dir" && echo kept >"$work/outside/file" && echo kept >"$work/outside/dir/file" &&
        cp -a --reflink=never "$work/remove-source" "$1" &&
        ln -s "$work/outside/file" "$1/to-file" && ln -s "$work/outside/dir" "$1/to-dir" && ln -s . "$1/to-itself" &&
        ln -s "$work/outside" "$1/odd/outside" && ln -s /dev/null "$1/odd/to-null"
    deep_in "$1"
    # What an ordinary user may not remove is not.
    [[ -n $root ]] || chmod u+w "$1/odd/read-only" "$1/odd/read-only/sub"
}

# deep_in DIR: cp cannot copy it.
deep_in() (
    local part
    part=$(printf 'q%.0s' $(seq 250))
    mkdir -p "$1/deep" && cd "$1/deep" || exit 1
    for _ in $(seq 20); do mkdir "$part" && cd "$part" || exit 1; done
    echo deep >file && mkfifo fifo
)

# outside_intact NAME: what the links lead to is as it was.
outside_intact() {
    if [[ $(cat "$work/outside/file" "$work/outside/dir/file" 2>&1) == $'kept\nkept' && -c /dev/null ]]; then
        ok "$1"
    else
        bad "$1" "what a symbolic link leads to was removed"
    fi
}

# is_empty NAME DIR [URL]: nothing is in the directory by ls, nor by libnfs's listing.
is_empty() {
    local left
    # shellcheck disable=SC2012
    left=$(ls -A "$2" 2>&1 | head -n 3)
    [[ -z ${3:-} || -n $left ]] || left=$(timeout 60 nfs-ls "$3" 2>&1 | head -n 3)
    if [[ -d $2 && -z $left ]]; then ok "$1"; else bad "$1" "left: $left"; fi
}

# same_list NAME WANT DIR: these paths are in the directory and no others. WANT is sorted.
same_list() {
    list_of "$3" >"$work/got.list"
    same_tree "$1" "$2" "$work/got.list"
}

list_of() {
    (cd "$1" && find . -mindepth 1 -printf '%y %P\0' | sort -z | tr '\n\0' '\1\n')
}

# remove_tree NAME DIR TARGET [URL]: the checks on one place; TARGET is DIR for parrm, URL for libnfs.
remove_tree() {
    local name=$1 dir=$2 target=$3 url=${4:-} report=$work/report.json objects
    tree_remove "$dir/tree" 2>"$(log "$name/tree")" || bad "$name/tree" "$(tail -n 1 "$(log "$name/tree")")"
    mkdir "$dir/many" && (cd "$dir/many" && seq -f "name-with-some-length-%.0f" "$many_names" | xargs touch)
    touch "$dir/beside"

    list_of "$dir" >"$work/want.list"
    run_job "$name/dry-run" 0 parrm --dry-run "$(in_target "$target" tree)" "$(in_target "$target" many)" && same_list "$name/dry-run" "$work/want.list" "$dir"

    # A choice by name: what it keeps is what find keeps.
    (cd "$dir" && find tree/odd -name 'size-*' -printf '%y %p\n' | sort) >"$work/kept.list"
    run_job "$name/exclude" 0 parrm --exclude='size-*' "$(in_target "$target" tree/odd)"
    {
        printf 'd odd\n'
        sed 's| tree/| |' "$work/kept.list"
    } | sort >"$work/want.list"
    (cd "$dir/tree" && find odd -printf '%y %p\n' | sort) >"$work/got.list"
    same_tree "$name/exclude" "$work/want.list" "$work/got.list"

    # By age, as find has it. Nothing else in the tree is this old but what tree_large dates.
    touch -d '2005-05-05 05:05:05Z' "$dir/many/name-with-some-length-"?7?
    (cd "$dir" && find many -type f ! -newermt '2020-01-01Z' | wc -l) >"$work/old"
    run_job "$name/older-than" 0 parrm --older-than 2020-01-01 --report "$report" "$(in_target "$target" many)" &&
        if [[ $(<"$work/old") -gt 0 && -z $(find "$dir/many" -type f ! -newermt '2020-01-01Z' -print -quit) &&
            $(find "$dir/many" -type f | wc -l) == $((many_names - $(<"$work/old"))) ]]; then
            ok "$name/older-than"
        else
            bad "$name/older-than" "$(find "$dir/many" -type f | wc -l) files of $many_names left, $(<"$work/old") were old"
        fi

    # From a list, of which one name is not there.
    printf 'many/name-with-some-length-1\0beside\0tree/long/%s\0' "$(printf 'n%.0s' $(seq 255))" >"$work/list"
    run_job "$name/files-from" 0 parrm --files-from "$work/list" -0 "$target" &&
        if [[ ! -e $dir/beside && ! -e $dir/many/name-with-some-length-1 && -e $dir/many/name-with-some-length-2 &&
            $(find "$dir/tree/long" -name 'nnnn*' | wc -l) == 0 && -d $dir/tree/long ]]; then
            ok "$name/files-from"
        else
            bad "$name/files-from" "removed other than what the list says"
        fi
    run_job "$name/not-there" 1 parrm "$(in_target "$target" beside)" && ok "$name/not-there"
    run_job "$name/not-there-forced" 0 parrm -f "$(in_target "$target" beside)" && ok "$name/not-there-forced"

    objects=$(find "$dir" -mindepth 1 -printf x | wc -c)
    run_job "$name/whole" 0 parrm --report "$report" "$(in_target "$target" tree)" "$(in_target "$target" many)" && is_empty "$name/whole" "$dir" "$url"
    if [[ $(calls "$report" REMOVE RMDIR) == "$objects" ]]; then
        ok "$name/whole/calls"
    else
        bad "$name/whole/calls" "$(calls "$report" REMOVE RMDIR) REMOVEs and RMDIRs for $objects objects"
    fi
    # The operands alone: a server's `..` is the directory that it was found in.
    if [[ -n $url ]]; then
        if (($(calls "$report" LOOKUP) <= 4)); then ok "$name/whole/lookups"; else bad "$name/whole/lookups" "$(calls "$report" LOOKUP) LOOKUPs"; fi
    fi
    outside_intact "$name/outside"

    # A link is an operand like any other; and --contents keeps the directory.
    ln -s "$work/outside/dir" "$dir/link" && mkdir -p "$dir/inside/a/b"
    run_job "$name/link" 0 parrm "$(in_target "$target" link)" && outside_intact "$name/link/outside"
    run_job "$name/contents" 0 parrm --contents "$target" && is_empty "$name/contents" "$dir" "$url"
}

# in_target TARGET PATH: below a directory or a URL's.
in_target() {
    if [[ $1 == nfs://*\?* ]]; then printf '%s/%s?%s' "${1%%\?*}" "$2" "${1#*\?}"; else printf '%s/%s' "$1" "$2"; fi
}

remove_suite() {
    local targets served=${exports:-$work}/served
    (
        tree_odd "$work/remove-source/odd" && tree_long "$work/remove-source/long" && tree_work "$work/remove-source/work" 400
    ) 2>"$(log remove/tree)" || die "the tree of remove.sh cannot be made: $(tail -n 1 "$(log remove/tree)")"
    mkdir "$work/removing"
    remove_tree remove/local "$work/removing" "$work/removing"
    if [[ -n $root ]]; then
        for targets in 1 2; do
            mkdir "$exports/removing"
            remove_tree "remove/ganesha/$targets-targets" "$exports/removing" "$(parfs_url "$targets" removing)" "$(libnfs_url 1 removing)"
            ganesha_reset || die "nfs-ganesha did not come back"
        done
        mkdir -p "$served/removing"
        if sim_start --dir "$served" --targets 2 --unlimited; then
            remove_tree remove/simulator "$served/removing" "$(in_target "$sim_url" removing)" "$(sim_libnfs removing)"
            sim_end || bad remove/simulator/end "did not end on SIGTERM"
        else
            bad remove/simulator/start "$(tail -n 2 "$work/logs/sim.err")"
        fi
        find "$served" -delete
    fi
    chmod -R u+w "$work/remove-source"
    rm -rf "$work/remove-source" "$work/removing" "$work/outside"
}
