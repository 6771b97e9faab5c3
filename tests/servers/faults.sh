# shellcheck shell=bash disable=SC2154,SC2015
# Faults of real servers while partar extracts. Sourced by tests/servers/run after the others.
#
# The archive comes through a pipe that is held open at a third: by then calls are in flight or done, and as much is still
# to come, so that each fault is in the middle of the run whatever the machine's speed. No check depends on a time.

# fault NAME TARGETS COMMAND...: extracts the work archive over TARGETS, with URL arguments $patience; at a third of it runs COMMAND (in this shell, so
# that it may end and start servers). Leaves the exit status in $status and the tree in $exports/fault.
fault() {
    local name=$1 targets=$2 third pid
    shift 2
    mkdir "$exports/fault"
    third=$(($(stat -c %s "$work/work.tar") / 3))
    rm -f "$work/pipe"
    mkfifo "$work/pipe"
    timeout "$hang_s" partar -xf - -C "$(parfs_url "$targets" fault)$patience" <"$work/pipe" >"$(log "$name")" 2>&1 &
    pid=$!
    exec 7>"$work/pipe"
    head -c "$third" "$work/work.tar" >&7
    "$@"
    tail -c "+$((third + 1))" "$work/work.tar" >&7 2>/dev/null
    exec 7>&-
    status=0
    wait "$pid" || status=$?
}

# whole NAME: the run must have succeeded and the tree must be equal.
whole() {
    if [[ $status != 0 ]]; then
        bad "$1" "exit status $status: $(tail -n 2 "$(log "$1")")"
    else
        same_tree_ganesha "$1" "$work/work.manifest" "$exports/fault"
    fi
}

# whole_or_true NAME: either whole, or exit status 2, a message, and no file that claims to be complete and is not:
# a file with the archive's time (it is set last) has the archive's bytes.
whole_or_true() {
    if [[ $status == 0 ]]; then
        whole "$1"
        return
    fi
    if [[ $status != 2 || ! -s $(log "$1") ]]; then
        bad "$1" "exit status $status: $(tail -n 2 "$(log "$1")")"
        return
    fi
    local wrong
    wrong=$(cd "$exports/fault" && find . -type f -printf './%P %T@\n' | sort >"$work/times" &&
        grep -aE '^d[0-9]+/[a-z]+[0-9]+ f ' "$work/work.manifest" | cut -d ' ' -f 1,7 | sed 's|^|./|' | sort >"$work/times.want" &&
        comm -12 "$work/times" "$work/times.want" | cut -d ' ' -f 1 | xargs -r -d '\n' sha256sum | sort >"$work/sums" &&
        comm -23 "$work/sums" <(sort "$work/work.manifest") | wc -l)
    if [[ $wrong == 0 ]]; then ok "$1"; else bad "$1" "$wrong files look complete and are not"; fi
}

# whole_but_late_writes NAME: a target that was left out may wake and carry out a WRITE that another has carried out since:
# the same bytes, but the file's time is then that of the WRITE (NFSv3 has no fence against it). So all but the times of
# files must be equal, and a run with --resume must mend those.
whole_but_late_writes() {
    local without_times='s/ (f [0-7]+ [0-9]+ [0-9]+ [0-9]+) -?[0-9.]+ ([0-9]+) / \1 - \2 /'
    if [[ $status != 0 ]]; then
        bad "$1" "exit status $status: $(tail -n 2 "$(log "$1")")"
        return
    fi
    manifest "$exports/fault" | sed -E "$without_times" >"$work/got.late"
    sed -E "$without_times" "$work/work.manifest" >"$work/want.late"
    same_tree "$1" "$work/want.late" "$work/got.late"
    status=0
    timeout "$hang_s" partar -xf "$work/work.tar" --resume -C "$(parfs_url 1 fault)" >"$(log "$1-resume")" 2>&1 || status=$?
    whole "$1-resume"
}

# pause INDEX [SECONDS]
pause() {
    kill -STOP "${ganesha_pid[$1]}"
    # Long enough that calls wait on it; 3 s are short of any client's patience.
    (sleep "${2:-3}" && kill -CONT "${ganesha_pid[$1]}") 7>&- &
    continued=$!
}

kill_one() {
    ganesha_end "$1" KILL
}

restart() {
    ganesha_end "$1" KILL
    ganesha_start "$1"
}

fault_clean() {
    [[ -z $continued ]] || wait "$continued"
    continued=
    ganesha_reset || die "nfs-ganesha did not come back"
}

continued=

fault_suite() {
    # Longer than the pause, short for a server that is dead.
    local status files=4000 patience='&away=8'
    [[ -z $full ]] || files=12000
    tree_work "$work/work" "$files" || die "the tree 'work' cannot be made"
    # pax keeps the nanoseconds, by which each file has a time of its own.
    tar --format=pax -cf "$work/work.tar" -C "$work/work" .
    manifest "$work/work" >"$work/work.manifest"
    rm -rf "$work/work"

    fault fault/none 2 true && whole fault/none && fault_clean
    fault fault/pause-one-of-two 2 pause 2 && whole fault/pause-one-of-two && fault_clean
    fault fault/pause-the-only-one 1 pause 1 && whole fault/pause-the-only-one && fault_clean
    # It is left out, and then wakes with calls that another target has carried out since. Its answers prove that it is
    # done with them before the trees are compared.
    patience='&timeo=20&away=2'
    fault fault/pause-beyond-patience 2 pause 2 8 && wait "$continued" && continued= &&
        until_true 60 timeout 5 nfs-ls "$(libnfs_url 2)" && whole_but_late_writes fault/pause-beyond-patience && fault_clean
    patience='&away=8'
    fault fault/restart-the-only-one 1 restart 1 && whole_or_true fault/restart-the-only-one && fault_clean
    fault fault/restart-one-of-two 2 restart 1 && whole_or_true fault/restart-one-of-two && fault_clean
    fault fault/kill-one-of-two 2 kill_one 2 && whole_or_true fault/kill-one-of-two
    ganesha_start 2 && fault_clean || die "nfs-ganesha did not come back"
    fault fault/kill-the-only-one 1 kill_one 1
    if [[ $status == 0 ]]; then bad fault/kill-the-only-one "exit status 0"; else whole_or_true fault/kill-the-only-one; fi
    ganesha_start 1 && fault_clean || die "nfs-ganesha did not come back"
    rm -rf "$exports/fault"
}
