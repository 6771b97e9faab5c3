#!/bin/bash
# Finding mounts and proving what they show, on real ones. Runs in the bed, by hand, with four targets:
#
#   tests/kernel/bed --targets 4 --rtt 1ms --share "$PWD" -- bash tests/kernel/mounts.sh
#
# It mounts, exports, delays and cuts off as it needs, so it runs in no other place. PARFS is the binary.
# shellcheck disable=SC2016,SC2317
set -u
PARFS=${PARFS:-$(dirname "$0")/../../target/release/parfs}
work=$(mktemp -d)
mkdir "$work/bin"
for name in partar parcp parrm; do ln -s "$(realpath "$PARFS")" "$work/bin/$name"; done
PATH=$work/bin:$PATH
failures=0

# check NAME COMMAND...: runs the command and says whether it was as it should be.
check() {
    local name=$1
    shift
    if "$@" >"$work/check" 2>&1; then
        echo "ok      $name"
    else
        echo "FAILED  $name"
        sed 's/^/        /' "$work/said" "$work/check" | tail -n 12
        failures=$((failures + 1))
    fi
}

# run STATUS COMMAND...: what it says is in $work/said; true when it ends with this status.
run() {
    local want=$1 got
    shift
    "$@" >"$work/said" 2>&1
    got=$?
    ((got == want)) || echo "status $got: $*" >>"$work/said"
    ((got == want))
}
says() { grep -qF -- "$1" "$work/said"; }
silent() { ! says "$1"; }
# No name of a proof is left anywhere on the export.
nothing_left() { [[ -z $(find /mnt/export -name '.parfs-*') ]]; }
# over MOUNT...: the run was spread over exactly these.
over() { says "one file system, over $(printf '%s, ' "$@" | sed 's/, $//')"; }
# mount_more POINT ADDRESS OPTIONS [PATH]
mount_more() {
    mkdir -p "$1"
    mount -i -t nfs -o "vers=3,proto=tcp,hard,nolock,addr=$2,port=2049,mountaddr=$2,mountport=20048,mountvers=3,mountproto=tcp,$3" \
        "$2:${4:-/mnt/export}" "$1"
}

m=(/mnt/mt1 /mnt/mt2 /mnt/mt3 /mnt/mt4)
mkdir -p "${m[0]}/src/d"
for i in $(seq 40); do echo "$i" >"${m[0]}/src/d/f$i"; done
tar -cf "$work/a.tar" -C "${m[0]}" src
fresh() { rm -rf /mnt/export/out && mkdir /mnt/export/out && ls "${m[@]/%//out}" >/dev/null; }
extract() { run 0 partar -xvf "$work/a.tar" -C "$@"; }
same() { diff -r /mnt/export/src "${1:-/mnt/export/out/src}"; }

echo "== four targets"
fresh
check "all targets are found" extract "${m[0]}/out" --report "$work/report"
check "and said" over "${m[@]}"
check "the tree is the archive's" same
check "nothing is left of the proofs" nothing_left
check "the report has the kernel's counts" grep -q '"kernel"' "$work/report"
check "of CREATEs, as many as files" bash -c \
    'awk -F: "/\"procedure\": \"CREATE\"/ { f = 1 } f && /\"sent\"/ { n += \$2; f = 0 } END { exit n < 40 }" "$1"' _ "$work/report"
check "and of four targets" bash -c '[[ $(grep -c "\"target\"" "$1") == 4 ]]' _ "$work/report"
fresh
check "--no-spread leaves the others alone" extract "${m[0]}/out" --no-spread
check "and says nothing of them" silent "one file system"
fresh
check "--mounts names some" extract "${m[1]}/out" --mounts "${m[0]},${m[1]}"
check "and no others are used" over "${m[1]}" "${m[0]}"
check "the operand must be on one of them" run 2 partar -xf "$work/a.tar" -C "${m[0]}/out" --mounts "${m[1]},${m[2]}"
check "which is said" says "no operand is on ${m[1]}"

