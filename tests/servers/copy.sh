# shellcheck shell=bash disable=SC2154,SC2015
# parcp against cp -a and rsync: trees from directories to nfs-ganesha, to the simulator, and back; repeated runs after
# edits; choices; verification. Sourced by tests/servers/run after the others.

# tree_copy DIR: what copying gets wrong first, beside what extraction does: the trees of archives.sh, a path longer than
# PATH_MAX, sockets, times before 1970 and far ahead, files of holes alone.
tree_copy() {
    local part
    part=$(printf 'q%.0s' $(seq 250))
    tree_odd "$1/odd" && tree_long "$1/long" && tree_large "$1/large" && (
        cd "$1" || exit 1
        set -e
        mkdir across && ln odd/link-a across/link-d && ln large/five across/five
        perl -MSocket -e 'socket(S, PF_UNIX, SOCK_STREAM, 0) && bind(S, sockaddr_un("socket")) or die $!'
        truncate -s 1 one-hole && truncate -s 8M large/hole-only
        echo x >before-1970 && touch -d '1955-05-05 05:05:05.123456789Z' before-1970
        echo x >far && touch -d '2286-11-20 17:46:40.000000001Z' far
        mkdir deep && cd deep
        for _ in $(seq 20); do mkdir "$part" && cd "$part"; done
        echo deep >file && ln -s file symlink && mkfifo fifo
        touch -d '2006-06-06 06:06:06.666666666Z' file && touch -d '2007-07-07 07:07:07.7Z' .
    )
}

# tree_attributes DIR: extended attributes and ACLs; fails where the file system has none.
tree_attributes() {
    mkdir -p "$1" && (
        cd "$1" || exit 1
        set -e
        for name in plain both acl; do echo $name >$name; done
        mkdir inherits inherits/sub && echo x >inherits/file && ln both linked
        setfattr -n user.plain -v "$(printf 'with\nnewline')" plain && setfattr -n user.empty both
        setfattr -n user.large -v "$(printf 'v%.0s' $(seq 2000))" both && setfattr -n user.dir -v d inherits
        setfacl -m u:1234:rw,g:5678:r,m::rw acl both && setfacl -d -m u:4321:rwx inherits
        setfacl -m u:99:x inherits/sub && chmod 640 inherits/file
    ) 2>>"$(log attributes)"
}

# manifest_attributes DIR: extended attributes and ACLs of all below.
manifest_attributes() {
    (cd "$1" && getfattr -R -h -d -m - -e hex . && getfacl -R -n .) 2>&1
}

# root_of DIR: what a copy makes of the root itself.
root_of() {
    stat -c '%a %u %g %.Y' "$1"
}

# manifest_all DIR: the tree with its root.
manifest_all() {
    root_of "$1"
    manifest "$1"
}

# run_job NAME WANTED COMMAND...: runs a command into the check's log; false, and a failed check, unless its status is as wanted.
run_job() {
    local name=$1 wanted=$2 status=0
    shift 2
    timeout "$hang_s" "$@" >"$(log "$name")" 2>&1 </dev/null || status=$?
    [[ $status == "$wanted" ]] || {
        bad "$name" "exit status $status, wanted $wanted: $(grep -a ':' "$(log "$name")" | tail -n 2 | cut -c -300)"
        false
    }
}

# rsync_agrees NAME SOURCE COPY OPTION...: rsync finds nothing to do. It takes no path longer than PATH_MAX.
rsync_agrees() {
    local name=$1 from=$2 to=$3
    shift 3
    rsync -aH --checksum --dry-run --itemize-changes --delete --modify-window=-1 --exclude=/deep "$@" "$from/" "$to/" \
        >"$(log "$name")" 2>&1 || bad "$name" "rsync: $(tail -n 1 "$(log "$name")")" || return
    if [[ -s $(log "$name") ]]; then
        bad "$name" "rsync would change $(wc -l <"$(log "$name")") things: $(head -n 2 "$(log "$name")" | cut -c -160)"
    else
        ok "$name"
    fi
}

# nfs_times: a manifest with its times as NFSv3 can tell them, 32 bits of seconds from 1970: what is outside is put at the end of that.
nfs_times() {
    sed -E 's/^(before-1970 .*) -[0-9.]+ /\1 0.0000000000 /; s/^(far .*) 10000000000\.[0-9]+ /\1 4294967295.9999999990 /'
}

