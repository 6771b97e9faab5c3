# shellcheck shell=bash disable=SC2154,SC2015
# partar's modes beside extraction to a server, on this host: what it lists, compares, writes to stdout and how it changes names must be
# what GNU tar does with the same archive, to the byte and the exit status. Sourced by tests/servers/run after lib.sh and archives.sh.

# both CHECK TAR-ARGUMENTS...: runs GNU tar and partar with the same arguments; stdout and exit status must be equal.
both() {
    local check=tar/$1 wanted=0 got=0
    shift
    LC_ALL=C.UTF-8 tar "$@" >"$work/a" 2>"$(log "$check-tar")" </dev/null || wanted=$?
    LC_ALL=C.UTF-8 timeout 120 partar "$@" >"$work/b" 2>"$(log "$check")" </dev/null || got=$?
    if [[ $got != "$wanted" ]]; then
        bad "$check" "exit status $got, GNU tar has $wanted: $(tail -n 2 "$(log "$check")")"
    elif ! cmp -s "$work/a" "$work/b"; then
        bad "$check" "$(first_difference "$work/a" "$work/b")"
    else
        ok "$check"
    fi
}

# tar_lists: every archive, in columns down to the nanosecond. GNU tar 1.34 does not know lz4 by itself; it says what a dump directory
# of an archive holds, and there are none here.
tar_lists() {
    local name
    for name in "$work"/archives/*; do
        name=${name##*/}
        [[ $name != *.lz4 ]] || continue
        # shellcheck disable=SC2046
        both "list/$name" $(tar_options "$name") -tvf "$work/archives/$name" --full-time
    done
    both list/names -tf "$work/archives/gnutar-pax-odd.tar"
    both list/numeric -tvf "$work/archives/gnutar-pax-odd.tar" --numeric-owner --utc
    TZ=America/New_York both list/zone -tvf "$work/archives/gnutar-pax-odd.tar"
    both list/members -tf "$work/archives/gnutar-pax-odd.tar" odd/many odd/empty
    both list/missing -tf "$work/archives/gnutar-pax-odd.tar" odd/many/none odd/empty
    both list/wildcards -tf "$work/archives/gnutar-pax-odd.tar" --wildcards '*-12?' --no-wildcards-match-slash 'odd/s*'
    both list/exclude -tf "$work/archives/gnutar-pax-odd.tar" --exclude 'size-*' --anchored --exclude many --no-anchored --exclude d
    both list/case -tf "$work/archives/gnutar-pax-odd.tar" --ignore-case --exclude 'SIZE-*' --no-anchored MANY
    both list/newer -tf "$work/archives/gnutar-pax-odd.tar" --newer-mtime '2002-01-01'
    printf 'odd/empty\nodd/new\\nline\n' >"$work/names"
    both list/names-from -tf "$work/archives/gnutar-pax-odd.tar" -T "$work/names"
}

# tar_to_stdout: the bytes of all files. Sparse ones one by one and through a pipe: GNU tar 1.34 seeks in a standard output that is a
# file, from its start, and so writes each over the one before.
tar_to_stdout() {
    local name file
    for name in gnutar-pax-odd.tar gnutar-gnu-odd.tar.gz gnutar-pax-large.tar; do
        both "stdout/$name" -xOf "$work/archives/$name"
    done
    both stdout/members -xOf "$work/archives/gnutar-pax-odd.tar" odd/size-513 odd/fifo
    for name in gnutar-gnu-sparse.tar gnutar-pax-sparse-{0.0,0.1,1.0}.tar bsdtar-pax-sparse.tar; do
        for file in sparse sparse-many hole-only; do
            if cmp -s <(tar -xOf "$work/archives/$name" large/$file | cat) <(partar -xOf "$work/archives/$name" large/$file); then
                ok "tar/stdout/$name/$file"
            else
                bad "tar/stdout/$name/$file" "the bytes differ"
            fi
        done
    done
}

