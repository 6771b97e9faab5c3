# shellcheck shell=bash disable=SC2154,SC2015
# partar -c, -r and -u beside GNU tar and bsdtar: with the same options both make archives that extract to the same trees, in GNU and
# ustar format the same bytes. Sourced by tests/servers/run after lib.sh and archives.sh.

# create_trees: the trees to store, in $work/create.
create_trees() {
    create=$work/create
    mkdir "$create" && tree_odd "$create/odd" && tree_long "$create/long" && tree_large "$create/large" ||
        die "the trees to store cannot be made"
    # GNU tar warns of sockets; there is none. What this user may not read is another check.
    setfattr -n user.color -v blue "$create/odd/size-513" && setfattr -n user.dir -v yes "$create/odd/many" &&
        setfacl -m u:1234:rw,g:5678:r "$create/odd/size-512" && setfacl -d -m u:1234:rwx "$create/odd/many" &&
        create_xattrs=1 || create_xattrs=
}

# create_both CHECK ARGUMENTS...: archives of both with the same arguments, from within $create; the exit statuses must be equal.
create_both() {
    local check=create/$1 wanted=0 got=0
    shift
    rm -f "$work/theirs.tar" "$work/ours.tar"
    (cd "$create" && tar -cf "$work/theirs.tar" "$@") >"$(log "$check-tar")" 2>&1 </dev/null || wanted=$?
    (cd "$create" && timeout 120 partar -cf "$work/ours.tar" "$@") >"$(log "$check")" 2>&1 </dev/null || got=$?
    [[ $got == "$wanted" ]] && return
    bad "$check" "exit status $got, GNU tar has $wanted: $(tail -n 2 "$(log "$check")")"
    return 1
}

# create_extracts CHECK [-S]: theirs and ours, extracted by GNU tar, bsdtar and partar, are the same trees.
create_extracts() {
    local check=create/$1 tool whose dir=$work/extracted
    for tool in "tar --delay-directory-restore -xpf" "bsdtar -xpf" "partar -xpf"; do
        for whose in theirs ours; do
            mkdir "$dir"
            # shellcheck disable=SC2086
            (cd "$dir" && $tool "$work/$whose.tar") >"$(log "$check-${tool%% *}-$whose")" 2>&1
            manifest "$dir" >"$work/$whose"
            chmod -R u+w "$dir" && rm -rf "$dir"
        done
        same_tree "$check/by-${tool%% *}" "$work/theirs" "$work/ours"
    done
}

# create_same CHECK ARGUMENTS...: both make the same bytes.
create_same() {
    local check=$1
    create_both "$@" || return
    cmp -s "$work/theirs.tar" "$work/ours.tar" && ok "create/$check" ||
        bad "create/$check" "$(diff <(tar -tvvf "$work/theirs.tar" --full-time 2>&1) <(tar -tvvf "$work/ours.tar" --full-time 2>&1) |
            head -n 3; cmp "$work/theirs.tar" "$work/ours.tar" 2>&1)"
}

create_formats() {
    local format
    for format in ustar gnu pax; do
        create_both "$format-odd" --format=$format odd && create_extracts "$format-odd"
        [[ $format == ustar ]] || { create_both "$format-long" --format=$format long && create_extracts "$format-long"; }
        create_both "$format-large" --format=$format large && create_extracts "$format-large"
    done
    create_both ustar-long --format=ustar long && create_ustar_long
    for format in gnu pax; do
        create_both "$format-sparse" -S --format=$format large && create_extracts "$format-sparse"
        (($(stat -c %s "$work/ours.tar") < $(stat -c %s "$work/theirs.tar") + 100000)) && ok "create/$format-sparse/size" ||
            bad "create/$format-sparse/size" "$(stat -c %s "$work/ours.tar") bytes, GNU tar $(stat -c %s "$work/theirs.tar")"
    done
    for format in ustar gnu; do
        create_same "$format-bytes" --format=$format --sort=name odd
    done
    create_same gnu-bytes-long --format=gnu --sort=name long
    create_same gnu-bytes-large --format=gnu --sort=name large
}

# create_ustar_long: a path that does not fit into ustar is left out with status 2 by both programs. GNU tar does not enter a directory
# whose own name does not fit; partar does, and stores what fits below it: it leaves out as little as it can.
create_ustar_long() {
    local part
    part=$(printf 'p%.0s' $(seq 120))
    diff <(tar -tf "$work/theirs.tar" && echo "long/$part/link") <(tar -tf "$work/ours.tar") >"$work/ours" &&
        [[ $(tar -xOf "$work/ours.tar" "long/$part/link") == long ]] &&
        ok create/ustar-long || bad create/ustar-long "$(head -c 300 "$work/ours")"
}

