# shellcheck shell=bash disable=SC2154
# Law 3 on kernel mounts: the procedures that parfs says it issues (src/mounts/local/lower.rs) against what the kernel counted,
# side by side, for extraction, copy and removal on one mount and on four. A procedure may be off by 5 %, or by 1 % of all (or 20)
# where it is a rare one: lanes that enter a directory at once each ask whether they may. On four mounts it hangs on
# who is first what one mount asks anew because of another's changes (LOOKUP, ACCESS): what is off there is printed as MISSED.

# law3 NAME REPORT MOUNTS: the two columns, and whether they agree.
law3() {
    if awk -v name="$1" '
        { gsub(/[",]/, "") }
        $1 == "procedure:" { procedure = $2 }
        $1 == "planned:" { planned[procedure] += $2 }
        $1 == "sent:" { sent[procedure] += $2; all += $2 }
        END {
            printf "   %-32s %9s %9s\n", name, "planned", "sent"
            for (p in sent) {
                off = planned[p] - sent[p]
                size = off < 0 ? -off : off
                wrong = size > 0.05 * sent[p] && size > 0.01 * all && size > 20
                printf "   %-32s %9d %9d%s\n", p, planned[p], sent[p], wrong ? "  off by " off : ""
                bad += wrong
            }
            exit (bad > 0 || all == 0)
        }' "$2"; then
        ok "law 3: $1"
    elif [[ $3 -gt 1 ]]; then
        printf 'MISSED law 3: %s\n' "$1"
    else
        bad "law 3: $1" "planned is not what was sent"
    fi
}

# counted K LABEL PROGRAM ARGUMENT...: a run over K mounts from cold caches, and its law.
counted() {
    local k=$1 label=$2
    shift 2
    cold
    rm -f "$work/report"
    if over "$k" "$@" --report "$work/report" && "${cmd[@]}" >"$work/out" 2>&1; then
        law3 "$label, $k mounts" "$work/report" "$k"
    else
        bad "$label, $k mounts" "$(tail -n 3 "$work/out")"
    fi
}

for k in 1 4; do
    can "$k" || continue
    fresh
    a=${dirs[0]}
    for load in tree flat; do
        counted "$k" "$load: extract" partar -xf "$INPUT/$load.tar" -C "$a"
        counted "$k" "$load: copy" parcp "$a/$load" "$a/copy"
        counted "$k" "$load: copy again" parcp "$a/$load/" "$a/copy/"
        counted "$k" "$load: remove" parrm -r "$a/copy"
        rm -rf "${served:?}/$load"
    done
done
