# shellcheck shell=bash disable=SC2154,SC2015
# Compressed archives against the programs that made the formats: ours read by theirs, theirs read by ours, whole and damaged.
# Sourced by tests/servers/run after archives.sh.

# codecs_trees: $codecs/tree, some 15 MB of noise and 7 MB of text, with times that every format can hold; its manifest, and its
# archive by GNU tar.
codecs_trees() {
    codecs=$work/codecs
    mkdir "$codecs" && tree_work "$codecs/tree" 800 && seq 1000000 >"$codecs/tree/numbers" && : >"$codecs/tree/empty" &&
        find "$codecs/tree" -exec touch -d '2006-06-06 06:06:06Z' {} + &&
        manifest "$codecs/tree" >"$codecs/manifest" &&
        tar --format=pax -cf "$codecs/plain.tar" -C "$codecs/tree" .
}

# codecs_extracted NAME COMMAND...: a check that the command, in an empty directory, makes the tree.
codecs_extracted() {
    local name=$1 to=$codecs/to
    shift
    mkdir "$to"
    if (cd "$to" && timeout 300 "$@") >"$(log "$name")" 2>&1; then
        manifest "$to" >"$codecs/got"
        same_tree "$name" "$codecs/manifest" "$codecs/got"
    else
        bad "$name" "failed: $(tail -n 2 "$(log "$name")")"
    fi
    rm -rf "$to"
}

# codecs_succeeds NAME COMMAND...
codecs_succeeds() {
    local name=$1
    shift
    timeout 300 "$@" >"$(log "$name")" 2>&1 && ok "$name" || bad "$name" "failed: $(tail -n 2 "$(log "$name")")"
}

# codecs_fails NAME PATTERN COMMAND...: a check that it ends, with status 2 and a line on stderr that the pattern matches.
codecs_fails() {
    local name=$1 pattern=$2 status=0
    shift 2
    timeout 300 "$@" >"$(log "$name")" 2>&1 || status=$?
    if [[ $status == 2 ]] && grep -Eq -- "$pattern" "$(log "$name")"; then
        ok "$name"
    else
        bad "$name" "exit status $status: $(tail -n 2 "$(log "$name")")"
    fi
}

# codecs_ours FLAG SUFFIX LEVEL PROGRAM...: an archive of ours, read by each program, GNU tar, bsdtar and ourselves. GNU tar runs
# programs by names that it chose.
codecs_ours() {
    local flag=$1 suffix=$2 level=$3 name=codecs/ours-$2${3:+-$3} file=$codecs/ours.tar.$2 program
    shift 3
    if ! timeout 600 partar -c "$flag" ${level:+"--level=$level"} -f "$file" -C "$codecs/tree" . >"$(log "$name")" 2>&1; then
        bad "$name" "not made: $(tail -n 2 "$(log "$name")")"
        return
    fi
    for program; do codecs_succeeds "$name/$program" "$program" -t "$file"; done
    codecs_extracted "$name/partar" partar -xpf "$file"
    codecs_extracted "$name/bsdtar" bsdtar -xpf "$file"
    [[ $suffix == lz4 ]] && codecs_extracted "$name/gnu-tar" tar -I lz4 -xpf "$file" ||
        codecs_extracted "$name/gnu-tar" tar -xpf "$file"
}