echo "== readers make nothing"
before=$(stat -c '%y %z' /mnt/export/src)
check "a source is read over all" run 0 parcp -v "${m[2]}/src" "$work/copy"
check "which is said" over "${m[2]}" "${m[0]}" "${m[1]}" "${m[3]}"
check "its directory was not touched" [ "$before" = "$(stat -c '%y %z' /mnt/export/src)" ]
check "the copy is the source" same "$work/copy"
before=$(stat -c '%y %z' /mnt/export)
check "a rehearsal is spread, too" run 0 parrm --dry-run -v "${m[0]}/src"
check "which is said" over "${m[@]}"
check "and makes nothing" [ "$before" = "$(stat -c '%y %z' /mnt/export)" ]
check "a directory of one mount is copied to another" run 0 parcp -v "${m[0]}/src" "${m[1]}/copy"
check "as it is" same /mnt/export/copy
check "and removed through a third" run 0 parrm "${m[2]}/copy"
check "wholly" [ ! -e /mnt/export/copy ]

echo "== one object through two mounts"
for way in "" --no-spread; do
    check "a tree onto itself is refused $way" run 1 parcp $way "${m[0]}/src" "${m[1]}/src"
    check "as such" says "are the same file"
    check "a file onto itself $way" run 1 parcp $way -I "${m[0]}/src/d/f1" "${m[1]}/src/d/f1"
    check "or into its directory" run 1 parcp $way -I "${m[0]}/src/d/f1" "${m[1]}/src/d"
    check "a tree into itself $way" run 1 parcp $way "${m[0]}/src" "${m[1]}/src/d/new"
    check "as such" says "into itself"
    check "a tree out of what --delete would clear $way" run 1 parcp $way --delete "${m[0]}/src/d" "${m[1]}/src"
    check "as such" says "--delete would remove the source"
done
mkdir /mnt/inner && mount --bind "${m[1]}/src/d" /mnt/inner
check "a tree into itself by a bind mount" run 1 parcp --no-spread "${m[0]}/src" /mnt/inner/new
check "is copied but for the copy" says "is the destination; it is not copied into itself"
check "and no deeper than once" [ ! -e /mnt/export/src/d/new/d/new ]
rm -rf /mnt/export/src/d/new
umount /mnt/inner
check "what is refused is as it was" bash -c '[[ $(cat /mnt/export/src/d/f*) == $(tar -xOf "$1" --wildcards "src/d/f*" | sort -n) ]] ||
    [[ $(cat /mnt/export/src/d/f* | sort -n) == $(seq 40) ]]' _ "$work/a.tar"
check "nothing is left of the proofs" nothing_left

echo "== one address, other superblocks"
mount_more /mnt/x1 10.0.1.2 nosharecache
mount_more /mnt/x2 10.0.1.2 nosharecache
fresh
check "two mounts of one address" extract /mnt/x1/out --mounts /mnt/x1,/mnt/x2
check "are used" over /mnt/x1 /mnt/x2
mount_more /mnt/ro 10.0.1.2 ro
fresh
check "a read-only mount" extract "${m[0]}/out"
check "is left out" says "/mnt/ro: not used beside ${m[0]}: it is mounted read-only"
check "or refused by name" run 2 partar -xf "$work/a.tar" -C "${m[0]}/out" --mounts "${m[0]},/mnt/ro"
check "before anything is done" [ "$(find /mnt/export/out | wc -l)" = 43 ]
check "a reader uses it" run 0 parcp -v "${m[0]}/src" "$work/copy2" --mounts "${m[0]},/mnt/ro"
check "which is said" over "${m[0]}" /mnt/ro
mount_more /mnt/s1 10.0.1.2 sharecache
mount_more /mnt/s2 10.0.1.2 sharecache
check "two mounts of one superblock" run 2 partar -xf "$work/a.tar" -C /mnt/s1/out --mounts /mnt/s1,/mnt/s2
check "are told" says "it is one superblock with /mnt/s1"
check "something local" run 2 parrm "${m[0]}/out" --mounts "${m[0]},/mnt/export"
check "is told" says "/mnt/export cannot be used: it is not an NFS mount"
check "nothing was removed" [ -d /mnt/export/out ]
fresh
mount_more /mnt/sub 10.0.1.2 nosharecache /mnt/export/out
check "a mount of a directory of the export" extract /mnt/sub
check "has the whole export's beside it" says "over /mnt/sub, ${m[0]}"
mkdir -p /mnt/export/out/src/d/t && mount -t tmpfs t "${m[2]}/out/src/d/t"
check "a mount in the directory" extract "${m[0]}/out"
check "leaves its mount out" says "another mount, ${m[2]}/out/src/d/t, lies in the directory"
umount "${m[2]}/out/src/d/t"
umount /mnt/x1 /mnt/x2 /mnt/ro /mnt/s1 /mnt/s2 /mnt/sub

