"""The parts of tests/fio/run. Each runs its lines with both programs and counts what is equal."""

import math
import os
import re
import shutil
import subprocess

import shapes
from lines import BAD, CACHED, COMMON, COUNTED, FILLING, GOOD, LOGS, PUBLISHED, SHAPES, TRACED


def json_shapes(pair, tally, _full):
    for name, line in SHAPES.items():
        for form in ("json", "json+"):
            if form == "json+" and name not in ("psync", "mixed", "percentiles", "fsync"):
                continue
            fio, ours = pair.run(f"--output-format={form} {COMMON}{line}")
            try:
                walks = [shapes.keys(ran.document()) for ran in (fio, ours)]
                wrong = shapes.differences(*walks)
            except ValueError as error:
                wrong = [f"no document: {error}: {ours.status} {ours.stderr[:300]!r} {ours.stdout[:200]!r}"]
            tally.check(f"{form} {name}", wrong + ended(fio, ours))
    pair.forget()


def ended(fio, ours):
    wrong = []
    if fio.status != ours.status:
        wrong.append(f"exit status: fio {fio.status}, ours {ours.status} ({ours.stderr[:200]!r})")
    if bool(fio.stderr.strip()) != bool(ours.stderr.strip()):
        wrong.append(f"stderr: fio {fio.stderr[:200]!r}, ours {ours.stderr[:200]!r}")
    return wrong


def terse(pair, tally, _full):
    for name, line in SHAPES.items():
        for version in (2, 3, 4, 5):
            if version != 3 and name not in ("psync", "mixed", "groups", "continue", "described", "gtod_reduce"):
                continue
            fio, ours = pair.run(f"--minimal --terse-version={version} {COMMON}{line}")
            theirs, mine = (fields(ran.stdout) for ran in (fio, ours))
            wrong = [f"lines: fio {len(theirs)}, ours {len(mine)}"] if len(theirs) != len(mine) else []
            for a, b in zip(theirs, mine):
                if len(a) != len(b):
                    wrong.append(f"fields: fio {len(a)}, ours {len(b)}")
                for index, (x, y) in enumerate(zip(a, b), 1):
                    if kind(x) != kind(y):
                        wrong.append(f"field {index}: fio {x!r}, ours {y!r}")
            tally.check(f"terse v{version} {name}", wrong + ended(fio, ours))
    pair.forget()


def fields(text):
    return [line.split(";") for line in text.splitlines() if line.count(";") > 50]


def kind(field):
    """Of a terse field: how it is written, without its value."""
    rank = re.match(r"^([\d.]+%)=\d+$", field)
    if rank:
        return rank[1]
    for form, pattern in (("integer", r"^-?\d+$"), ("float", r"^-?\d+\.\d+$"), ("percent", r"^\d+\.\d+%$")):
        if re.match(pattern, field):
            return form + (field.split(".")[-1] and f" of {len(field.split('.')[-1])}" if form != "integer" else "")
    return re.sub(r"fio-\S+", "fio", field)


def human(pair, tally, _full):
    for name, line in SHAPES.items():
        fio, ours = pair.run(COMMON + line)
        wrong = shapes.differences(shapes.human(fio.stdout), shapes.human(ours.stdout))
        extra = shapes.by_speed(ours.stdout)
        known = shapes.by_speed(fio.stdout) | FORMS_BY_SPEED
        wrong += [f"+{line}" for line in sorted(extra - known)]
        tally.check(f"human {name}", wrong + ended(fio, ours))
    pair.forget()


FORMS_BY_SPEED = {
    "  lat (nsec)   ",
    "  lat (usec)   ",
    "  lat (msec)   ",
    "   bw (B/s): min=#, max=#, per=#%, avg=#, stdev=#, samples=#",
    "   iops        : min=#, max=#, avg=#, stdev=#, samples=#",
}


def refused(pair, tally, _full):
    for name, (line, words) in BAD.items():
        fio, ours = pair.run(line, env={"LINES": "1"})
        wrong = ended(fio, ours)
        if words and words not in ours.stderr + ours.stdout:
            wrong.append(f"{words!r} is not said: {ours.stderr[:200]!r}")
        if words and words not in fio.stderr + fio.stdout:
            wrong.append(f"fio does not say {words!r} either: {fio.stderr[:200]!r}")
        tally.check(f"refused {name}", wrong)
    for name, line in GOOD.items():
        fio, ours = pair.run(line)
        wrong = ended(fio, ours) + ([f"our status is {ours.status}"] if ours.status else [])
        if bool(fio.stdout.strip()) != bool(ours.stdout.strip()):
            wrong.append(f"stdout: fio {fio.stdout[:200]!r}, ours {ours.stdout[:200]!r}")
        tally.check(f"taken {name}", wrong)
    pair.forget()