# codecs_ours_all: every compression at its default level and at another one.
codecs_ours_all() {
    local blocks
    codecs_ours --gzip gz "" gzip pigz
    [[ $(python3 -c 'import gzip, hashlib, sys; print(hashlib.sha256(gzip.open(sys.argv[1]).read()).hexdigest())' \
        "$codecs/ours.tar.gz" 2>&1) == $(gzip -dc "$codecs/ours.tar.gz" | sha256sum | cut -d ' ' -f 1) ]] &&
        ok codecs/ours-gz/python || bad codecs/ours-gz/python "python3's gzip does not read what gzip reads"
    codecs_ours --gzip gz 1 gzip pigz
    codecs_ours --zstd zst "" zstd
    codecs_ours --zstd zst 19 zstd
    codecs_ours --bzip2 bz2 "" bzip2 pbzip2 lbzip2
    codecs_ours --bzip2 bz2 1 bzip2 pbzip2 lbzip2
    codecs_ours --xz xz 1 xz
    blocks=$(xz --robot --list "$codecs/ours.tar.xz" | awk '$1 == "file" { print $2, $3 }')
    # One stream, of several blocks that say their sizes: then xz -T2 unpacks two at once.
    [[ $blocks =~ ^1\ [0-9]+$ && ${blocks#1 } -gt 1 ]] && ok codecs/ours-xz/blocks ||
        bad codecs/ours-xz/blocks "streams and blocks are $blocks"
    codecs_succeeds codecs/ours-xz/threads xz -T2 -t "$codecs/ours.tar.xz"
    codecs_ours --lz4 lz4 "" lz4
}

# codecs_theirs_make: archives by others' programs, with one and with many members, frames, streams and blocks.
codecs_theirs_make() {
    local to=$codecs/theirs plain=$codecs/plain.tar
    mkdir "$to" || return
    split -n 3 -d "$plain" "$codecs/part"
    local parts=("$codecs"/part0?)
    gzip -c "$plain" >"$to/gzip.gz" && gzip -c1 "${parts[@]}" >"$to/gzip-members.gz" && pigz -p 2 -c "$plain" >"$to/pigz.gz" &&
        bgzip -@ 2 -c "$plain" >"$to/bgzip.gz" && { cat "$to/gzip.gz" && head -c 1024 /dev/zero; } >"$to/gzip-padded.gz" &&
        { bgzip -c "${parts[0]}" && gzip -c "${parts[1]}" "${parts[2]}"; } >"$to/mixed.gz" &&
        zstd -qc "$plain" >"$to/zstd.zst" && zstd -qc -T0 - <"$plain" >"$to/zstd-pipe.zst" &&
        for part in "${parts[@]}"; do zstd -qc "$part"; done >"$to/zstd-frames.zst" &&
        zstd -qc --long=27 -19 "${parts[0]}" >"$to/mixed.zst" && zstd -qc - <"${parts[1]}" >>"$to/mixed.zst" &&
        zstd -qc "${parts[2]}" >>"$to/mixed.zst" && pzstd -qc -p 2 "$plain" >"$to/pzstd.zst" &&
        xz -1c "$plain" >"$to/xz.xz" && xz -1c -T2 --block-size=1MiB "$plain" >"$to/xz-blocks.xz" &&
        { xz -1c -T2 "${parts[0]}" && head -c 8 /dev/zero && xz -0c "${parts[@]:1}"; } >"$to/xz-streams.xz" &&
        xz -1c --format=lzma "$plain" >"$to/lzma.lzma" &&
        bzip2 -c "$plain" >"$to/bzip2.bz2" && pbzip2 -p2 -c "$plain" >"$to/pbzip2.bz2" &&
        lbzip2 -n 2 -c "$plain" >"$to/lbzip2.bz2" && bzip2 -1c "${parts[@]}" >"$to/bzip2-streams.bz2" &&
        lz4 -qc "$plain" >"$to/lz4.lz4" && lz4 -qc --content-size "$plain" >"$to/lz4-size.lz4" &&
        lz4 -qc -BD -B4 "$plain" >"$to/lz4-linked.lz4" &&
        for part in "${parts[@]}"; do lz4 -qc --content-size "$part"; done >"$to/lz4-frames.lz4"
}

# codecs_damaged FILE: cut in the middle, and with other bytes there, it is an error and not a hang.
codecs_damaged() {
    local name size
    name=codecs/$(basename "$1")
    size=$(stat -c %s "$1")
    rm -rf "$codecs/to" && mkdir "$codecs/to"
    head -c $((size / 2)) "$1" >"$codecs/bad"
    codecs_fails "$name-cut" 'partar: ' partar -xf "$codecs/bad" -C "$codecs/to"
    cp "$1" "$codecs/bad" && random_bytes 77 64 | dd of="$codecs/bad" bs=1 seek=$((size / 2)) conv=notrunc status=none
    codecs_fails "$name-spoilt" 'partar: ' partar -xf "$codecs/bad" -C "$codecs/to"
    rm -rf "$codecs/to"
}

# codecs_programs: -I.
codecs_programs() {
    local file=$codecs/by-program
    codecs_succeeds codecs/program-writes partar -c -I 'gzip -1' -f "$file" -C "$codecs/tree" .
    codecs_succeeds codecs/program-wrote gzip -t "$file"
    codecs_extracted codecs/program-reads partar -I 'gzip -1' -xpf "$file"
    codecs_extracted codecs/program-reads-gnu-tars tar -I 'gzip -1' -xpf "$file"
    codecs_fails codecs/program-missing 'no-such-program.*127' partar -c -I no-such-program -f "$file" -C "$codecs/tree" .
    codecs_fails codecs/program-fails 'cat; exit 3.*status 3' partar -c -I 'cat; exit 3' -f "$file" -C "$codecs/tree" .
    codecs_fails codecs/program-killed 'signal 9' partar -c -I 'exec sh -c "kill -9 \$\$"' -f "$file" -C "$codecs/tree" .
    codecs_fails codecs/program-cannot-read 'gzip.*status 1' partar -t -I gzip -f "$codecs/plain.tar"
}

codecs_suite() {
    local file codecs
    codecs_trees && codecs_theirs_make || die "the archives of the codecs cannot be made"
    for file in "$codecs"/theirs/*; do
        codecs_extracted "codecs/theirs-$(basename "$file")" partar -xpf "$file"
        codecs_damaged "$file"
    done
    for file in bgzip.gz gzip.gz zstd-frames.zst xz-blocks.xz pbzip2.bz2 lz4-frames.lz4; do
        codecs_extracted "codecs/theirs-$file-pipe" sh -c "cat '$codecs/theirs/$file' | partar -xpf -"
    done
    codecs_ours_all
    codecs_programs
    rm -rf "$codecs"
}
