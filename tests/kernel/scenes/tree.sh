# shellcheck shell=bash disable=SC2154
# Many directories, one mount: GNU tar, cp -a and rm -rf against parfs, one after the other in one run. What parfs makes is
# compared with what they make, through each mount.

fresh
a=${dirs[0]}
mkdir "$a/tar" "$a/parfs"

measured "tree extract tar 1" tar -xf "$INPUT/tree.tar" -C "$a/tar"
measured_over 1 "tree extract parfs" partar -xf "$INPUT/tree.tar" -C "$a/parfs"
undelayed manifest "$served/tar" >"$work/want"
undelayed same_everywhere "tree: extracted as by GNU tar" "$work/want" parfs

measured "tree copy cp 1" cp -a "$a/tar" "$a/cp"
measured_over 1 "tree copy parfs" parcp "$a/tar" "$a/parcp"
undelayed manifest "$served/cp" >"$work/want"
undelayed same_everywhere "tree: copied as by cp -a" "$work/want" parcp

measured "tree remove rm 1" rm -rf "$a/cp"
measured_over 1 "tree remove parfs" parrm "$a/parcp"
undelayed gone "tree: removed" parcp
undelayed manifest "$served/tar" >"$work/want"
undelayed same_everywhere "tree: what was not to be removed is there" "$work/want" parfs
