# shellcheck shell=bash disable=SC2154,SC2034
# What goes wrong first where several mounts of one export are used at once, each of which believes for a minute what it knows of a
# directory: directories that are moved away and made anew by others, before a run and in the middle of it; large files in ranges and
# hard links over files that each mount has read; runs that are killed again and again. What is there afterwards is seen
# through each mount.

# shellcheck source-path=SCRIPTDIR source=middle.sh
. "$KERNEL/scenes/middle.sh"
echo "several: $k mounts"

# know TREE: each mount learns its directories and what is in them.
know() {
    local dir
    for dir in "${dirs[@]}"; do ls -lR "$dir/$1" >/dev/null; done
}

# sums TREE: the files below it as they are at the server.
sums() {
    (cd "$served/$1" && find . -type f -print0 | sort -z | xargs -0 -r sha256sum)
}

# untouched NAME TREE SUMS: nothing in it was removed or written.
untouched() {
    undelayed sums "$2" >"$work/sums.now"
    if cmp -s "$3" "$work/sums.now"; then
        ok "$1"
    else
        bad "$1" "$(first_difference "$3" "$work/sums.now")"
    fi
}

# swap TREE D OTHER: D of TREE is moved away to saved/ through another mount, and a D of others' files is made there: of some of the
# names that were or come there, and one more. The run's mounts are not told. Sets names.
swap() {
    local in=${dirs[$3]} name
    mapfile -t names < <(cd "$served/want/$2" && find . -type f -name 'f*0' -printf '%f\n' | sort)
    ls "$in/$1" >/dev/null
    mkdir -p "$in/saved"
    mv "$in/$1/$2" "$in/saved/$2"
    mkdir "$in/$1/$2"
    for name in "${names[@]}" others; do echo "precious $name" >"$in/$1/$2/$name"; done
}

# least TREE, most TREE: its directory with the fewest, the most files now; of those with files, for one that was only just made the run
# has not entered: mkdir(2) does not say what it made, and what is there under its name a moment later is taken for that.
by_files() {
    local d
    for d in "$served/$1"/d?; do [[ ! -d $d ]] || echo "$(find "$d" -type f | wc -l) ${d##*/}"; done | sort -n
}
least() { by_files "$1" | grep -v '^0 ' | head -n 1 | cut -d ' ' -f 2; }
most() { by_files "$1" | tail -n 1 | cut -d ' ' -f 2; }

# swap_midway TREE WHICH OTHER: what is done in the middle of a run, which waits meanwhile: without delays it would be over first. Sets d.
swap_midway() {
    kill -STOP "$pid"
    rtt off
    d=$("$2" "$1")
    swap "$1" "$d" "$3"
    sums "$1/$d" >"$work/sums.new"
    rtt start
    kill -CONT "$pid"
}

# Before the run: each mount knows the old directory by the name that the new one has now.
swapped_before() {
    prepare
    undelayed know want
    swap want d1 1
    undelayed sums saved >"$work/sums.saved"
    again parcp "$a/want/d1" "$a/got/copy"
    succeeded "copy of a directory that was put in another's place"
    undelayed sums want/d1 >"$work/sums.new"
    untouched "a copy is of the new directory" got/copy "$work/sums.new"
    untouched "and leaves what was moved away" saved "$work/sums.saved"

    prepare
    undelayed know want
    swap want d1 2
    undelayed sums saved >"$work/sums.saved"
    again partar -xf "$archive" -C "$a/want"
    succeeded "extraction over a directory that was put in another's place"
    untouched "extraction leaves what was moved away" saved "$work/sums.saved"
    if [[ $(cat "$served/want/d1/others") == "precious others" ]]; then
        ok "and what others put beside its members"
    else
        bad "extraction" "others' file is gone"
    fi
    (cd "$served/want/d1" && sha256sum "${names[@]}") >"$work/sums.members"
    if (cd "$served/saved/d1" && sha256sum --quiet -c "$work/sums.members") >"$work/logs/members" 2>&1; then
        ok "and its members are in the new directory"
    else
        bad "extraction" "members are not the archive's: $(head -n 2 "$work/logs/members")"
    fi

    prepare
    undelayed know want
    swap want d1 3
    undelayed sums saved >"$work/sums.saved"
    again parrm "$a/want"
    succeeded "removal of a tree with a directory that was put in another's place"
    undelayed gone "it is gone" want
    untouched "removal leaves what was moved away" saved "$work/sums.saved"
}