def counts(document):
    """What a line determines: I/Os, bytes, short ones, syncs, errors, of all jobs."""
    found = {}
    for index, job in enumerate(document["jobs"]):
        for direction in ("read", "write", "trim"):
            for key in ("io_bytes", "total_ios", "short_ios", "drop_ios"):
                found[f"job {index} {direction} {key}"] = job[direction][key]
        found[f"job {index} sync total_ios"] = job["sync"]["total_ios"]
        found[f"job {index} error"] = job["error"]
        found[f"job {index} jobname"] = job["jobname"]
    return found


def compare_counts(fio, ours, tolerance):
    wrong = []
    try:
        theirs, mine = counts(fio.document()), counts(ours.document())
    except ValueError as error:
        return [f"no document: {error}: fio {fio.status} {fio.stderr[:200]!r}, ours {ours.status} {ours.stderr[:200]!r}"]
    for key in {**theirs, **mine}:
        a, b = theirs.get(key), mine.get(key)
        near = tolerance and isinstance(a, int) and isinstance(b, int) and abs(a - b) <= tolerance * max(a, b)
        if a != b and not near:
            wrong.append(f"{key}: fio {a}, ours {b}")
    return wrong


def compare_files(fio, ours):
    theirs, mine = fio.files(), ours.files()
    names = sorted({**theirs, **mine})
    # fio leaves the state of a verification behind, for a next run.
    names = [name for name in names if not name.endswith("-verify.state")]
    return [f"{name}: fio {theirs.get(name)}, ours {mine.get(name)}" for name in names if theirs.get(name) != mine.get(name)]


def counted(pair, tally, _full):
    for name, (line, tolerance, *before) in COUNTED.items():
        there = before[0] if before else {}

        def make(dir):
            for sub in ("d1", "d2"):
                if sub in line:
                    os.mkdir(f"{dir}/{sub}")
            for path, size in there.items():
                with open(f"{dir}/{path}", "wb") as file:
                    file.write(os.urandom(size))

        fio, ours = pair.run(f"--output-format=json {line}", before=make)
        wrong = [] if not {fio.status, ours.status} & {1} or fio.stdout else ended(fio, ours)
        wrong = wrong or compare_counts(fio, ours, tolerance) + compare_files(fio, ours) + ended(fio, ours)
        tally.check(f"counted {name}", wrong)
        pair.forget()


# Environment of job files.
ENVIRONMENT = {"PARFS_JOBS_SIZE": "64k", "PARFS_JOBS_NUMBER": "2"}


def jobs(pair, tally, _full):
    for name in sorted(os.listdir(pair.jobs)):
        if not name.endswith(".fio"):
            continue
        path = f"@JOBS/{name}"
        fio, ours = pair.run(f"--parse-only {path}", env=ENVIRONMENT)
        wrong = ended(fio, ours)
        shown_fio, shown_ours = pair.run(f"--showcmd {path}", env=ENVIRONMENT)
        if fio.status == 0:
            lines = [[re.sub(r"=[ \t]+", "=", line) for line in ran.stdout.splitlines() if line] for ran in (shown_fio, shown_ours)]
            wrong += shapes.differences(*lines)
        if ours.status == 0 and not wrong:
            fio, ours = pair.run(f"--output-format=json {path}", env=ENVIRONMENT)
            same = compare_counts(fio, ours, 0.25 if "random-mix" in name else 0) if fio.status != 1 else []
            wrong += ended(fio, ours) + same + compare_files(fio, ours)
        tally.check(f"job file {name}", wrong)
        pair.forget()