# same_copy NAME SOURCE COPY: equal in all, by the manifests and by rsync.
same_copy() {
    manifest_all "$2" >"$work/want.copy"
    manifest_all "$3" >"$work/got.copy"
    same_tree "$1" "$work/want.copy" "$work/got.copy"
    rsync_agrees "$1/rsync" "$2" "$3"
}

# same_copy_nfs NAME SOURCE COPY: equal in what NFSv3 can tell.
same_copy_nfs() {
    manifest_all "$2" | nfs_times >"$work/want.copy"
    manifest_all "$3" >"$work/got.copy"
    same_tree "$1" "$work/want.copy" "$work/got.copy"
    rsync_agrees "$1/rsync" "$2" "$3" --exclude=/before-1970 --exclude=/far
}

# same_copy_ganesha NAME SOURCE COPY: equal in what nfs-ganesha can be told.
same_copy_ganesha() {
    manifest_all "$2" | nfs_times | without_symlink_times /dev/stdin >"$work/want.copy"
    manifest_all "$3" | without_symlink_times /dev/stdin >"$work/got.copy"
    same_tree "$1" "$work/want.copy" "$work/got.copy"
    rsync_agrees "$1/rsync" "$2" "$3" --omit-link-times --exclude=/before-1970 --exclude=/far
}

# kept_sparse NAME SOURCE COPY: the copy of the sparse files takes no more room than they do, but for a block for each.
kept_sparse() {
    local name=$1 from to
    from=$(cd "$2" && du -kc large/hole-only large/sparse large/sparse-many one-hole | tail -n 1 | cut -f 1)
    to=$(cd "$3" && du -kc large/hole-only large/sparse large/sparse-many one-hole | tail -n 1 | cut -f 1)
    if ((to <= from + from / 4 + 64)); then ok "$name"; else bad "$name" "$to KiB in use, the source has $from"; fi
}

# calls REPORT PROCEDURE...: how many calls of these a run made.
calls() {
    local report=$1 pattern
    shift
    pattern=$(printf '|%s' "$@")
    grep -aE -A 1 "\"procedure\": \"(${pattern:1})\"" "$report" | awk -F '[:,]' '/"calls"/ { sum += $2 } END { print sum + 0 }'
}

# field REPORT NAME: a number of the report.
field() {
    awk -F '[:,]' -v name="\"$2\"" '$1 ~ name { print $2 + 0; exit }' "$1"
}

# symlinks DIR: how many there are.
symlinks() {
    find "$1" -type l -printf '%i\n' | sort -u | wc -l
}

