# shellcheck shell=bash disable=SC2154
# The same jobs through kernel mounts and by NFSv3 spoken directly (nfs://) to the same addresses.

if [[ -z ${BED-} ]]; then
    echo "left out: nfs:// addresses are known in the bed only"
    return
fi
addresses=(10.0.1.2 10.0.2.2 10.0.3.2 10.0.4.2)
for k in 1 4; do
    # nfs:// takes its lanes by the distance that it measures, and the bed's clock makes 10 ms of one: it is told those of 1 ms.
    lanes=(-P "$((16 * k))")
    # nfs_url PATH
    nfs_url() { (IFS=, && echo "nfs://${addresses[*]:0:k}/mnt/export/$top/$1"); }
    for load in tree flat; do
        undelayed fresh
        undelayed mkdir "$served/direct" "$served/kernel"
        measured "$load extract direct $k" partar -xf "$INPUT/$load.tar" -C "$(nfs_url direct)" "${lanes[@]}" --report @report@
        measured "$load copy direct $k" parcp "$(nfs_url direct)" "$(nfs_url direct-copy)" "${lanes[@]}" --report @report@
        measured "$load remove direct $k" parrm "$(nfs_url direct)" "${lanes[@]}" --report @report@
        undelayed gone "$load: removed by nfs://" direct
        undelayed manifest "$served/direct-copy" >"$work/want"
        can "$k" || continue
        measured_over "$k" "$load extract parfs" partar -xf "$INPUT/$load.tar" -C "${dirs[0]}/kernel"
        measured_over "$k" "$load copy parfs" parcp "${dirs[0]}/kernel" "${dirs[0]}/kernel-copy"
        undelayed same_everywhere "$load, $k mounts: as by nfs://" "$work/want" kernel-copy 1
        measured_over "$k" "$load remove parfs" parrm "${dirs[0]}/kernel"
        undelayed gone "$load, $k mounts: removed" kernel
    done
done
