# shellcheck shell=bash disable=SC2154,SC2015
# Extracts every archive with GNU tar locally and with partar to nfs-ganesha, and compares the trees and exit statuses.
# Sourced by tests/servers/run after lib.sh, ganesha.sh and archives.sh.

# tar_options ARCHIVE: what its reading needs.
tar_options() {
    case $1 in concatenated*) printf -- '-i' ;; esac
}

# tar_codec ARCHIVE: GNU tar does not look for compression on a pipe.
tar_codec() {
    case $1 in
    *.gz) printf -- -z ;;
    *.bz2) printf -- -j ;;
    *.xz) printf -- -J ;;
    *.zst) printf -- --zstd ;;
    esac
}

# want ARCHIVE: extracts locally with GNU tar; leaves $work/want/ARCHIVE.manifest and .status. Directories get their times
# last: without that option GNU tar loses those of directories that the archive comes back to, as bsdtar's do.
want() {
    local name=$1 dir=$work/want/tree status=0
    mkdir -p "$dir"
    # GNU tar 1.34 does not know lz4 by itself.
    # shellcheck disable=SC2046
    case $name in
    *.lz4) lz4 -dc "$work/archives/$name" ;;
    *) cat "$work/archives/$name" ;;
    esac | tar -x -p --delay-directory-restore $(tar_options "$name") $(tar_codec "$name") -f - -C "$dir" >"$(log "tar-$name")" 2>&1 || status=$?
    printf '%s\n' "$status" >"$work/want/$name.status"
    manifest "$dir" >"$work/want/$name.manifest"
    rm -rf "$dir"
}

# Seconds after which an extraction counts as hung.
hang_s=600

# extract ARCHIVE TARGETS file|pipe: one check.
extract() {
    local name=$1 targets=$2 from=$3 status=0 dest check
    check="extract/$name/$targets-targets/$from"
    dest=$(basename "$name").$targets.$from
    mkdir "$exports/$dest"
    local command=(timeout "$hang_s" partar -x)
    [[ -z $(tar_options "$name") ]] || command+=("$(tar_options "$name")")
    if [[ $from == file ]]; then
        "${command[@]}" -f "$work/archives/$name" -C "$(parfs_url "$targets" "$dest")" \
            >"$(log "$check")" 2>&1 </dev/null || status=$?
    else
        # shellcheck disable=SC2002
        cat "$work/archives/$name" | "${command[@]}" -f - -C "$(parfs_url "$targets" "$dest")" \
            >"$(log "$check")" 2>&1 || status=$?
    fi
    if [[ $status != "$(<"$work/want/$name.status")" ]]; then
        bad "$check" "exit status $status, wanted $(<"$work/want/$name.status"): $(tail -n 2 "$(log "$check")")"
    else
        same_tree_ganesha "$check" "$work/want/$name.manifest" "$exports/$dest"
    fi
    find "$exports/$dest" -delete
}

# extract_all: the matrix. --quick extracts each archive once, alternating targets and source.
extract_all() {
    local name turn=0 targets from
    for name in "$work"/archives/*; do
        name=${name##*/}
        [[ -e $work/want/$name.manifest ]] || want "$name"
        for targets in 1 2; do
            for from in file pipe; do
                turn=$((turn + 1))
                [[ -n $full || $((turn % 5)) == 0 ]] || continue
                extract "$name" "$targets" "$from"
            done
        done
    done
    ganesha_reset || die "nfs-ganesha did not come back"
}

# extract_truncated: an archive that ends early is an error for both, and what came before its end is there.
extract_truncated() {
    local status=0 dest=truncated wanted
    head -c 700000 "$work/archives/gnutar-pax-odd.tar" >"$work/truncated.tar"
    mkdir -p "$exports/$dest" "$work/want/$dest"
    tar -xf "$work/truncated.tar" -C "$work/want/$dest" >/dev/null 2>&1 || status=$?
    timeout "$hang_s" partar -xf "$work/truncated.tar" -C "$(parfs_url 2 $dest)" >"$(log truncated)" 2>&1 || wanted=$?
    if [[ ${wanted:-0} != "$status" ]]; then
        bad extract/truncated/status "exit status ${wanted:-0}, GNU tar has $status"
    elif ! [[ -s $(log truncated) ]]; then
        bad extract/truncated/status "no message"
    else
        ok extract/truncated/status
    fi
    # GNU tar leaves the last, cut member and every directory's time as they happen to be; files before it are whole.
    local missing
    missing=$(cd "$work/want/$dest" && find . -type f -size -2048k -printf '%P\n' | sort >"$work/a"
        cd "$exports/$dest" && find . -type f -printf '%P\n' | sort >"$work/b"
        comm -23 "$work/a" "$work/b" | wc -l)
    if ((missing <= 1)); then ok extract/truncated/members; else bad extract/truncated/members "$missing files missing"; fi
    find "$exports/$dest" -delete
    rm -rf "${work:?}/want/$dest"
}