# nothing_to_do NAME SOURCE TARGET OPTION...: one more run changes nothing, and says so. To nfs-ganesha the times of symbolic
# links are sent each time, for it does not keep them.
nothing_to_do() {
    local name=$1 report=$work/report.json changes
    run_job "$name" 0 parcp -a --report "$report" "${@:4}" "$2" "$3" || return
    changes=$(calls "$report" CREATE MKDIR SYMLINK MKNOD LINK WRITE SETATTR REMOVE RMDIR RENAME SETXATTR REMOVEXATTR COPY)
    # An ordinary user's read-only directories are opened and shut.
    [[ -n $root ]] || changes=$((changes - 2 * $(find "$2" -type d ! -perm -u+rwx -printf x | wc -c)))
    [[ $name != */ganesha/* ]] || changes=$((changes - $(symlinks "$2")))
    if [[ $changes == 0 && $(field "$report" unchanged) -gt 0 && $(field "$report" files) == 0 ]]; then
        ok "$name"
    else
        bad "$name" "$changes calls that change something, $(field "$report" unchanged) unchanged, $(field "$report" files) files copied"
    fi
}

# copy_local: from a directory to one of the same file system and to another one, with what only local sides have.
copy_local() {
    local from=$1 to=$work/copied other=${exports:-$work}/copied
    run_job copy/local 0 parcp -a "$from" "$to" && same_copy copy/local "$from" "$to" && kept_sparse copy/local/sparse "$from" "$to"
    nothing_to_do copy/local/again "$from" "$to"
    run_job copy/local/verify-only 0 parcp --verify-only "$from" "$to" && ok copy/local/verify-only
    # The measure itself: cp's copy of all but what it cannot name.
    mkdir "$work/cp" && (cd "$from" && find . -mindepth 1 -maxdepth 1 ! -name deep -print0 | xargs -0 cp -a -t "$work/cp") &&
        touch -r "$from" "$work/cp" && remove_all "$to/deep" && touch -r "$from" "$to" &&
        same_copy copy/local/cp "$work/cp" "$to"
    remove_all "$to" "$work/cp"
    run_job copy/local/across 0 parcp -a "$from" "$other" && same_copy copy/local/across "$from" "$other"
    remove_all "$other"
    if tree_attributes "$work/attributes"; then
        run_job copy/local/attributes 0 parcp -a "$work/attributes" "$to" &&
            same_copy copy/local/attributes "$work/attributes" "$to" && manifest_attributes "$work/attributes" >"$work/want.copy" &&
            manifest_attributes "$to" >"$work/got.copy" && same_tree copy/local/attributes/all "$work/want.copy" "$work/got.copy"
        nothing_to_do copy/local/attributes/again "$work/attributes" "$to"
        remove_all "$to"
    else
        printf '# no extended attributes or ACLs on the file system of %s: not tested\n' "$work"
    fi
}

# copy_simulator: to the simulator over a directory, and back.
copy_simulator() {
    local from=$1 served=${exports:-$work}/served to=$work/copied
    mkdir "$served" && sim_start --dir "$served" --targets 2 --unlimited ||
        bad copy/simulator/start "$(tail -n 2 "$work/logs/sim.err")" || return
    local there=${sim_url/\?/copy?}
    [[ $sim_url == *\?* ]] || there=$sim_url/copy
    run_job copy/simulator/to 0 parcp -a "$from" "$there" && same_copy_nfs copy/simulator/to "$from" "$served/copy" &&
        kept_sparse copy/simulator/to/sparse "$from" "$served/copy"
    nothing_to_do copy/simulator/to/again "$from" "$there"
    run_job copy/simulator/from 0 parcp -a "$there" "$to" && same_copy copy/simulator/from "$served/copy" "$to" &&
        kept_sparse copy/simulator/from/sparse "$from" "$to"
    sim_end || bad copy/simulator/end "did not end on SIGTERM"
    remove_all "$served" "$to"
}

# copy_ganesha: to nfs-ganesha over one and two targets, on it, and back.
copy_ganesha() {
    local from=$1 to=$work/copied targets
    for targets in 1 2; do
        run_job "copy/ganesha/to/$targets-targets" 0 parcp -a "$from" "$(parfs_url "$targets" "to-$targets")" &&
            same_copy_ganesha "copy/ganesha/to/$targets-targets" "$from" "$exports/to-$targets"
    done
    kept_sparse copy/ganesha/to/sparse "$from" "$exports/to-2"
    nothing_to_do copy/ganesha/to/again "$from" "$(parfs_url 2 to-2)"
    for targets in 1 2; do
        run_job "copy/ganesha/from/$targets-targets" 0 parcp -a "$(parfs_url "$targets" to-2)" "$to" &&
            same_copy "copy/ganesha/from/$targets-targets" "$exports/to-2" "$to"
        [[ $targets == 2 ]] || remove_all "$to"
    done
    kept_sparse copy/ganesha/from/sparse "$from" "$to"
    remove_all "$to"
    run_job copy/ganesha/between 0 parcp -a "$(parfs_url 1 to-1)" "$(parfs_url 2 between)" &&
        same_copy_ganesha copy/ganesha/between "$exports/to-1" "$exports/between"
    nothing_to_do copy/ganesha/between/again "$from" "$(parfs_url 2 between)"
    if [[ -d $work/attributes ]]; then
        run_job copy/ganesha/attributes 0 parcp -a -A -X "$work/attributes" "$(parfs_url 2 attributes)" &&
            same_copy_ganesha copy/ganesha/attributes "$work/attributes" "$exports/attributes" &&
            { grep -aq 'extended attributes and ACLs are not copied' "$(log copy/ganesha/attributes)" && ok copy/ganesha/attributes/warned ||
                bad copy/ganesha/attributes/warned "no warning that attributes are not carried"; }
    fi
    ganesha_reset || die "nfs-ganesha did not come back"
}

# copy_huge: a sparse file beyond what 32 bits count, to nfs-ganesha and back.
copy_huge() {
    local from=$work/huge to=$work/copied name=copy/huge at
    mkdir "$from" && truncate -s 5G "$from/file"
    for at in 0 65535 65536 69000 81919; do
        random_bytes "$at" 65536 | dd of="$from/file" bs=64k seek=$at conv=notrunc status=none
    done
    run_job $name/to 0 parcp -a "$from" "$(parfs_url 2 huge)" && run_job $name/from 0 parcp -a "$(parfs_url 2 huge)" "$to" &&
        if cmp "$from/file" "$to/file" >"$(log $name)" 2>&1 && (($(du -k "$exports/huge/file" | cut -f 1) < 1024 && $(du -k "$to/file" | cut -f 1) < 1024)); then
            ok $name
        else
            bad $name "bytes differ, or $(du -k "$exports/huge/file" "$to/file" | tr '\n' ' ') KiB in use"
        fi
    rm -r "$from" "$to"
    ganesha_reset || die "nfs-ganesha did not come back"
}

# edit_tree DIR SEED COUNT: so many changes of a tree as tree_work makes, the same for each seed.
edit_tree() (
    cd "$1" || exit 1
    set -e +o pipefail
    RANDOM=$2
    local -a files dirs
    local n file dir size
    for ((n = 0; n < $3; n++)); do
        mapfile -t files < <(find . -type f -path './*/*' | sort)
        mapfile -t dirs < <(find . -mindepth 1 -type d | sort)
        file=${files[RANDOM % ${#files[@]}]}
        dir=${dirs[RANDOM % ${#dirs[@]}]}
        size=$(stat -c %s "$file")
        case $((RANDOM % 17)) in
        0) echo "more $n" >>"$file" ;;
        1) truncate -s $((size / 2)) "$file" ;;
        2) random_bytes $((n + 1)) "$size" >"$file" ;;
        3) random_bytes $((n + 1)) "$size" >"$file" && touch -d '2011-11-11 11:11:11.111111111Z' "$file" ;;
        4) rm "$file" ;;
        5) chmod $((RANDOM % 8))$((4 + RANDOM % 4))$((RANDOM % 8))$((RANDOM % 8)) "$file" ;;
        6) [[ -z $root ]] || chown $((RANDOM)):$((RANDOM)) "$file" ;;
        7) touch -d "2012-12-12 12:12:12.$RANDOM" "$file" ;;
        8) mv "$file" "$dir/moved-$n" ;;
        9) rm "$file" && mkdir "$file" && echo inside >"$file/inside" ;;
        10) rm "$file" && ln -s "target-$n" "$file" ;;
        11) ln "$file" "$dir/link-$n" ;;
        12) random_bytes "$n" $((RANDOM * 3)) >"$dir/new-$n" ;;
        13) mkdir -p "$dir/new-dir-$n/sub" && cp -a "$file" "$dir/new-dir-$n/sub/" && mkfifo "$dir/new-dir-$n/fifo" ;;
        14) cp -a "$file" "$file.broken" && echo "own $n" >>"$file.broken" && mv "$file.broken" "$file" ;;
        15) chmod 7$((RANDOM % 8))5 "$dir" && touch -d '2013-03-13 13:13:13.13Z' "$dir" ;;
        16) ((n % 5)) || { rm -r "$dir" && echo "was a directory" >"$dir"; } ;;
        esac
    done
)