READERS = {
    # Name: job line's additions, shell words that read stdin, and what a good answer is.
    "YABS": ("--minimal", """awk -F';' '/;rt;|;read_throughput;|;write_throughput;|;iops-test-job;/ {print $7 + $48, $8 + $49}'""", r"^\d+ \d+$"),
    "dbench IOPS": ("", r"grep -E 'read ?:|write ?:' | grep -Eoi 'IOPS=[0-9k.]+' | cut -d= -f2", r"^[0-9k.]+$"),
    "dbench BW": ("", r"grep -E 'read ?:|write ?:' | grep -Eoi 'BW=[0-9GMKiBs/.]+' | cut -d= -f2", r"^[0-9GMKiBs/.]+$"),
    "dbench lat": ("", r"grep ' lat.*avg' | grep -Eoi 'avg=[0-9.k]+' | cut -d= -f2", r"^[0-9.k]+$"),
    "run status": ("", r"grep -E 'READ:|WRITE:' | awk '{print $2}' | cut -d= -f2 | cut -d, -f1", r"^[0-9.]+[KMG]iB/s$"),
    "decimal MB/s": ("", r"grep -E 'READ:|WRITE:' | awk -F'[()]' '{print $2}'", r"^[0-9.]+[kMG]B/s$"),
    "write IOPS": ("", r"grep -E '(read|write): IOPS=' | awk '{print $2}' | cut -d= -f2 | cut -d, -f1", r"^[0-9.]+k?$"),
    "LISA": ("", r"""python3 -c "import re, sys; print(re.search(r'IOPS=(?P<iops>.+?),.*?lat.+?avg=(?P<lat>.+?),', sys.stdin.read(), re.S).group('iops'))" """, r"^[0-9.]+k?$"),
    "jq-like": (
        "--output-format=json",
        """python3 -c "import json, sys; d = json.load(sys.stdin); j = d['jobs'][0]; o = {**d.get('global options', {}), **j['job options']}; """
        """print(j['read']['iops_mean'] + j['write']['iops_mean'], int(j['read']['bw'] + j['write']['bw']), o['iodepth'], o['bs'], o['rw'])" """,
        r"^[0-9.]+ \d+ \d+ \S+ rand\w+$",
    ),
    "cbt": (
        "--output-format=json,normal",
        """python3 -c "import json, sys; t = sys.stdin.read(); j = json.loads(t[t.index('{'):t.rindex('}') + 1]); print(len(j['jobs']))" """,
        r"^1$",
    ),
}


def published(pair, tally, full):
    def make(dir):
        os.mkdir(f"{dir}/D")
        with open(f"{dir}/F", "wb") as file:
            file.write(os.urandom(4 << 20))

    for name, line in PUBLISHED.items():
        for reader, (more, words, good) in READERS.items():
            if not full and name != "iops-test-job" and reader not in ("YABS", "run status"):
                continue
            fio, ours = pair.run(f"{line.replace('runtime=2', 'runtime=1')} {more}", before=make)
            wrong = ended(fio, ours)
            for ran in (fio, ours):
                text = re.sub(r"^note: both iodepth.*\n", "", ran.stdout)
                read = subprocess.run(["bash", "-c", words], input=text, capture_output=True, text=True)
                if not re.match(good, read.stdout.strip()):
                    wrong.append(f"{'fio' if ran.is_fio else 'ours'}: {read.stdout[:200]!r} {read.stderr[:200]!r}")
            tally.check(f"published {name}, {reader}", wrong)
        pair.forget()
    version = pair.run("--version")
    cut = [ran.stdout.split(".")[0] for ran in version]
    tally.check("published version", [] if cut == ["fio-3", "fio-3"] else [str(cut)])


def logs(pair, tally, _full):
    for name, (line, is_exact) in LOGS.items():
        fio, ours = pair.run(f"{COMMON}{line}")
        wrong = ended(fio, ours)
        theirs, mine = (log_files(ran) for ran in (fio, ours))
        for file in sorted({**theirs, **mine}):
            if file not in theirs or file not in mine:
                wrong.append(f"{file}: only {'fio' if file in theirs else 'ours'} has it")
                continue
            (lines, columns), (our_lines, our_columns) = theirs[file], mine[file]
            if columns != our_columns:
                wrong.append(f"{file}: fio's columns are {columns}, ours {our_columns}")
            if is_exact and lines != our_lines:
                wrong.append(f"{file}: fio has {lines} lines, ours {our_lines}")
        tally.check(f"logs {name}", wrong)
    line = "--name=a --rw=randread --size=16m --write_lat_log=l --output-format=json --percentile_list=1:50:90:99:99.9"
    for ran in pair.run(line):
        wrong = []
        with open(f"{ran.dir}/l_clat.1.log") as file:
            exact = sorted(int(line.split(",")[1]) for line in file)
        for rank, value in ran.document()["jobs"][0]["read"]["clat_ns"]["percentile"].items():
            at = exact[max(0, math.ceil(len(exact) * float(rank) / 100 - 1e-9) - 1)]
            if abs(value - at) > at / 128 + 1:
                wrong.append(f"{rank}: {value}, exact {at}")
        tally.check(f"percentiles against the log, {'fio' if ran.is_fio else 'ours'}", wrong)
    pair.forget()


def log_files(ran):
    """Of each log file: how many lines, and what stands in their columns."""
    found = {}
    for name in ran.files():
        if name.endswith(".log"):
            with open(f"{ran.dir}/{name}") as file:
                lines = file.read().splitlines()
            # A histogram's row is long; its bins are told by their number.
            forms = {re.sub(r"(\d+, ){20,}\d+", "bins", re.sub(r"0x[0-9a-f]+", "hex", line)) for line in lines}
            columns = sorted({re.sub(r"\d+", "#", form) for form in forms})
            found[name] = len(lines), columns
    return found


