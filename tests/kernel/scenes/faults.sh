# shellcheck shell=bash disable=SC2154
# Faults in the middle of a job, over as many mounts as parfs can use here: it is killed and run again; the server stops and
# comes back; the file system is full; the export is read-only. Nothing may be lost silently.

# shellcheck source-path=SCRIPTDIR source=middle.sh
. "$KERNEL/scenes/middle.sh"
echo "faults over $k mounts"

restart_server() {
    server stop
    sleep 3
    server start
}

# refused NAME TEXT: the job that has just ended must have failed, and said TEXT.
refused() {
    if ((status == 0)); then
        bad "$1" "status 0"
    elif ! grep -q "$2" "$work/out"; then
        bad "$1" "does not say '$2': $(tail -n 3 "$work/out")"
    else
        ok "$1"
    fi
}

killed() {
    prepare
    midway extract kill_it
    in_the_middle "killed extraction" got
    again partar --resume -xf "$archive" -C "$a/got"
    succeeded "killed extraction"
    undelayed same_everywhere "killed extraction, resumed" "$work/want" got

    prepare
    midway copy kill_it
    in_the_middle "killed copy" got
    again parcp "$a/want" "$a/got"
    succeeded "killed copy"
    undelayed same_everywhere "killed copy, run again" "$work/want" got

    prepare
    midway remove kill_it
    in_the_middle "killed removal" want
    again parrm "$a/want"
    succeeded "killed removal"
    undelayed gone "killed removal, run again" want
}

restarted() {
    prepare
    midway extract restart_server
    finished
    succeeded "server restarted in an extraction"
    undelayed same_everywhere "server restarted in an extraction" "$work/want" got

    prepare
    midway copy restart_server
    finished
    succeeded "server restarted in a copy"
    undelayed same_everywhere "server restarted in a copy" "$work/want" got

    prepare
    midway remove restart_server
    finished
    succeeded "server restarted in a removal"
    undelayed gone "server restarted in a removal" want
}

# all_whole_or_named NAME: each file of the tree is there and whole, or what parfs said names it.
all_whole_or_named() {
    local lost=0 broken=0 path
    (cd "$served/want" && find . -type f -print0 | sort -z | xargs -0 sha256sum) >"$work/sums.want"
    (cd "$served/got" && find . -type f -print0 | sort -z | xargs -0 -r sha256sum) >"$work/sums.got"
    while read -r _ path; do
        broken=$((broken + 1))
        grep -qF -- "${path#./}" "$work/out" || {
            lost=$((lost + 1))
            printf '%s\n' "$path" >>"$work/logs/lost"
        }
    done < <(comm -23 <(sort "$work/sums.want") <(sort "$work/sums.got"))
    if ((broken == 0)); then
        bad "$1" "nothing failed: the file system was not full"
    elif ((lost > 0)); then
        bad "$1" "$lost of $broken files are not whole and not named, as $(head -n 1 "$work/logs/lost")"
    else
        ok "$1 ($broken of $total)"
    fi
}

# kib DIR: what is in use below it, in KiB.
kib() {
    du -sk "$1" | cut -f 1
}

full() {
    local job
    for job in extract copy; do
        prepare
        # Room for two thirds: the failures are then fewer than the 1,000 that are listed by name.
        mount -o "remount,size=$(($(kib /mnt/export) + $(kib "$served/want") * 2 / 3))k" /mnt/export
        case $job in
        extract) again partar -xf "$archive" -C "$a/got" ;;
        copy) again parcp "$a/want" "$a/got" ;;
        esac
        refused "full file system: $job fails and says so" 'No space left on device'
        undelayed all_whole_or_named "full file system: $job names each file that is not whole"
        mount -o remount,size=3G /mnt/export
        # With room, the same command completes the job.
        case $job in
        extract) again partar --resume -xf "$archive" -C "$a/got" ;;
        copy) again parcp "$a/want" "$a/got" ;;
        esac
        succeeded "full file system, then room: $job"
        undelayed same_everywhere "full file system, then room: $job" "$work/want" got
    done
}