# copy_edits NAME TARGET DIR COMPARE: a tree copied to TARGET, which is DIR, edited and copied again, as rsync does it.
copy_edits() {
    local name=$1 target=$2 dir=$3 compare=$4 from=$work/edited by_rsync=$work/by-rsync seed round
    rm -rf "$from" "$by_rsync"
    cp -a "$work/unedited" "$from" && cp -a "$work/unedited" "$by_rsync"
    run_job "$name/first" 0 parcp --restore "$from" "$target" && "$compare" "$name/first" "$from" "$dir"
    for round in 1 2; do
        seed=$((4711 * round))
        edit_tree "$from" "$seed" 150 2>"$(log "$name/edits")"
        # Asked afterwards, because a shell in a condition does not stop at its errors.
        # shellcheck disable=SC2181
        [[ $? == 0 ]] || bad "$name/edits" "seed $seed: $(tail -n 1 "$(log "$name/edits")")"
        rsync -aHx --delete --modify-window=-1 "$from/" "$by_rsync/" >"$(log "$name/by-rsync")" 2>&1 || bad "$name/by-rsync" "rsync failed"
        if [[ $round == 1 ]]; then
            run_job "$name/dry-run" 0 parcp --restore --delete --dry-run "$from" "$target" && ok "$name/dry-run"
        fi
        run_job "$name/seed-$seed" 0 parcp --restore --delete --report "$work/edits.json" "$from" "$target" &&
            "$compare" "$name/seed-$seed" "$from" "$dir" && "$compare" "$name/seed-$seed/as-rsync" "$by_rsync" "$dir"
        # What was equal was left alone.
        if (($(field "$work/edits.json" files) < 400 && $(field "$work/edits.json" unchanged) > 400)); then
            ok "$name/seed-$seed/only-changes"
        else
            bad "$name/seed-$seed/only-changes" "$(field "$work/edits.json" files) files copied, $(field "$work/edits.json" unchanged) unchanged"
        fi
        nothing_to_do "$name/seed-$seed/again" "$from" "$target" --restore --delete
    done
}