# In the middle of the run. A directory that the run has entered it may go on with where that is now, as rm -rf does. What it
# never met it must not touch: the new directory's files, unless it says that all is done and that directory was met as part of it.
swapped_midway() {
    local name
    prepare
    midway extract swap_midway got least 1
    finished
    untouched "swapped in an extraction: the new directory's files stay as they are" "got/$d" "$work/sums.new"
    # Each member is whole in one of the two, or named.
    (cd "$served/want/$d" && sha256sum f*) >"$work/sums.old"
    (cd "$served/saved/$d" && sha256sum --quiet -c "$work/sums.old" 2>/dev/null) | sed 's/: .*//' >"$work/broken"
    while read -r name; do grep -qF "$d/$name" "$work/out" || echo "$name"; done <"$work/broken" >"$work/lost"
    if [[ ! -s $work/lost ]]; then
        ok "swapped in an extraction: each member is where its directory is, or named ($(wc -l <"$work/broken") named, status $status)"
    else
        bad "swapped in an extraction" "$(wc -l <"$work/lost") members lost, as $(head -n 1 "$work/lost")"
    fi

    prepare
    midway remove swap_midway want most 2
    finished
    if ((status == 0)); then
        undelayed gone "swapped in a removal: the new directory was met as a part of the tree" want
    else
        untouched "swapped in a removal: the new directory's files stay as they are (status $status)" "want/$d" "$work/sums.new"
    fi

    prepare
    midway copy swap_midway got least 3
    finished
    untouched "swapped in a copy: the new directory's files stay as they are (status $status)" "got/$d" "$work/sums.new"
}

# Data that a program wrote through another mount before the run, and that its client has not sent yet, is older than what the run writes.
data_before() {
    local writer size=3145728
    if ((k == 1)); then
        echo "left out: data on its way through another mount, of one"
        return
    fi
    rtt off
    fresh
    mkdir "$served/want" "$served/got"
    head -c "$size" /dev/urandom >"$served/want/f"
    echo old >"$served/got/f"
    cold
    rtt start
    rm -f "$work/pipe" && mkfifo "$work/pipe"
    dd of="${dirs[k - 1]}/got/f" bs=64k iflag=fullblock conv=notrunc <"$work/pipe" 2>/dev/null &
    writer=$!
    exec 7>"$work/pipe"
    head -c "$size" /dev/zero >&7
    until grep -q "pos:[[:space:]]*$size" "/proc/$writer/fdinfo/1" || ! kill -0 "$writer"; do sleep 0.01; done
    [[ $(head -c 3 "$served/got/f") == old ]] || bad "data on its way" "the server has it already, or the writer has ended"
    again parcp "$a/want" "$a/got"
    succeeded "copy over a file with data on its way"
    # Closing sends what is left.
    kill -9 "$writer"
    wait "$writer" 2>/dev/null || true
    exec 7>&-
    undelayed cold
    if cmp -s "$served/want/f" "$served/got/f"; then
        ok "what was written through another mount before a copy does not come after it"
    else
        bad "data before a copy" "it was written over the copy"
    fi
}

