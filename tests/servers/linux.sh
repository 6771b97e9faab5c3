# shellcheck shell=bash disable=SC2154,SC2015
# The Linux source, 80,000 files: GNU tar locally, partar to nfs-ganesha over two targets, partar to the simulator.
# Sourced by tests/servers/run after the others; --full only.

# linux_archive: $work/linux.tar.xz, from Debian's linux-source package, installed or fetched.
linux_archive() {
    local found
    found=$(find /usr/src -maxdepth 1 -name "linux-source-*.tar.xz" 2>/dev/null | sort | tail -n 1)
    if [[ -n $found ]]; then
        ln -s "$found" "$work/linux.tar.xz"
        return
    fi
    (
        cd "$work" || exit 1
        apt-get -q download linux-source-6.1 >"$(log linux-download)" 2>&1 || exit 1
        member=$(dpkg-deb --fsys-tarfile linux-source-6.1_*.deb | tar -t | grep 'linux-source-.*\.tar\.xz$' | head -n 1)
        dpkg-deb --fsys-tarfile linux-source-6.1_*.deb | tar -xO "$member" >linux.tar.xz
        rm linux-source-6.1_*.deb
    )
}

# linux_compare NAME DIR STATUS START COMPARE: one check; COMPARE is same_tree_ganesha or same_tree_sim.
linux_compare() {
    local took=$((SECONDS - $4))
    if [[ $3 != 0 ]]; then
        bad "$1" "exit status $3: $(tail -n 2 "$(log "$1")")"
    else
        "$5" "$1" "$work/linux.manifest" "$2"
    fi
    printf '# %s took %s s\n' "$1" "$took"
}

linux_suite() {
    local status=0 start dir=$work/linux
    linux_archive || die "no Linux source"
    mkdir "$dir"
    start=$SECONDS
    tar -x --delay-directory-restore -f "$work/linux.tar.xz" -C "$dir" || die "GNU tar does not extract the Linux source"
    printf '# linux/gnu-tar took %s s\n' $((SECONDS - start))
    manifest "$dir" >"$work/linux.manifest"
    rm -rf "$dir"

    xz -dc "$work/linux.tar.xz" >"$work/linux.tar"
    mkdir "$exports/linux"
    start=$SECONDS
    timeout 1800 partar -xf "$work/linux.tar" -C "$(parfs_url 2 linux)" >"$(log linux/ganesha)" 2>&1 || status=$?
    linux_compare linux/ganesha "$exports/linux" "$status" "$start" same_tree_ganesha
    rm "$work/linux.tar"
    ganesha_reset || die "nfs-ganesha did not come back"

    mkdir "$exports/served"
    if sim_start --dir "$exports/served" --targets 2 --unlimited; then
        start=$SECONDS
        status=0
        timeout 1800 partar -xf "$work/linux.tar.xz" -C "$sim_url" >"$(log linux/simulator)" 2>&1 || status=$?
        linux_compare linux/simulator "$exports/served" "$status" "$start" same_tree_sim
        sim_end || bad linux/simulator-end "did not end on SIGTERM"
    else
        bad linux/simulator "$(tail -n 2 "$work/logs/sim.err")"
    fi
    rm -rf "$exports/served"
}