# copy_many NAME TARGET DIR COMPARE: directories of many names, of which half is new, a quarter equal and a quarter another
# file; nfs-ganesha pages its listing with cookies of its own, and gives the names in another order than the source.
copy_many() {
    local from=$work/many
    mkdir -p "$from/flat" "$3/flat"
    (cd "$from/flat" && seq -f 'name-of-some-length-%.0f' 12000 | xargs touch -d '2010-10-10 10:10:10.1Z')
    (cd "$3/flat" && seq -f 'name-of-some-length-%.0f' 6001 18000 | xargs touch -d '2010-10-10 10:10:10.1Z')
    (cd "$3/flat" && seq -f 'name-of-some-length-%.0f' 9001 12000 | while read -r name; do echo other >"$name"; done)
    # So that the roots differ, whose times may else be those of one tick.
    touch -d '2010-10-10Z' "$from"
    run_job "$1" 0 parcp -a --delete --report "$work/report.json" "$from" "$2" && "$4" "$1" "$from" "$3"
    if [[ $(field "$work/report.json" files)/$(field "$work/report.json" unchanged)/$(field "$work/report.json" deleted) == 9000/3000/6000 ]]; then
        ok "$1/counts"
    else
        bad "$1/counts" "$(field "$work/report.json" files) files, $(field "$work/report.json" unchanged) unchanged, $(field "$work/report.json" deleted) deleted"
    fi
    find "$from" -delete
}

# copy_choices: what is left out or listed, against rsync with the same list.
copy_choices() {
    local from=$work/unedited name target=$1 dir=$2 by_rsync=$work/by-rsync
    rm -rf "$by_rsync" && mkdir "$by_rsync"
    # Without a newline at its end, as scripts write it with printf or echo -n.
    printf '# not a pattern\n*7\nlarge*\nd2' >"$work/patterns"
    name=$3/exclude-from
    rsync -aH --exclude-from="$work/patterns" "$from/" "$by_rsync/"
    run_job "$name" 0 parcp -a --exclude-from="$work/patterns" "$from" "$target" && "$4" "$name" "$by_rsync" "$dir"
    # Excluded names of the target are not its extras.
    name=$3/exclude-delete
    mkdir -p "$dir/d2" && echo kept >"$dir/d2/kept" && echo extra >"$dir/extra" && echo kept >"$dir/d0/kept7"
    run_job "$name" 0 parcp -a --delete --exclude-from "$work/patterns" "$from" "$target" &&
        if [[ -e $dir/d2/kept && -e $dir/d0/kept7 && ! -e $dir/extra ]]; then ok "$name"; else bad "$name" "kept or deleted the wrong ones"; fi
    find "$dir" -mindepth 1 -delete
    name=$3/files-from
    rm -rf "$by_rsync" && mkdir "$by_rsync"
    (cd "$from" && find . -type f -name '*1' -print0 && printf 'd3\0new\nline\0' && printf './d1/../d1/f202\0' | sed -z 's|d1/../||') >"$work/list"
    rsync -aH -r --files-from="$work/list" --from0 "$from/" "$by_rsync/" >"$(log "$name-rsync")" 2>&1 || bad "$name" "rsync failed"
    touch -r "$dir" "$by_rsync"
    run_job "$name" 0 parcp -a --files-from="$work/list" -0 "$from" "$target" && {
        manifest "$by_rsync" >"$work/want.copy"
        manifest "$dir" >"$work/got.copy"
        same_tree "$name" "$work/want.copy" "$work/got.copy"
    }
    find "$dir" -mindepth 1 -delete
}