# Files of 5 and 40 MiB with holes and hard links, written again in their places, over what each mount has read of them.
large() {
    local dir name
    rtt off
    fresh
    mkdir "$served/one" "$served/two"
    (
        cd "$served/one" || exit 1
        tar -xOf "$INPUT/odd.tar" large/forty >forty
        tar -xOf "$INPUT/odd.tar" large/five >five
        mkdir links
        for i in $(seq 40); do
            head -c $((i * 3000)) five >"links/f$i"
            ln "links/f$i" "links/same$i"
            ln "links/f$i" "also$i"
        done
        ln forty links/forty
        cp -a forty changed
    )
    cp -a "$served/one/." "$served/two"
    # The same sizes, other bytes, later times; the one is what the other must become.
    (
        cd "$served/one" || exit 1
        for i in 0 9 17 33 39; do tail -c +$((i * 1000 + 1)) five | head -c 900000 | dd of=forty bs=1M iflag=fullblock seek="$i" conv=notrunc status=none; done
        for i in $(seq 1 3 40); do tr 'a-y' 'b-z' <five | head -c $((i * 3000)) >"links/f$i"; done
        touch -d '2031-01-01 01:01:01.5Z' forty links/f* five
    )
    manifest "$served/one" >"$work/want"
    # Each mount has the old data in its cache.
    for dir in "${dirs[@]}"; do (cd "$dir/two" && find . -type f -print0 | xargs -0 cat >/dev/null); done
    rtt start
    again parcp "$a/one/" "$a/two/"
    succeeded "large files and links, copied over what each mount has read"
    rtt off
    # Without asking for it: opening shows what was written (close-to-open).
    (cd "$served/one" && find . -type f -print0 | sort -z | xargs -0 sha256sum) >"$work/sums.one"
    for dir in "${dirs[@]}"; do
        (cd "$dir/two" && find . -type f -print0 | sort -z | xargs -0 sha256sum) >"$work/sums.two"
        if cmp -s "$work/sums.one" "$work/sums.two"; then
            ok "large files and links: what was written is read through ${dir%/*} at once"
        else
            bad "large files and links, through ${dir%/*}" "$(first_difference "$work/sums.one" "$work/sums.two")"
        fi
    done
    same_everywhere "large files and links, copied over what each mount has read" "$work/want" two
    rtt start
}

# replaced_by NAME COMMAND...: without delays, so that all of it is within a tick or two of the server's clock: what a mount asks anew of a
# directory then shows it nothing new. The command makes got/ what want/ is.
replaced_by() {
    local name=$1
    shift
    manifest "$served/want" >"$work/want"
    cold
    again "$@"
    succeeded "$name"
    same_everywhere "$name" "$work/want" got
}

# What has a name that another object had a moment ago: the target of a hard link, and a file in place of a directory.
replaced() {
    local i round
    rtt off
    for round in 1 2 3; do
        fresh
        mkdir "$served/want" "$served/got"
        for i in {1..60}; do
            echo "new $i" >"$served/want/z$i"
            echo old >"$served/got/z$i"
            ln "$served/want/z$i" "$served/want/c$i"
            ln "$served/got/z$i" "$served/got/c$i"
        done
        touch -d '2031-01-01Z' "$served/want/"* # whole seconds, as the archive has them
        tar -cf "$work/links.tar" -C "$served/want" .
        replaced_by "hard links to files that replace others, extracted ($round)" partar -xf "$work/links.tar" -C "$a/got"
        fresh
        mkdir "$served/want" "$served/got"
        for i in {1..24}; do
            echo "new $i" >"$served/want/x$i"
            ln "$served/want/x$i" "$served/want/y$i"
            mkdir "$served/got/x$i"
            touch "$served/got/x$i/f"{1..60}
            echo old >"$served/got/y$i"
        done
        replaced_by "files in place of directories, copied ($round)" parcp --atomic --delete "$a/want/" "$a/got/"
    done
    rtt start
}

# Killed when a quarter of what was left is done, and begun again, three times.
killed_again() {
    local part parts=4
    prepare
    for part in 1 2 3; do
        ((part == 1)) || OPTIONS=(--resume)
        midway extract kill_it
        in_the_middle "extraction killed for the $part. time" got
    done
    OPTIONS=()
    again partar --resume -xf "$archive" -C "$a/got"
    succeeded "extraction killed three times"
    undelayed same_everywhere "extraction killed three times, resumed" "$work/want" got

    prepare
    for part in 1 2 3; do
        midway copy kill_it
        in_the_middle "copy killed for the $part. time" got
    done
    again parcp "$a/want" "$a/got"
    succeeded "copy killed three times"
    undelayed same_everywhere "copy killed three times, run again" "$work/want" got

    prepare
    for part in 1 2 3; do
        midway remove kill_it
        in_the_middle "removal killed for the $part. time" want
    done
    again parrm "$a/want"
    succeeded "removal killed three times"
    undelayed gone "removal killed three times, run again" want
    if [[ -z $(find "$served" -name '.parfs-*') ]]; then ok "no name of a proof is left"; else bad "killed" "a proof's name is left"; fi
}

if [[ -z ${BED-} ]]; then
    echo "left out: the server's side is at hand in the bed only"
    return
fi
swapped_before
swapped_midway
data_before
large
replaced
killed_again
