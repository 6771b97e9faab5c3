# shellcheck shell=bash disable=SC2154,SC2015
# Starts and ends nfs-ganesha instances on loopback. Sourced by tests/servers/run after lib.sh.
# Needs $work (a directory on any file system), $exports (a directory that NFS can export), $fsal (VFS or MEM).
#
# Each instance is a mount target of the same export: equal port numbers on 127.0.0.1, 127.0.0.2, ...; with FSAL VFS
# all show one directory and their file handles are interchangeable.

declare -A ganesha_pid=()
nfs_port=
mount_port=

# free_port: a port that nothing listens on, below the range the kernel gives to clients (32768 and up).
free_port() {
    local port address busy
    for _ in $(seq 100); do
        port=$((20000 + RANDOM % 12000))
        busy=
        for address in 127.0.0.1 127.0.0.2; do
            if (: <"/dev/tcp/$address/$port") 2>/dev/null; then busy=1; fi
        done
        if [[ -z $busy ]]; then
            printf '%s' "$port"
            return
        fi
    done
    return 1
}

# ganesha_build: the shim and the ports of this run.
ganesha_build() {
    gcc -O2 -Wall -Wextra -shared -fPIC -o "$work/norpcb.so" "$here/norpcb.c" -ldl || die "the shim does not compile"
    nfs_port=$(free_port) || die "no free port"
    mount_port=$nfs_port
    while [[ $mount_port == "$nfs_port" ]]; do
        mount_port=$(free_port) || die "no free port"
    done
}

# ganesha_config STATE: for $ganesha_memory seconds it remembers names and attributes; what is done through others it then does not know.
ganesha_config() {
    local state=$1 path=$exports
    [[ $fsal == VFS ]] || path=/memx
    cat <<END
NFS_CORE_PARAM { Protocols = 3; NFS_Port = $nfs_port; MNT_Port = $mount_port;
    Enable_NLM = false; Enable_RQUOTA = false; Enable_UDP = false; }
NFSv4 { RecoveryRoot = $state/recovery; Graceless = true; }
EXPORT { Export_Id = 1; Path = $path; Pseudo = /exp; Access_Type = RW; Squash = No_Root_Squash;
    SecType = sys; Protocols = 3; Transports = TCP; Attr_Expiration_Time = ${ganesha_memory:-0}; FSAL { Name = $fsal; } }
LOG { Default_Log_Level = WARN; }
END
    # The largest file that FSAL MEM can hold is its inode size, which it limits to a little over 1 MiB.
    [[ $fsal == VFS ]] || echo 'MEM { Inode_Size = 1114112; }'
}

# ganesha_start INDEX: instance INDEX on 127.0.0.INDEX; returns when it answers, or fails after 60 s. Descriptor 7 is the
# pipe of a fault, which a server must not hold open.
ganesha_start() {
    local i=$1 state=$work/ganesha$1
    mkdir -p "$state/recovery"
    ganesha_config "$state" >"$state/conf"
    LD_PRELOAD=$work/norpcb.so BIND_V4=127.0.0.$i \
        ganesha.nfsd -F -f "$state/conf" -L "$work/logs/ganesha$i.log" -p "$state/pid" \
        >>"$work/logs/ganesha$i.out" 2>&1 </dev/null 7>&- &
    ganesha_pid[$i]=$!
    disown "$!"
    until_true 60 ganesha_settled "$i" && ! gone "${ganesha_pid[$i]}"
}

# ganesha_settled INDEX: it lists its export, or has ended.
ganesha_settled() {
    gone "${ganesha_pid[$1]}" || timeout 5 nfs-ls "$(libnfs_url "$1")"
}

# ganesha_end INDEX [SIGNAL]: ends an instance and waits until it is gone; KILL after 20 s.
ganesha_end() {
    local pid=${ganesha_pid[$1]:-}
    [[ -n $pid ]] || return 0
    unset "ganesha_pid[$1]"
    kill "-${2:-TERM}" "$pid" 2>/dev/null || return 0
    kill -CONT "$pid" 2>/dev/null || true
    until_true 20 gone "$pid" || kill -KILL "$pid" 2>/dev/null || true
    until_true 20 gone "$pid"
}

gone() {
    ! kill -0 "$1" 2>/dev/null
}

ganesha_end_all() {
    local i
    for i in "${!ganesha_pid[@]}"; do
        ganesha_end "$i" KILL || true
    done
}

# ganesha_reset: empties the export. The servers keep descriptors of files removed behind their backs, so they end first.
ganesha_reset() {
    local i running=("${!ganesha_pid[@]}")
    for i in "${running[@]}"; do ganesha_end "$i"; done
    [[ $fsal == VFS ]] && find "$exports" -mindepth 1 -delete
    for i in "${running[@]}"; do ganesha_start "$i" || return 1; done
}

# export_path: the export's path as clients name it.
export_path() {
    if [[ $fsal == VFS ]]; then printf '%s' "$exports"; else printf /memx; fi
}

# libnfs_url INDEX [PATH]: for libnfs's tools.
libnfs_url() {
    printf 'nfs://127.0.0.%s%s%s?nfsport=%s&mountport=%s' "$1" "$(export_path)" "${2:+/$2}" "$nfs_port" "$mount_port"
}

# parfs_url TARGETS [PATH]: for partar -C, over so many instances.
parfs_url() {
    local hosts=127.0.0.1 i
    for i in $(seq 2 "$1"); do hosts+=",127.0.0.$i"; done
    printf 'nfs://%s%s%s?nfsport=%s&mountport=%s' "$hosts" "$(export_path)" "${2:+/$2}" "$nfs_port" "$mount_port"
}
