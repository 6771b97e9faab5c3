# shellcheck shell=bash disable=SC2154
# What extraction and copying get wrong first, on one and on all mounts: every type, mode and kind of name, owners, times, hard
# links across directories, sparse and large files. As GNU tar and cp -a make it, through each mount.

for k in 1 "${#points[@]}"; do
    can "$k" || continue
    undelayed fresh
    a=${dirs[0]}
    rtt off
    mkdir "$a/parfs" "$a/tar"
    # A directory that an archive comes back to keeps its time only so.
    tar -xf "$INPUT/odd.tar" --warning=no-timestamp --delay-directory-restore -C "$a/tar"
    cp -a "$a/tar" "$a/cp"
    manifest "$served/tar" >"$work/want"
    manifest "$served/cp" >"$work/want.copy"
    rtt start
    measured_over "$k" "odd extract parfs" partar -xf "$INPUT/odd.tar" -C "$a/parfs"
    undelayed same_everywhere "odd, $k mounts: extracted as by GNU tar" "$work/want" parfs
    measured_over "$k" "odd copy parfs" parcp "$a/tar" "$a/parcp"
    undelayed same_everywhere "odd, $k mounts: copied as by cp -a" "$work/want.copy" parcp
    measured_over "$k" "odd again parfs" parcp "$a/tar" "$a/parcp"
    undelayed same_everywhere "odd, $k mounts: copied again" "$work/want.copy" parcp
    measured_over "$k" "odd verify parfs" parcp --verify-only "$a/tar" "$a/parcp"
    measured_over "$k" "odd remove parfs" parrm "$a/parcp"
    undelayed gone "odd, $k mounts: removed" parcp
    [[ $k == "${#points[@]}" ]] && break
done