create_options() {
    local by="--format=gnu --sort=name"
    # shellcheck disable=SC2086 # options are words
    {
        create_same dot $by -C odd .
        create_same two-dirs $by -C odd many -C ../long .
        create_same exclude $by --exclude 'size-*' --exclude many/file-2 odd
        create_same anchored $by --anchored --exclude 'odd/s*' --exclude many odd
        create_same owner $by --owner=root:7 --group=daemon:8 odd/many odd/size-1
        create_same numeric $by --numeric-owner odd
        create_same mode $by --mode=u+rwX,go-w odd
        create_same mtime $by --mtime='2020-02-02 02:02:02Z' odd
        create_same clamp $by --mtime='2002-02-02 02:02:02Z' --clamp-mtime odd
        create_same newer $by --newer-mtime='2002-01-01' odd
        create_same dereference $by -h --exclude upwards --exclude dangling odd
        create_same hard-dereference $by --hard-dereference odd/link-a odd/link-b
        create_same transform $by --transform 's,^odd/many,MANY,' odd
        create_same no-recursion $by --no-recursion odd odd/many
        create_same one-file-system $by --one-file-system odd
        create_same blocking $by -b 1 odd/size-1
        create_same absolute $by "$create/odd/many"
        create_same absolute-names $by --absolute-names "$create/odd/many"
        create_same missing $by odd/none odd/size-1
        # GNU tar makes the second one a link to itself, which extracts to the same file.
        create_both twice $by --no-recursion odd odd/size-1 odd/size-1 && create_extracts twice
        printf 'odd/many\nodd/new\\nline\n-C odd\nempty\n' >"$work/names"
        create_same list $by -T "$work/names"
        printf 'odd/many\0odd/new\nline\0' >"$work/names"
        create_same null $by --null -T "$work/names"
    }
}

# create_attributes: extended attributes and ACLs, as GNU tar takes them out again.
create_attributes() {
    local dir=$work/extracted whose
    [[ -n $create_xattrs ]] || {
        echo "# this file system has no extended attributes: they are not compared"
        return
    }
    create_both attributes --xattrs --acls --format=pax odd || return
    for whose in theirs ours; do
        mkdir "$dir" && (cd "$dir" && tar --xattrs --acls -xpf "$work/$whose.tar") >"$(log "create-attributes-$whose")" 2>&1
        (cd "$dir" && { getfattr -Rdh -m 'user|security' . && getfacl -Rn .; } 2>/dev/null) >"$work/$whose"
        chmod -R u+w "$dir" && rm -rf "$dir"
    done
    [[ -s $work/theirs ]] && cmp -s "$work/theirs" "$work/ours" && ok create/attributes ||
        bad create/attributes "$(first_difference "$work/theirs" "$work/ours")"
}

# create_adds: -r and -u to archives of both programs.
create_adds() {
    local maker adder
    for maker in tar partar; do
        for adder in tar partar; do
            (
                cd "$create" && rm -f "$work/$adder.tar" && $maker --format=gnu --sort=name -cf "$work/$adder.tar" odd/many &&
                    $adder --format=gnu -rf "$work/$adder.tar" odd/size-1 odd/link-a odd/link-b &&
                    $adder --format=gnu -uf "$work/$adder.tar" odd/size-1 odd/size-512
            ) >"$(log "create-add-$maker-$adder")" 2>&1
        done
        cmp -s "$work/tar.tar" "$work/partar.tar" && ok "create/add-to-$maker" ||
            bad "create/add-to-$maker" "$(diff <(tar -tvf "$work/tar.tar" 2>&1) <(tar -tvf "$work/partar.tar" 2>&1) | head -n 3)"
    done
}

# create_pipes: our archive through a pipe, read by theirs, and theirs by ours; a reader that goes away.
create_pipes() {
    local dir=$work/extracted
    mkdir "$dir"
    (cd "$create" && partar -pcf - odd -P 32 | tar -xpf - --delay-directory-restore -C "$dir") >"$(log create-pipe)" 2>&1
    manifest "$create/odd" >"$work/theirs"
    manifest "$dir/odd" >"$work/ours"
    same_tree create/pipe "$work/theirs" "$work/ours"
    chmod -R u+w "$dir" && rm -rf "$dir"
    # A reader that goes away: no word, and the status of a program that SIGPIPE ends.
    (
        cd "$create" || exit
        timeout 60 partar -cf - large | head -c 1000000 >/dev/null
        exit "${PIPESTATUS[0]}"
    ) 2>"$(log create-broken-pipe)"
    [[ $? == 141 && ! -s $(log create-broken-pipe) ]] && ok create/broken-pipe ||
        bad create/broken-pipe "$(tail -n 2 "$(log create-broken-pipe)")"
}

create_suite() {
    create_trees
    create_formats
    create_options
    create_attributes
    create_adds
    create_pipes
    chmod -R u+w "$create" && rm -rf "$create"
}