def replayed(pair, tally, _full):
    """Each program's log of I/O is replayed by both; all four replays do what the log says."""
    line = "--name=a --filename=f:g --size=64k --bs=4k --rw=randrw --number_ios=12 --fsync=4 --write_iolog=log"
    logs = {}
    for ran in pair.run(line):
        with open(f"{ran.dir}/log") as file:
            logs["fio" if ran.is_fio else "ours"] = file.read()
    logs["version 2"] = "fio version 2 iolog\nf add\nf open\nf write 0 4096\nf wait 1 0\nf write 4096 8192\nf sync 0 0\nf close\n"

    def make(dir, log):
        with open(f"{dir}/log", "w") as file:
            file.write(log)
        for name in "fg":
            with open(f"{dir}/{name}", "wb") as file:
                file.write(bytes(64 << 10))

    for whose, log in logs.items():
        said = [len(re.findall(rf" {word} \d+ \d+$", log, re.M)) for word in ("read", "write", "sync")]
        wrong = []
        for ran in pair.run("--name=r --read_iolog=log --output-format=json", before=lambda dir, log=log: make(dir, log)):
            if ran.status != 0:
                wrong.append(f"{'fio' if ran.is_fio else 'ours'} ends with {ran.status}: {ran.stderr[:200]}")
                continue
            job = ran.document()["jobs"][0]
            did = [job[part]["total_ios"] for part in ("read", "write", "sync")]
            if did != said:
                wrong.append(f"{'fio' if ran.is_fio else 'ours'} did {did}, the log says {said}")
        tally.check(f"replayed log of {whose}", wrong)
    pair.forget()


def traced(pair, tally, _full):
    """What is told of each I/O as it is given to the engine and as it ends; of syncs that there was one, as fio's have what is left of the I/O before."""
    step = re.compile(r"^io +\d+ +(queue|complete): io_u 0x[0-9a-f]+: (off=\S+)$", re.M)
    for name, line in TRACED.items():
        fio, ours = pair.run(f"--debug=io {COMMON}{line}")
        told = [[" ".join(found) for found in step.findall(ran.stdout)] for ran in (fio, ours)]
        told = [[re.sub(r"off=\S+,(ddir=3)", r"\1", line) for line in lines] for lines in told]
        wrong = shapes.differences(*told) or ([] if told[0] else ["nothing is told"])
        tally.check(f"traced {name}", wrong + ended(fio, ours))
    pair.forget()


def cached(pair, tally, _full):
    """Which parts of a file are dropped from the cache, and how often: strace(1) sees it."""
    strace = shutil.which("strace")
    if strace is None:
        print("cached: strace is not installed: left out", flush=True)
        return
    trace = [strace, "-f", "-y", "-e", "trace=fadvise64", "-o", "trace"]
    pair.fio, pair.ours = trace + pair.fio, trace + pair.ours
    common, mib = "--output-format=json --name=a --filename=F --bs=64k ", 1 << 20

    def make(dir):
        with open(f"{dir}/F", "wb") as file:
            file.write(os.urandom(mib))

    def drops(ran):
        with open(f"{ran.dir}/trace", encoding="utf-8") as file:
            return re.findall(r"/F>, (\d+, \d+), POSIX_FADV_DONTNEED", file.read())

    for name, line in CACHED.items():
        fio, ours = pair.run(common + line, before=make)
        theirs, mine = drops(fio), drops(ours)
        wrong = [f"fio dropped {theirs}, ours {mine}"] if theirs != mine else []
        tally.check(f"cached {name}", wrong + ended(fio, ours))
    for name, line in FILLING.items():
        fio, ours = pair.run(f"{common}{line} --time_based --runtime=1", before=make)
        wrong = []
        for whose, ran in (("fio", fio), ("ours", ours)):
            (job,) = ran.document()["jobs"]
            passes = math.ceil((job["read"]["io_bytes"] + job["write"]["io_bytes"]) / mib)
            found = len(drops(ran))
            # A last I/O may have been chosen and not carried out.
            if found not in (passes, passes + 1):
                wrong.append(f"{whose}: {found} drops in {passes} passes")
        tally.check(f"cached {name}", wrong + ended(fio, ours))
    pair.forget()


PARTS = {
    "json": json_shapes,
    "terse": terse,
    "human": human,
    "refused": refused,
    "counted": counted,
    "jobs": jobs,
    "published": published,
    "logs": logs,
    "replayed": replayed,
    "traced": traced,
    "cached": cached,
}