# Files of several ranges each, which go through all mounts. A server that finds no room says that it has lost all it had not committed:
# nothing of what failed may be in a client still, to be written again behind the times that the next run sets.
full_large() {
    local i
    rtt off
    fresh
    mkdir "$served/want" "$served/got"
    for i in $(seq 16); do
        head -c 6291456 /dev/urandom >"$served/want/f$i"
        touch -d "2020-01-02 03:04:$i" "$served/want/f$i"
    done
    touch -d '2020-01-02 03:04' "$served/want"
    manifest "$served/want" >"$work/want"
    cold
    rtt start
    mount -o "remount,size=$(($(kib /mnt/export) + 65536))k" /mnt/export
    again parcp "$a/want" "$a/got"
    refused "full file system, large files: copy fails and says so" 'No space left on device'
    mount -o remount,size=3G /mnt/export
    again parcp "$a/want" "$a/got"
    succeeded "full file system, then room: copy of large files"
    undelayed same_everywhere "full file system, then room: copy of large files" "$work/want" got
}

# An archive that found no room has no member whose data is not its file's: it is cut off before the first piece that is missing.
archive_full() {
    local name broken=0 members=0
    rtt off
    fresh
    mkdir "$served/want" "$served/got"
    for name in $(seq 96); do head -c 1048000 /dev/urandom >"$served/want/f$name"; done
    cold
    rtt start
    mount -o "remount,size=$(($(kib /mnt/export) + 49152))k" /mnt/export
    again partar -cf "$a/got/archive.tar" -C "$a" want
    refused "full file system: creation fails and says so" 'No space left on device'
    mount -o remount,size=3G /mnt/export
    rtt off
    cold
    mkdir "$served/out"
    tar -xf "$served/got/archive.tar" -C "$served/out" 2>/dev/null
    for name in "$served"/out/want/*; do
        members=$((members + 1))
        # GNU tar leaves the last one short, which the archive's end cuts off.
        cmp -s "$name" "$served/want/${name##*/}" || (($(stat -c %s "$name") < 1048000)) || broken=$((broken + 1))
    done
    if ((broken > 0 || members == 0)); then
        bad "full file system: archive" "$broken of $members members have other data than their files"
    else
        ok "full file system: no member of the archive has other data than its file"
    fi
    rtt start
}

# A list whose file finds no room: Linux tells that when the file is closed.
listing_full() {
    local status
    prepare
    : >"$a/got/list"
    mount -o "remount,size=$(kib /mnt/export)k" /mnt/export
    partar -tf "$archive" >"$a/got/list" 2>"$work/out"
    status=$?
    if ((status == 2)) && grep -q 'stdout: No space left on device' "$work/out"; then
        ok "full file system: a list that is lost is told"
    else
        bad "full file system: list" "status $status: $(tail -n 3 "$work/out")"
    fi
    mount -o remount,size=3G /mnt/export
}

# A killed program's data that found no room: Linux tells it to the next who closes the file, whatever that one did.
told_late() {
    local late=$a/got/late writer
    prepare
    : >"$served/want/late"
    head -c 1000 /dev/zero >"$served/got/late"
    cold
    rm -f "$work/pipe" && mkfifo "$work/pipe"
    mount -o "remount,size=$(($(kib /mnt/export) + 64))k" /mnt/export
    dd of="$late" bs=64k conv=notrunc <"$work/pipe" 2>/dev/null &
    writer=$!
    exec 7>"$work/pipe"
    head -c 1048576 /dev/zero >&7
    kill -9 "$writer"
    wait "$writer" 2>/dev/null || true
    exec 7>&-
    mount -o remount,size=3G /mnt/export
    again parcp "$a/want/late" "$late"
    if ((status == 0)) && [[ ! -s $served/got/late ]]; then
        ok "a killed program's lost data is not taken for this run's"
    else
        bad "a killed program's lost data" "status $status, $(stat -c %s "$served/got/late") bytes: $(tail -n 2 "$work/out")"
    fi
}

read_only() {
    prepare
    server ro
    again partar -xf "$archive" -C "$a/got"
    refused "read-only export: extract" 'Read-only file system'
    again parcp "$a/want" "$a/got"
    refused "read-only export: copy" 'Read-only file system'
    again parrm "$a/want"
    refused "read-only export: remove" 'Read-only file system'
    server rw
    undelayed same_everywhere "read-only export: nothing was removed" "$work/want" want
    if (($(files_in got) == 0)); then ok "read-only export: nothing was made"; else bad "read-only export" "files were made"; fi
}

if [[ -z ${BED-} ]]; then
    echo "left out: the server's side is at hand in the bed only"
    return
fi
killed
restarted
full
# What it is about comes in half of the rounds.
full_large
full_large
full_large
archive_full
listing_full
told_late
read_only
