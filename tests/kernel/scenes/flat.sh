# shellcheck shell=bash disable=SC2154
# One directory: extraction, copy and removal over 1, 2, 4 and 8 mounts, GNU tar, cp -a and rm -rf on one. A kernel mount
# holds the directory's lock for the whole of a CREATE or REMOVE.

fresh
a=${dirs[0]}
mkdir "$a/tar"
measured "flat extract tar 1" tar -xf "$INPUT/flat.tar" -C "$a/tar"
measured "flat copy cp 1" cp -a "$a/tar" "$a/cp"
undelayed manifest "$served/tar" >"$work/want"
undelayed manifest "$served/cp" >"$work/want.copy"
for k in 1 2 4 8; do
    can "$k" || continue
    # What fewer mounts make is looked at through one; at last all are compared.
    through=$((k == ${#points[@]} ? k : 1))
    undelayed mkdir "$a/parfs"
    measured_over "$k" "flat extract parfs" partar -xf "$INPUT/flat.tar" -C "$a/parfs"
    undelayed same_everywhere "flat, $k mounts: extracted as by GNU tar" "$work/want" parfs "$through"
    measured_over "$k" "flat copy parfs" parcp "$a/tar" "$a/parcp"
    undelayed same_everywhere "flat, $k mounts: copied as by cp -a" "$work/want.copy" parcp "$through"
    measured_over "$k" "flat remove parfs" parrm "$a/parcp"
    undelayed gone "flat, $k mounts: removed" parcp
    undelayed rm -rf "$served/parfs"
done
measured "flat remove rm 1" rm -rf "$a/cp"
