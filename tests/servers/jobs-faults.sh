# shellcheck shell=bash disable=SC2154,SC2015
# Faults while parcp copies to and from nfs-ganesha and while parrm removes: the program killed, servers killed and
# started again, paused. Sourced by tests/servers/run after the others.
#
# With -v the programs write a line for each deed. The lines go into a pipe that is read to the chosen line and no further:
# the program then is in the middle of its run and soon waits for the pipe, whatever the machine's speed. Paths are
# long, so that a pipe and the program's buffer hold no more than some hundred lines. No check depends on a time.

deed_pid=

# elsewhere: a directory of the export for the next check. The servers remember names that go behind their backs.
elsewhere() {
    turn=$((turn + 1))
    there=${long::240}$turn
}

# begin NAME LINE COMMAND...: starts a program, and returns when it has written so many lines or has ended.
begin() {
    local name=$1 line=$2
    shift 2
    rm -f "$work/deeds"
    mkfifo "$work/deeds"
    "$@" >"$work/deeds" 2>"$(log "$name")" </dev/null &
    deed_pid=$!
    exec 7<"$work/deeds"
    head -n "$line" <&7 | wc -l >"$work/deeds.read"
}

# proceed: lets it go on; its end is in $status.
proceed() {
    timeout "$hang_s" cat <&7 >/dev/null || kill -KILL "$deed_pid" 2>/dev/null
    exec 7<&-
    status=0
    wait "$deed_pid" || status=$?
}

# cut_off: kills it, and lets the servers carry out what it had sent.
cut_off() {
    kill -KILL "$deed_pid" 2>/dev/null
    exec 7<&-
    status=0
    wait "$deed_pid" 2>/dev/null || status=$?
    settle_servers
}

# claims_are_true NAME SOURCE COPY: no file of the copy has its source's size and time and other bytes.
claims_are_true() {
    local wrong
    (cd "$2" && find . -type f -printf '%P %s %T@\0' | sort -z) >"$work/claims.source"
    (cd "$3" && find . -type f -printf '%P %s %T@\0' | sort -z) >"$work/claims.copy"
    wrong=$(comm -z -12 "$work/claims.source" "$work/claims.copy" | sed -z 's/ [0-9]* [0-9.]*$//' >"$work/claims"
        cmp -s <(cd "$2" && xargs -0 -r sha256sum <"$work/claims") <(cd "$3" && xargs -0 -r sha256sum <"$work/claims") || echo wrong)
    claimed=$((claimed + $(tr -cd '\0' <"$work/claims" | wc -c)))
    if [[ -z $wrong ]]; then ok "$1"; else bad "$1" "a file looks complete and is not"; fi
}

# killed_copies NAME TARGETS OPTION...: parcp is killed again and again, and run again until it is done. What a killed run sent may
# still be under way when the next one begins: one run may end with 1 and say why.
killed_copies() {
    local name=$1 targets=$2 seed=$((1000 + $2)) kills=0 whole=0 told=0 from=$work/jobs/$long
    local ended said
    shift 2
    RANDOM=$seed
    claimed=0
    elsewhere
    while ((whole == 0)); do
        begin "$name/run-$kills" $((RANDOM % (job_files / 6) + 1)) parcp -a -v "$@" "$from" "$(parfs_url "$targets" "$there")"
        # Past some kills it may go on; each run does some hundred files at least, so that more are not needed.
        if (($(<"$work/deeds.read") == 0 || kills == 12)); then
            proceed
            said=$(tail -n 2 "$(log "$name/run-$kills")")
            whole=1
        else
            cut_off
            said=$(tail -n 2 "$(log "$name/run-$kills")")
            if [[ $status == 137 ]]; then kills=$((kills + 1)); else whole=1; fi
        fi
        ended=$status
        if [[ $status == 1 && -n $said && $told == 0 ]]; then
            printf '# %s/run-%d ended with 1: %s\n' "$name" "$kills" "$(printf '%s' "$said" | cut -c -300)"
            told=1 whole=0
        fi
        ((whole)) || claims_are_true "$name/kill-$kills" "$from" "$exports/$there"
    done
    # With --atomic and hard links a temporary name may be left that no later run needs; --delete takes it away.
    run_job "$name/last" 0 parcp -a "$@" ${1:+--delete} "$from" "$(parfs_url "$targets" "$there")" &&
        same_copy_ganesha "$name" "$from" "$exports/$there"
    if ((kills >= 3 && claimed > 0 && ended == 0)); then
        ok "$name/kills"
    else
        bad "$name/kills" "killed $kills times, seed $seed, last status $ended, $claimed files were complete: $said"
    fi
    find "$exports/$there" -name '.parfs.*' | grep -q . && bad "$name/left" "temporary names are left"
    find "$exports/$there" -delete
}

# settle_servers: they have read what a program that is gone had sent, and closed its connections (state 08 is one that its
# client has left); their answers come after that.
settle_servers() {
    until_true 60 no_connection_left || return
    until_true 60 timeout 5 nfs-ls "$(libnfs_url 1)" && until_true 60 timeout 5 nfs-ls "$(libnfs_url 2)"
}

no_connection_left() {
    ! cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | awk -v port="$(printf ':%04X' "$nfs_port")" '$4 == "08" && $2 ~ port "$"' | grep -q .
}

# copy_fault NAME TARGETS COMMAND...: at a third of a copy to the server runs COMMAND; the run ends with 0 and the tree is whole,
# or with 1 and a message, and one more run makes it whole.
copy_fault() {
    local name=$1 targets=$2 from=$work/jobs/$long
    local url
    elsewhere
    url=$(parfs_url "$targets" "$there")$patience
    shift 2
    begin "$name" $((job_files / 3)) parcp -a -v "$from" "$url"
    "$@"
    proceed
    ends_and_mends "$name" "$from" "$exports/$there" parcp -a "$from" "$url"
    find "$exports/$there" -delete
}

