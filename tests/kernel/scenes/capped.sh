# shellcheck shell=bash disable=SC2154
# Each target takes no more than a number of requests a second (the bed's --iops): extraction and removal on one and on four
# mounts, many directories.

for k in 1 4; do
    can "$k" || continue
    undelayed fresh
    measured_over "$k" "capped extract parfs" partar -xf "$INPUT/capped.tar" -C "${dirs[0]}"
    measured_over "$k" "capped remove parfs" parrm "${dirs[0]}/capped"
    undelayed gone "capped, $k mounts: removed" capped
done