# tar_compares: a tree that is as it was, and one with a difference of each kind. GNU tar fails where a symbolic link is a file now, and
# names the block of a hole that is none.
tar_compares() {
    local dir=$work/compare archive=$work/archives/gnutar-pax-odd.tar
    mkdir -p "$dir" && tar -xpf "$archive" --delay-directory-restore -C "$dir"
    both compare/equal -df "$archive" -C "$dir"
    both compare/verbose -dvf "$archive" -C "$dir" odd/many
    (
        cd "$dir/odd" || exit 1
        echo more >>size-513 && touch -r size-512 size-513
        printf y | dd of=size-1048576 bs=1 seek=1048000 conv=notrunc status=none && touch -d '2001-01-01' size-1048576
        printf y | dd of=size-4096 bs=1 conv=notrunc status=none
        rm size-511 && mkdir size-511
        rm empty-link && : >empty-link
        rm -r many/file-7 deep-dir/a/b
        ln -sfn other symlink
        touch -d '2001-01-01' many/file-8 && chmod 700 many && chmod 600 many/file-9
        [[ -z $root ]] || { chown 7:8 many/file-10 && chmod 600 null; }
        rm fifo && : >fifo
    )
    both compare/different -df "$archive" -C "$dir"
    both compare/member -df "$archive" -C "$dir" odd/size-513 odd/none
    rm -rf "$dir"
}

# changed CHECK ARGUMENTS...: extracts with both into directories of their own, which must be equal, but for the time of directories
# that are in members' names and no members themselves. From the GNU format, whose times are whole seconds: GNU tar 1.34 with --newer loses
# the rest of those of pax.
changed() {
    local check=tar/extract/$1 wanted=0 got=0 dir=$work/changed
    shift
    mkdir -p "$dir/tar" "$dir/partar"
    local archive=$work/archives/gnutar-gnu-odd.tar
    tar -xpf "$archive" --delay-directory-restore -C "$dir/tar" "$@" >"$(log "$check-tar")" 2>&1 || wanted=$?
    partar -xpf "$archive" -C "$dir/partar" "$@" >"$(log "$check")" 2>&1 || got=$?
    manifest "$dir/tar" | grep -Eav '^(gnutar-gnu-odd|gnutar-gnu-odd/odd|odd) d ' >"$work/a"
    manifest "$dir/partar" | grep -Eav '^(gnutar-gnu-odd|gnutar-gnu-odd/odd|odd) d ' >"$work/b"
    if [[ $got != "$wanted" ]]; then
        bad "$check" "exit status $got, GNU tar has $wanted: $(tail -n 2 "$(log "$check")")"
    elif ! cmp -s "$work/a" "$work/b"; then
        bad "$check" "$(first_difference "$work/a" "$work/b")"
    else
        ok "$check"
    fi
    chmod -R u+w "$dir" && rm -rf "$dir"
}

# GNU tar 1.34 does not put --one-top-level in front of hard links' targets and fails with them; so there are none here.
tar_changes() {
    changed transform --transform 's,^odd/\(many\|deep-dir\),\1-\U\1,' odd/many odd/deep-dir
    changed links --transform 's/link/LINK/g' --exclude 'n*'
    changed symlinks --transform 's/link/LINK/S' odd/link-a odd/symlink odd/dangling odd/link-b odd/dir-symlink odd/symlink-hard
    changed strip --strip-components=2 odd/many odd/deep-dir
    changed top --one-top-level --exclude link-c odd/many odd/deep-dir odd/size-1
    changed top-there --one-top-level=odd
    changed wildcards --wildcards '*/size-5*' --exclude '*2'
    changed newer --newer '2002-01-01' odd/many odd/size-1 odd/size-513
    printf 'odd/many\nodd/empty\n' >"$work/names"
    changed list -T "$work/names"
    printf 'odd/new\nline\0odd/back\\slash\0' >"$work/names"
    changed null --no-unquote --null -T "$work/names"
}

tar_suite() {
    tar_lists
    tar_to_stdout
    tar_compares
    tar_changes
}