# copy_checks: --atomic, --verify and --verify-only.
copy_checks() {
    local from=$work/unedited target=$1 dir=$2 name victim reference=$work/by-rsync
    name=$3/atomic
    run_job "$name" 0 parcp -a --atomic --verify --report "$work/report.json" "$from" "$target" && "$4" "$name" "$from" "$dir"
    if [[ $(field "$work/report.json" verified_bytes) == "$(unedited_bytes)" ]]; then
        ok "$name/verified"
    else
        bad "$name/verified" "$(field "$work/report.json" verified_bytes) bytes verified of $(unedited_bytes)"
    fi
    # Over files that are there: the old ones go when the new ones are complete.
    cp -a "$from" "$reference.again" && find "$reference.again" -type f -exec touch -d '2020-02-02 02:02:02.02Z' {} +
    run_job "$name/over" 0 parcp -a --atomic "$reference.again" "$target" && "$4" "$name/over" "$reference.again" "$dir"
    name=$3/verify-only
    run_job "$name/equal" 0 parcp --verify-only --exclude symlink "$reference.again" "$target" && ok "$name/equal"
    victim=$(find "$reference.again" -type f -size +8k -path '*/d1/*' -printf '%P\n' | sort | head -n 1)
    flip "$dir/$victim" 5000
    manifest_all "$dir" >"$work/before"
    run_job "$name/flipped" 1 parcp --verify-only --exclude=symlink "$reference.again" "$target" &&
        if grep -aqF "$victim" "$(log "$name/flipped")" && [[ $(grep -ac ': ' "$(log "$name/flipped")") == 1 ]]; then
            ok "$name/flipped"
        else
            bad "$name/flipped" "one line with $victim expected: $(head -n 3 "$(log "$name/flipped")")"
        fi
    manifest_all "$dir" >"$work/after"
    same_tree "$name/leaves-all" "$work/before" "$work/after"
    # Size and time are equal, so only the bytes tell.
    run_job "$3/checksum" 0 parcp -a --checksum "$reference.again" "$target" && "$4" "$3/checksum" "$reference.again" "$dir"
    rm -rf "$reference.again"
}

unedited_bytes() {
    find "$work/unedited" -type f -printf '%i %s\n' | sort -u | awk '{ sum += $2 } END { printf "%d", sum }'
}

# flip FILE OFFSET: another byte there, the same times.
flip() {
    touch -r "$1" "$work/times"
    local byte
    byte=$(od -An -tu1 -j "$2" -N 1 "$1")
    # shellcheck disable=SC2059
    printf "\\$(printf %o $((byte ^ 1)))" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
    touch -r "$work/times" "$1"
}

# tree_edited: $work/unedited, the tree of the repeated runs; times in the past, so that every edit changes them.
tree_edited() {
    tree_work "$work/unedited" 1000 && (
        cd "$work/unedited" || exit 1
        set -e
        ln -s d1/f200 symlink && ln d0/f1 d1/f1-link && ln d0/f1 d2/f1-link && echo x >"$(printf 'new\nline')" && mkdir empty
        find . -depth -exec touch -h -d '2010-10-10 10:10:10.101010101Z' {} +
    )
}

copy_suite() {
    local from=$work/copy-source served
    tree_copy "$from" 2>"$(log copy/tree)" || die "the tree of copy.sh cannot be made: $(tail -n 1 "$(log copy/tree)")"
    tree_edited || die "the tree of copy.sh cannot be made"
    copy_local "$from"
    copy_edits copy/edits/local "$work/copied" "$work/copied" same_copy
    find "$work/copied" -mindepth 1 -delete
    copy_choices "$work/copied" "$work/copied" copy/choices/local same_copy
    copy_checks "$work/copied" "$work/copied" copy/checks/local same_copy
    find "$work/copied" -delete
    if [[ -n $root ]]; then
        copy_simulator "$from"
        copy_ganesha "$from"
        [[ -z $full ]] || copy_huge
        mkdir "$exports/edits"
        copy_edits copy/edits/ganesha "$(parfs_url 2 edits)" "$exports/edits" same_copy_ganesha
        ganesha_reset || die "nfs-ganesha did not come back"
        copy_many copy/many/ganesha "$(parfs_url 2 many)" "$exports/many" same_copy_ganesha
        ganesha_reset || die "nfs-ganesha did not come back"
        mkdir "$exports/choices"
        copy_choices "$(parfs_url 2 choices)" "$exports/choices" copy/choices/ganesha same_copy_ganesha
        ganesha_reset || die "nfs-ganesha did not come back"
        mkdir "$exports/checks"
        copy_checks "$(parfs_url 2 checks)" "$exports/checks" copy/checks/ganesha same_copy_ganesha
        ganesha_reset || die "nfs-ganesha did not come back"
    fi
    remove_all "$from" "$work/unedited" "$work/edited" "$work/by-rsync"
    rm -rf "$work/attributes"
}