# ends_and_mends NAME SOURCE COPY COMMAND...: $status is 0 and the tree is whole, or it is 1 with a message, and COMMAND mends it.
ends_and_mends() {
    local name=$1 from=$2 to=$3
    shift 3
    if [[ $status == 1 && -s $(log "$name") ]]; then
        settle_servers
        printf '# %s ended with 1: %s\n' "$name" "$(head -n 1 "$(log "$name")" | cut -c -100)"
        claims_are_true "$name/claims" "$from" "$to"
        run_job "$name/mended" 0 "$@" || return
    elif [[ $status != 0 ]]; then
        bad "$name" "exit status $status: $(tail -n 2 "$(log "$name")")"
        return
    fi
    same_copy_ganesha "$name" "$from" "$to"
}

# read_fault NAME TARGETS COMMAND...: the same for a copy from the server.
read_fault() {
    local name=$1 targets=$2 to=$work/jobs-read
    local url
    elsewhere
    url=$(parfs_url "$targets" "$there")$patience
    shift 2
    cp -a "$work/jobs/$long" "$exports/$there"
    begin "$name" $((job_files / 3)) parcp -a -v "$url" "$to"
    "$@"
    proceed
    ends_and_mends "$name" "$exports/$there" "$to" parcp -a "$url" "$to"
    find "$to" "$exports/$there" -delete
}

# remove_fault NAME TARGETS COMMAND...: at a third of a removal runs COMMAND; it ends with 0 and nothing is left, or with 1 and a
# message, and one more run removes the rest.
remove_fault() {
    local name=$1 targets=$2
    local url
    elsewhere
    url=$(parfs_url "$targets" "$there")$patience
    shift 2
    cp -a "$work/jobs/$long" "$exports/$there" && mkdir "$work/beside" && ln -s "$work/beside" "$exports/$there/beside"
    begin "$name" $((job_files / 3)) parrm -v "$url"
    "$@"
    proceed
    if [[ $status == 1 && -s $(log "$name") ]]; then
        printf '# %s ended with 1: %s\n' "$name" "$(head -n 1 "$(log "$name")" | cut -c -100)"
        settle_servers
        run_job "$name/again" 0 parrm -f "$url" || return
    elif [[ $status != 0 ]]; then
        bad "$name" "exit status $status: $(tail -n 2 "$(log "$name")")"
    fi
    if [[ -e $exports/$there || ! -d $work/beside ]]; then bad "$name" "not removed, or too much"; else ok "$name"; fi
    rmdir "$work/beside"
}

# killed_removals NAME TARGETS: as killed_copies.
killed_removals() {
    local name=$1 targets=$2 seed=$((2000 + $2)) kills=0
    RANDOM=$seed
    elsewhere
    cp -a "$work/jobs/$long" "$exports/$there"
    while [[ -e $exports/$there ]] && ((kills < 40)); do
        begin "$name/run-$kills" $((RANDOM % (job_files / 6) + 1)) parrm -f -v "$(parfs_url "$targets" "$there")"
        cut_off
        [[ $status == 137 ]] || break
        kills=$((kills + 1))
    done
    run_job "$name" 0 parrm -f "$(parfs_url "$targets" "$there")"
    if [[ ! -e $exports/$there ]] && ((kills >= 2)); then
        ok "$name"
    else
        bad "$name" "killed $kills times, seed $seed: $(find "$exports/$there" 2>/dev/null | wc -l) objects left"
    fi
}

jobs_fault_suite() {
    local status patience='&away=8' long there turn=0 claimed=0
    local job_files=3000
    [[ -z $full ]] || job_files=9000
    long=$(printf 'long%.0s' $(seq 60))
    mkdir "$work/jobs"
    tree_work "$work/jobs/$long" "$job_files" || die "the tree of jobs-faults.sh cannot be made"
    (cd "$work/jobs/$long" && for i in $(seq 1 20 999); do ln d0/f$((i % 200)) "d1/link-$i"; done)
    find "$work/jobs" -exec touch -d '2010-10-10 10:10:10.1010101Z' {} +

    killed_copies jobs-fault/copy/killed 2
    killed_copies jobs-fault/copy/killed-atomic 1 --atomic
    killed_removals jobs-fault/remove/killed 2
    copy_fault jobs-fault/copy/restart-the-only-one 1 restart 1
    copy_fault jobs-fault/copy/pause-one-of-two 2 pause 2 && wait "$continued"
    continued=
    read_fault jobs-fault/read/restart-one-of-two 2 restart 2
    remove_fault jobs-fault/remove/restart-the-only-one 1 restart 1
    remove_fault jobs-fault/remove/pause-one-of-two 2 pause 2 && wait "$continued"
    continued=
    if [[ -n $full ]]; then
        copy_fault jobs-fault/copy/restart-one-of-two 2 restart 1
        read_fault jobs-fault/read/restart-the-only-one 1 restart 1
        remove_fault jobs-fault/remove/restart-one-of-two 2 restart 2
        copy_fault jobs-fault/copy/kill-one-of-two 2 kill_one 2
        ganesha_start 2 || die "nfs-ganesha did not come back"
        remove_fault jobs-fault/remove/kill-one-of-two 2 kill_one 2
        ganesha_start 2 || die "nfs-ganesha did not come back"
    fi
    ganesha_reset || die "nfs-ganesha did not come back"
    rm -rf "$work/jobs"
}