# extract_remembering: instances that remember what was there before are found to, and links are to the files that the run makes.
extract_remembering() {
    local what status i name=extract/remembering
    ganesha_memory=60
    ganesha_reset || die "nfs-ganesha did not come back"
    for what in old new; do
        rm -rf "$work/linked" && mkdir "$work/linked"
        for i in $(seq 200); do
            printf '%s %s\n' "$what" "$i" >"$work/linked/f$i" && ln "$work/linked/f$i" "$work/linked/l$i"
        done
        tar -cf "$work/linked.tar" -C "$work" --sort=name linked
        status=0
        timeout "$hang_s" partar -xf "$work/linked.tar" -C "$(parfs_url 2)" >"$(log remembering)" 2>&1 || status=$?
        if [[ $status != 0 ]] || ! grep -q 'is used alone' "$(log remembering)"; then
            bad $name/$what "exit status $status: $(tail -n 2 "$(log remembering)")"
        elif ! diff -r "$work/linked" "$exports/linked" >"$(log remembering-diff)"; then
            bad $name/$what "other bytes: $(head -n 2 "$(log remembering-diff)")"
        else
            ok $name/$what
        fi
        # The other knows them from now on.
        nfs-ls -R "$(libnfs_url 2)" >/dev/null
    done
    rm -rf "$work/linked" "$work/linked.tar"
    ganesha_memory=0
    ganesha_reset || die "nfs-ganesha did not come back"
}

# extract_default_acl: below a default ACL nfs-ganesha makes what is made with other modes than it is asked for; also a copy's.
extract_default_acl() {
    local name=gnutar-pax-odd.tar dest=acl job
    mkdir -p "$exports/$dest"
    if ! setfacl -d -m u::rw-,g::r--,o::--- "$exports/$dest"; then
        bad extract/default-acl "no default ACL can be set"
        return
    fi
    for job in extract copy; do
        local status=0 to
        to=$(parfs_url 2 $dest/$job)
        mkdir "$exports/$dest/$job"
        if [[ $job == extract ]]; then
            timeout "$hang_s" partar -xpf "$work/archives/$name" -C "$to" >"$(log acl-$job)" 2>&1 || status=$?
        else
            mkdir -p "$work/want/$dest" && tar -xpf "$work/archives/$name" --delay-directory-restore -C "$work/want/$dest"
            timeout "$hang_s" parcp -a "$work/want/$dest" "$to" >"$(log acl-$job)" 2>&1 || status=$?
        fi
        if [[ $status != 0 ]]; then
            bad extract/default-acl/$job "exit status $status: $(tail -n 2 "$(log acl-$job)")"
        else
            same_tree_ganesha extract/default-acl/$job "$work/want/$name.manifest" "$exports/$dest/$job"
        fi
    done
    find "$exports/$dest" -delete
    rm -rf "${work:?}/want/$dest"
}

# manifest_libnfs URL-PATH: what libnfs shows of a tree: type, mode, links, owner, size, path and the bytes of each file.
manifest_libnfs() {
    local path line
    nfs-ls -R "$(libnfs_url 1 "$1")" | tr -s ' ' | sort -k6 | while IFS= read -r line; do
        path=${line#* * * * * }
        if [[ $line == -* ]]; then
            printf '%s %s\n' "$line" "$(nfs-cat "$(libnfs_url 1 "$1/${path#/}")" | sha256sum)"
        else
            # A directory's size and links are its file system's affair.
            printf '%s %s\n' "${line%% *}" "$path"
        fi
    done
}

# extract_to_memory: the part that FSAL MEM can hold (no tree to look at from outside, files up to 1 MiB), judged by libnfs
# against the same archive extracted into the simulator's directory by GNU tar's listing: sizes, modes and bytes of files.
extract_to_memory() {
    local name=gnutar-v7-many.tar status=0 dir=$work/want/memory want got
    mkdir -p "$dir"
    tar -xpf "$work/archives/$name" -C "$dir"
    timeout "$hang_s" partar -xpf "$work/archives/$name" -C "$(parfs_url 1)" >"$(log memory)" 2>&1 || status=$?
    if [[ $status != 0 ]]; then
        bad extract/memory "exit status $status: $(tail -n 2 "$(log memory)")"
        return
    fi
    want=$(cd "$dir" && find . -type f -printf '%P\n' | sort | xargs -d '\n' sha256sum)
    got=$(cd "$dir" && find . -type f -printf '%P\n' | sort | while IFS= read -r path; do
        printf '%s  %s\n' "$(nfs-cat "$(libnfs_url 1 "$path")" 2>/dev/null | sha256sum | cut -d ' ' -f 1)" "$path"
    done)
    if [[ $want == "$got" ]]; then ok extract/memory/bytes; else bad extract/memory/bytes "bytes differ"; fi
    # nfs-ls shows nine mode bits.
    want=$(cd "$dir" && find . -type f -printf '%M %n %s %P\n' | sed 's/^\(...\)s/\1x/' | sort)
    got=$(nfs-ls -R "$(libnfs_url 1)" | grep '^-' | awk '{ print $1, $2, $5, $6 }' | sed 's| /| |' | sort)
    if [[ $want == "$got" ]]; then
        ok extract/memory/attributes
    else
        bad extract/memory/attributes "$(diff <(printf '%s' "$want") <(printf '%s' "$got") | head -n 3)"
    fi
}
