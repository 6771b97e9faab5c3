# shellcheck shell=bash disable=SC2154,SC2034
# What scenes share that do something in the middle of a job: to it, or to the trees that it works on. Sourced after lib.sh.
#
# What is in the middle is a matter of counts, never of time: an archive comes through a pipe that is held at a part of it, copies
# and removals are waited for until a part is done.

k=${#points[@]}
over "$k" partar || k=1
archive=$INPUT/work.tar
OPTIONS=()
# Lanes of jobs that must be met in the middle: hundreds begin with all that is left at once, and its names are all there.
FEW=(-P 16)
a=${dirs[0]}

# The measure: the tree as GNU tar extracts it where it is served.
prepare() {
    rtt off
    fresh
    mkdir "$served/want" "$served/got"
    tar -xf "$archive" -C "$served/want"
    manifest "$served/want" >"$work/want"
    total=$(find "$served/want" -type f | wc -l)
    cold
    rtt start
}

# files_in TREE: how many files it has now, at the server or as the first mount shows it.
files_in() {
    find "$served/$1" -type f 2>/dev/null | wc -l
}

# begin PROGRAM ARGUMENT...: parfs in the background; its output in $work/out.
begin() {
    over "$k" "$@"
    "${cmd[@]}" >"$work/out" 2>&1 &
    pid=$!
}

# finished: waits for what was begun; sets status.
finished() {
    status=0
    wait "$pid" 2>/dev/null || status=$?
}

# again PROGRAM ARGUMENT...: parfs to its end; sets status.
again() {
    begin "$@"
    finished
}

# wait_for CONDITION TREE: until it holds of n, the files in the tree, or what was begun has ended.
wait_for() {
    local n
    while n=$(files_in "$2") && ! (($1)) && kill -0 "$pid" 2>/dev/null; do sleep 0.01; done
}

# midway JOB COMMAND...: starts the job, and in the middle of it runs the command, once. The middle is at $part of $parts of the
# archive (half of it, if those are not set), and where one of $parts (of 3) is done of what was left to copy or to remove; and the job
# itself has done something, as the first thing that each does is to prove its mounts. OPTIONS are more of the program's.
midway() {
    local job=$1 part=${part:-1} of=${parts:-3} half before
    shift
    before=$(files_in got)
    case $job in
    extract)
        rm -f "$work/pipe" && mkfifo "$work/pipe"
        over "$k" partar "${OPTIONS[@]}" -xf - -C "$a/got"
        "${cmd[@]}" <"$work/pipe" >"$work/out" 2>&1 &
        pid=$!
        exec 7>"$work/pipe"
        half=$(($(stat -c %s "$archive") * part / ${parts:-2}))
        head -c "$half" "$archive" >&7
        wait_for 'n > before' got
        "$@"
        tail -c "+$((half + 1))" "$archive" >&7 2>/dev/null
        exec 7>&-
        ;;
    copy)
        begin parcp "${FEW[@]}" "$a/want" "$a/got"
        wait_for 'n > before + (total - before) / of' got
        "$@"
        ;;
    remove)
        before=$(files_in want)
        begin parrm "${FEW[@]}" "$a/want"
        wait_for 'n < before - before / of' want
        "$@"
        ;;
    esac
}

kill_it() {
    kill -9 "$pid"
    finished
    # What it wrote is on its way to the server.
    sync
}

# succeeded NAME: the job that has just ended must have status 0.
succeeded() {
    ((status == 0)) || bad "$1" "status $status: $(tail -n 3 "$work/out")"
}

# in_the_middle NAME TREE: the fault was not after all was done.
in_the_middle() {
    local n
    n=$(files_in "$2")
    ((n > 0 && n < total)) || bad "$1" "$n of $total files: the fault was not in the middle"
}

