# shellcheck shell=bash disable=SC2154,SC2015
# Makes trees and archives of them with GNU tar and bsdtar. Sourced by tests/servers/run after lib.sh.
# The trees hold what extraction gets wrong first; random bytes come from a fixed seed, so two runs make equal trees.

root=
[[ $(id -u) == 0 ]] && root=1

# random_bytes SEED COUNT: reproducible bytes that do not compress.
random_bytes() {
    openssl enc -aes-128-ctr -K "$(printf '%032x' "$1")" -iv 00000000000000000000000000000000 \
        -in /dev/zero 2>/dev/null | head -c "$2"
}

# tree_odd DIR: every type, mode and name that the formats can hold.
tree_odd() {
    mkdir -p "$1" && (
        cd "$1" || exit 1
        set -e
        umask 022
        : >empty
        mkdir empty-dir deep-dir && mkdir -p deep-dir/a/b/c/d/e && echo deep >deep-dir/a/b/c/d/e/f
        for size in 1 511 512 513 4096 32768 32769 65536 262144 1048575 1048576 1048577; do
            random_bytes "$size" "$size" >"size-$size"
        done
        mkdir many && for i in $(seq 300); do echo "$i" >"many/file-$i"; done
        # Hard links: within a directory, over directories, of an empty file, of a symlink.
        echo linked >link-a && ln link-a link-b && ln link-a deep-dir/link-c && ln empty empty-link
        ln -s link-a symlink && ln -P symlink symlink-hard
        ln -s /absolute/nowhere dangling && ln -s ../.. upwards && ln -s empty-dir dir-symlink
        mkfifo fifo
        # Names: bytes that are not UTF-8, blanks, a newline, a leading dash and the longest one.
        echo x >"$(printf 'not-utf8-\377\376')" && echo x >'  blank s ' && echo x >"$(printf 'new\nline')"
        echo x >-dash && echo x >'wild*card?' && echo x >'back\slash'
        mkdir "$(printf 'dir-\351t\351')" && echo x >"$(printf 'dir-\351t\351/\303\251')"
        echo x >"$(printf 'n%.0s' $(seq 99))" && echo x >"$(printf 'm%.0s' $(seq 100))"
        # Modes: all twelve bits, unreadable, read-only directories with members.
        echo x >setuid && echo x >setgid && echo x >sticky && echo x >mode-777
        [[ -z $root ]] || echo x >mode-000
        mkdir read-only && echo x >read-only/inside && mkdir read-only/sub && echo x >read-only/sub/inside
        if [[ -n $root ]]; then
            mknod null c 1 3 && mknod block b 7 200 && mknod large-minor c 240 70000
            chown 1234:5678 setuid && chown 65534:0 setgid && chown -h 4321:8765 symlink && chown 11:22 empty-dir
            chown 2000000:2000001 mode-777
        fi
        chmod 4755 setuid && chmod 2755 setgid && chmod 1755 sticky && chmod 777 mode-777
        [[ -z $root ]] || chmod 000 mode-000
        mkdir dir-7777 && chmod 7777 dir-7777
        # Times: nanoseconds, the epoch, beyond 2038.
        touch -d '2001-02-03 04:05:06.123456789Z' size-1 && touch -d @0 size-511 && touch -d '2100-01-01Z' size-512
        touch -h -d '1999-12-31 23:59:59.999999999Z' dangling && touch -d '2002-02-02 02:02:02.2Z' many empty-dir
        touch -d '2003-03-03 03:03:03.3Z' read-only/sub read-only/inside && chmod 555 read-only/sub read-only
        touch -d '2004-04-04 04:04:04.4Z' read-only
    )
}

# tree_long DIR: paths and link targets beyond ustar's fields.
tree_long() {
    local part
    part=$(printf 'p%.0s' $(seq 120))
    mkdir -p "$1" && (
        cd "$1" || exit 1
        set -e
        mkdir -p "$part/$part/$part" && echo long >"$part/$part/$part/file"
        ln "$part/$part/$part/file" "$part/link"
        ln -s "$part/$part/$part/file" "$part/symlink"
        echo x >"$(printf 'n%.0s' $(seq 255))"
        echo x >"$(printf '\377%.0s' $(seq 200))"
    )
}

# tree_large DIR: files above one range, sparse files.
tree_large() {
    mkdir -p "$1" && (
        cd "$1" || exit 1
        set -e
        random_bytes 5 $((5 * 1024 * 1024 + 7)) >five
        random_bytes 40 $((40 * 1024 * 1024 + 1)) >forty
        random_bytes 4 $((4 * 1024 * 1024)) >four-exactly
        truncate -s 64M hole-only
        truncate -s 48M sparse
        for at in 0 5 17 33 47; do
            random_bytes $((100 + at)) 70000 | dd of=sparse bs=64k seek=$((at * 16)) conv=notrunc status=none
        done
        # More extents than one old GNU header holds (4, then 21 in each extension).
        truncate -s 16M sparse-many
        for at in $(seq 0 60); do
            echo "extent $at" | dd of=sparse-many bs=4k seek=$((at * 60)) conv=notrunc status=none
        done
        touch -d '2005-05-05 05:05:05.555555555Z' forty sparse
    )
}

