# shellcheck shell=bash disable=SC2154,SC2015
# libnfs's tools against `parfs sim`, over memory and over a directory. Sourced by tests/servers/run after lib.sh.

sim_url=

# sim_start ARGUMENTS...: runs the simulator; returns when it has printed its URL, or fails after 30 s.
sim_start() {
    local out=$work/logs/sim.out
    : >"$out"
    parfs sim "$@" >"$out" 2>"$work/logs/sim.err" </dev/null &
    sim_pid=$!
    disown "$!"
    until_true 30 sim_settled && ! gone "$sim_pid" || return 1
    sim_url=$(grep -aom1 'nfs://[^ "]*' "$work/logs/sim.out")
}

# sim_settled: it has printed its URL, or has ended.
sim_settled() {
    gone "$sim_pid" || grep -aq 'nfs://' "$work/logs/sim.out"
}

# sim_end: ends it as a user would; KILL after 20 s.
sim_end() {
    [[ -n $sim_pid ]] || return 0
    local pid=$sim_pid
    sim_pid=
    kill -TERM "$pid" 2>/dev/null || return 0
    until_true 20 gone "$pid" && return
    kill -KILL "$pid" 2>/dev/null
    return 1
}

# sim_libnfs PATH: the first target's PATH for libnfs's tools, which take the ports as arguments.
sim_libnfs() {
    local rest=${sim_url#nfs://} host
    rest=${rest%%\?*}
    host=${rest%%[,/]*}
    printf 'nfs://%s/%s?nfsport=%s&mountport=%s' "${host%:*}" "$1" "${host##*:}" "${host##*:}"
}

# sim_checks KIND: files of several sizes there and back with nfs-cp, with nfs-cat, and listed. In a directory: libnfs 4.0 takes no
# URL of a file in the root.
sim_checks() {
    local kind=$1 size name list=$work/list
    mkdir -p "$work/start/files"
    tar -cf "$work/start.tar" -C "$work/start" files
    partar -xf "$work/start.tar" -C "$sim_url" >"$(log "sim/$kind/start")" 2>&1 || bad "sim/$kind/start" "partar: $(<"$(log "sim/$kind/start")")"
    for size in 0 1 4096 65537 1048576 1048577 5000000 33554433; do
        name=sim/$kind/$size
        random_bytes $((size + 3)) "$size" >"$work/sent"
        if ! timeout 120 nfs-cp "$work/sent" "$(sim_libnfs "files/file-$size")" >"$(log "$name")" 2>&1; then
            bad "$name" "nfs-cp to the simulator: $(tail -n 1 "$(log "$name")")"
            continue
        fi
        rm -f "$work/received"
        timeout 120 nfs-cp "$(sim_libnfs "files/file-$size")" "$work/received" >"$(log "$name")" 2>&1 ||
            bad "$name" "nfs-cp from the simulator: $(tail -n 1 "$(log "$name")")"
        cmp "$work/sent" "$work/received" >"$(log "$name")" 2>&1 &&
            timeout 120 nfs-cat "$(sim_libnfs "files/file-$size")" 2>"$(log "$name")" | cmp - "$work/sent" >>"$(log "$name")" 2>&1 &&
            ok "$name" || bad "$name" "bytes differ: $(tail -n 1 "$(log "$name")")"
    done
    timeout 60 nfs-ls "$(sim_libnfs files)" >"$list" 2>"$(log "sim/$kind/list")"
    if [[ $(grep -c '^-.* file-[0-9]*$' "$list") == 8 ]] && grep -q ' 33554433 file-33554433$' "$list"; then
        ok "sim/$kind/list"
    else
        bad "sim/$kind/list" "nfs-ls: $(cat "$list" "$(log "sim/$kind/list")")"
    fi
}

# sim_tree: partar fills the simulator's memory, libnfs walks it.
sim_tree() {
    local status=0 name=sim/memory/tree
    timeout 300 partar -xf "$work/archives/gnutar-gnu-odd.tar" -C "$sim_url" >"$(log $name)" 2>&1 || status=$?
    local files
    files=$(timeout 60 nfs-ls -R "$(sim_libnfs odd)" 2>>"$(log $name)" | grep -c '^-')
    local listed
    listed=$(tar -tvf "$work/archives/gnutar-gnu-odd.tar" 2>/dev/null | grep -ac '^[-h]')
    # Archives mark a further name of a symlink as a hard link as well: symlink-hard is one.
    if [[ $status == 0 && $files == $((listed - 1)) ]]; then
        ok $name
    else
        bad $name "exit status $status, $files files of $((listed - 1)): $(tail -n 2 "$(log $name)")"
    fi
    if timeout 60 nfs-cat "$(sim_libnfs odd/size-1048577)" 2>>"$(log $name)" |
        cmp - <(random_bytes 1048577 1048577) >>"$(log $name)" 2>&1; then
        ok sim/memory/tree-bytes
    else
        bad sim/memory/tree-bytes "$(tail -n 1 "$(log $name)")"
    fi
}

# same_tree_sim NAME WANT DIR: a check that a tree that the simulator wrote is as the manifest says, in everything.
same_tree_sim() {
    manifest "$3" >"$work/got"
    same_tree "$1" "$2" "$work/got"
}

# sim_extract DIR: trees with every type, through the simulator onto its directory.
sim_extract() {
    local name status check
    for name in gnutar-pax-odd.tar bsdtar-pax-odd.tar gnutar-pax-sparse-1.0.tar gnutar-gnu-dot.tar; do
        [[ -e $work/want/$name.manifest ]] || want "$name"
        check=sim/directory/extract/$name
        status=0
        find "$1" -mindepth 1 -delete
        timeout "$hang_s" partar -xf "$work/archives/$name" -C "$sim_url" >"$(log "$check")" 2>&1 || status=$?
        if [[ $status == 0 ]]; then
            same_tree_sim "$check" "$work/want/$name.manifest" "$1"
        else
            bad "$check" "exit status $status: $(tail -n 2 "$(log "$check")")"
        fi
    done
}

sim_suite() {
    local dir=$work/served
    mkdir "$dir"
    if sim_start --targets 2 --unlimited; then
        sim_checks memory
        sim_tree
        if sim_end; then ok sim/memory/end; else bad sim/memory/end "did not end on SIGTERM"; fi
    else
        bad sim/memory/start "$(tail -n 2 "$work/logs/sim.err")"
        sim_end
    fi
    if sim_start --dir "$dir" --targets 2 --unlimited; then
        sim_checks directory
        if cmp -s "$work/sent" "$dir/files/file-33554433"; then ok sim/directory/bytes; else bad sim/directory/bytes "differ"; fi
        [[ -z $root ]] || sim_extract "$dir"
        if sim_end; then ok sim/directory/end; else bad sim/directory/end "did not end on SIGTERM"; fi
    else
        bad sim/directory/start "$(tail -n 2 "$work/logs/sim.err")"
        sim_end
    fi
    rm -rf "$dir"
}
