#!/usr/bin/env bash
# What README's recipes print: runs the command lines of README between "## Recipes" and "### Size mount targets" as they are there, against
# eight simulated mount targets of OCI's ceilings that answer in 1 ms, and prints each with its output.
#
#   benches/recipes.sh
#
# app.tar.zst, the application that is there before it, and the data set are 5,000 files of 1 to 16 KiB in 50 directories each; what is
# removed under a budget 10,000 files in 100. Served from /dev/shm. Wants python3.
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C
if [[ -z ${PARFS-} ]]; then
    cargo build --release --quiet
    PARFS=${CARGO_TARGET_DIR:-$PWD/target}/release/parfs
fi
PARFS=$(realpath "$PARFS")
# shellcheck source=benches/sim.sh
source benches/sim.sh
place recipes

mkdir -p "$work"/{bin,here,mnt/old,srv/export/apps,srv/export/scratch/tmp}
for name in parfs partar parcp parrm; do ln -s "$PARFS" "$work/bin/$name"; done
export PATH=$work/bin:$PATH

# tree DIR DIRS: 100 files of 1 to 16 KiB in each.
tree() {
    python3 - "$@" <<'END'
import os, random, sys
random.seed(1)
for d in range(int(sys.argv[2])):
    os.makedirs(f"{sys.argv[1]}/d{d:03}")
    for f in range(100):
        with open(f"{sys.argv[1]}/d{d:03}/f{f:02}", "wb") as file:
            file.write(random.randbytes(random.randint(1024, 16384)))
END
}
tree "$work/here/app" 50
cp -a "$work/here/app" "$work/srv/export/apps/app"
tree "$work/mnt/old/data" 50
tree "$work/srv/export/scratch/tmp/old" 100
partar --zstd -cf "$work/here/app.tar.zst" -C "$work/here" app

serve parfs --targets 8 --dir "$work/srv"
IFS=, read -ra hosts <<<"$(sed 's,^nfs://,,; s,/$,,' <<<"$url")"
there=() back=()
for i in {0..7}; do
    there+=(-e "s/10\.0\.0\.$((i + 5))\b/${hosts[i]}/g")
    back+=(-e "s/${hosts[i]}/10.0.0.$((i + 5))/g")
done
there+=(-e "s,/mnt/old,$work/mnt/old,g")

awk '/^## Recipes/ { on = 1 } /^### Size mount targets/ { exit }
    on && /^<!-- meanwhile: / { sub(/^<!-- meanwhile: /, ""); sub(/ -->$/, ""); gsub(/conf\/d/, "d000/f00"); gsub(/lib\/d/, "d001/f01"); print }
    on && /^```sh$/ { inside = 1; next }
    /^```$/ { inside = 0 }
    inside { print }' README.md >"$work/lines"
cd "$work/here"
while IFS= read -r line; do
    printf '\n$ %s\n' "$line"
    bash -o pipefail -c "$(sed "${there[@]}" <<<"$line")" </dev/null |& sed "${back[@]}" | sed "s,$work,,g"
done <"$work/lines"