# tree_work DIR FILES: a tree to extract while something happens: files of 0 to 24 KiB, 200 in a directory, and some of 6 MiB.
tree_work() {
    local i
    mkdir -p "$1" && (
        cd "$1" || exit 1
        random_bytes 7 $((6 * 1024 * 1024)) >"$work/seed"
        for ((i = 0; i < $2; i++)); do
            ((i % 200)) || mkdir "d$((i / 200))"
            head -c $((i * 7919 % 24576)) "$work/seed" >"d$((i / 200))/f$i"
            ((i % 1000 != 500)) || cp "$work/seed" "d$((i / 200))/large$i"
        done
        rm "$work/seed"
    )
}

# make_archives: all of them into $work/archives, with the members of the trees in $work/trees.
make_archives() {
    local trees=$work/trees to=$work/archives format version
    mkdir -p "$to"
    tree_odd "$trees/odd" || die "the tree 'odd' cannot be made"
    tree_long "$trees/long" || die "the tree 'long' cannot be made"
    tree_large "$trees/large" || die "the tree 'large' cannot be made"
    for format in ustar gnu pax; do
        tar --format=$format -cf "$to/gnutar-$format-odd.tar" -C "$trees" odd
    done
    tar --format=v7 -cf "$to/gnutar-v7-many.tar" -C "$trees/odd" many deep-dir empty symlink setuid
    # The archive's "." is the destination itself.
    tar --format=gnu -cf "$to/gnutar-gnu-dot.tar" -C "$trees/odd" .
    for format in gnu pax; do
        tar --format=$format -cf "$to/gnutar-$format-long.tar" -C "$trees" long
    done
    # shellcheck disable=SC2129
    bsdtar --format ustar -cf "$to/bsdtar-ustar-odd.tar" -C "$trees" odd 2>>"$(log bsdtar)"
    bsdtar --format gnutar -cf "$to/bsdtar-gnu-odd.tar" -C "$trees" odd long 2>>"$(log bsdtar)"
    bsdtar --format pax -cf "$to/bsdtar-pax-odd.tar" -C "$trees" odd long 2>>"$(log bsdtar)"
    gzip -1 <"$to/gnutar-gnu-odd.tar" >"$to/gnutar-gnu-odd.tar.gz"
    bzip2 -1 <"$to/gnutar-gnu-odd.tar" >"$to/gnutar-gnu-odd.tar.bz2"
    xz -1 <"$to/gnutar-pax-odd.tar" >"$to/gnutar-pax-odd.tar.xz"
    lz4 -q -1 <"$to/gnutar-gnu-odd.tar" >"$to/gnutar-gnu-odd.tar.lz4"
    zstd -q -1 <"$to/bsdtar-pax-odd.tar" >"$to/bsdtar-pax-odd.tar.zst"
    # Several frames or members, as parallel compressors write them.
    { head -c 1000000 "$to/gnutar-pax-odd.tar" | zstd -q; tail -c +1000001 "$to/gnutar-pax-odd.tar" | zstd -q; } \
        >"$to/frames-pax-odd.tar.zst"
    { head -c 1000000 "$to/gnutar-gnu-odd.tar" | gzip -1; tail -c +1000001 "$to/gnutar-gnu-odd.tar" | gzip -1; } \
        >"$to/members-gnu-odd.tar.gz"
    tar --format=gnu -cf "$to/gnutar-gnu-large.tar" -C "$trees" large
    tar --format=pax -cf "$to/gnutar-pax-large.tar" -C "$trees" large
    zstd -q -1 <"$to/gnutar-gnu-large.tar" >"$to/gnutar-gnu-large.tar.zst"
    tar -S --format=gnu -cf "$to/gnutar-gnu-sparse.tar" -C "$trees" large
    for version in 0.0 0.1 1.0; do
        tar -S --format=pax --sparse-version=$version -cf "$to/gnutar-pax-sparse-$version.tar" -C "$trees" large
    done
    bsdtar --format pax --read-sparse -cf "$to/bsdtar-pax-sparse.tar" -C "$trees" large 2>>"$(log bsdtar)"
    cat "$to/gnutar-v7-many.tar" "$to/gnutar-gnu-long.tar" >"$to/concatenated.tar"
    chmod -R u+w "$trees"
    rm -rf "$trees"
}