echo "== other owners, another server"
ip netns exec srv exportfs -o rw,root_squash,insecure,fsid=1,no_subtree_check 10.0.2.1:/mnt/export
chmod 777 /mnt/export/out
umount "${m[1]}"
mount_more "${m[1]}" 10.0.2.2 nosharecache
fresh
chmod 777 /mnt/export/out
check "a squashed mount" extract "${m[0]}/out"
check "is left out" says "owned by 65534:65534, not 0:0"
check "for a reader, too, where it may less" run 0 parcp -v "${m[0]}/src" "$work/copy3"
check "which is said" says "${m[1]}: not used beside ${m[0]}: the server allows something else through it"
check "nothing is left of the proofs" nothing_left
# A second server that has a file system of its own at the same path, with the same file ids and handles.
ip netns add other
ip link add c9 mtu 9000 type veth peer name s9 mtu 9000 netns other
ip addr add 10.0.9.1/24 dev c9 && ip link set c9 up
ip -n other link set lo up && ip -n other addr add 10.0.9.2/24 dev s9 && ip -n other link set s9 up
ip netns exec other unshare -m bash -c '
    mount -t tmpfs -o nr_inodes=0 other /mnt/export && chmod 777 /mnt/export
    mount -t tmpfs state /var/lib/nfs && mount -t tmpfs run /run && mkdir -p /run/rpcbind /var/lib/nfs/sm /var/lib/nfs/v4recovery
    touch /var/lib/nfs/etab /var/lib/nfs/rmtab
    mount -t nfsd nfsd /proc/fs/nfsd
    rpcbind && rpc.mountd -p 20048
    exportfs -o rw,no_root_squash,insecure,fsid=1,no_subtree_check "*:/mnt/export"
    rpc.nfsd -N 4 -V 3 8' >"$work/said" 2>&1
check "another server" mount_more /mnt/other 10.0.9.2 nosharecache
check "has the same root" [ "$(stat -c %i /mnt/other)" = "$(stat -c %i "${m[0]}")" ]
check "an extraction into the root" run 0 partar -xvf "$work/a.tar" -C "${m[0]}"
check "is not done there" says "/mnt/other: not used beside ${m[0]}: it shows another file system"
check "at all" [ -z "$(ls -A /mnt/other)" ]
check "nor by name" run 2 partar -xf "$work/a.tar" -C "${m[0]}" --mounts "${m[0]},/mnt/other"
check "nor for a reader" run 0 parcp -v --exclude out --exclude inner "${m[0]}" "$work/copy4"
check "which is said" says "/mnt/other: not used beside ${m[0]}: it may show another file system"
check "a root is copied to the other server" run 0 parcp "${m[0]}" /mnt/other
check "as it is" diff -r /mnt/export/src /mnt/other/src
check "nothing is left of the proofs" nothing_left
check "nor there" [ -z "$(find /mnt/other -name '.parfs-*')" ]
umount /mnt/other

echo "== slow and silent mounts"
tc qdisc replace dev c4 root netem delay 150ms
fresh
check "a slow mount" extract "${m[0]}/out"
check "is left out" says "${m[3]}: not used beside ${m[0]}: it answers in"
tc qdisc del dev c4 root
ip link set c3 down
rm -rf /mnt/export/out && mkdir /mnt/export/out && ls "${m[0]}/out" "${m[1]}/out" "${m[3]}/out" >/dev/null
check "a silent mount" extract "${m[0]}/out"
check "is left out" says "${m[2]}: not used beside ${m[0]}: it does not answer in time"
check "or refused by name" run 2 partar -xf "$work/a.tar" -C "${m[0]}/out" --mounts "${m[0]},${m[2]}"
ip link set c3 up

((failures == 0)) && echo "all as it should be" || echo "$failures failed"
exit $((failures > 0))
