# shellcheck shell=bash
# A directory of the bench's own, and a simulated mount target that ends with it. Sourced by benches.

# place NAME: $work, on /dev/shm, which goes when the bench ends.
place() {
    work=$(mktemp -d "/dev/shm/parfs-$1.XXXXXX")
    sim_pid=
    trap finish EXIT
}

finish() {
    [[ -z $sim_pid ]] || kill "$sim_pid" 2>/dev/null || true
    rm -rf "$work"
}

# serve PARFS OPTIONS...: starts a simulator; its URL, without a slash at its end, is $url.
serve() {
    local binary=$1
    shift
    exec 3< <(exec "$binary" sim "$@")
    sim_pid=$!
    read -r url <&3
    url=${url%/}
}

unserve() {
    kill "$sim_pid"
    wait "$sim_pid" 2>/dev/null || true
    exec 3<&-
    sim_pid=
}
