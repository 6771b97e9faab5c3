"""Shapes of outputs: JSON as a list of keys and kinds, human reports with their numbers masked. Leaves out what is compared, and why."""

import re

from lines import KNOWN


def keys(value, path="", verbatim=False):
    """Every key and value's kind, in order. Values of options are kept as they are; what the machine's speed decides is left out."""
    if isinstance(value, dict):
        found = []
        for key, inner in value.items():
            if key in KNOWN or (verbatim and inner == ""):
                continue  # 3.33 leaves flags without value out
            at = f"{path}/{key}"
            if key == "bins":
                found.append(f"{at}: {kinds(inner.values())}")
            elif key in ("iops", "bw") and isinstance(inner, list):
                found.append(f"{at}: {kinds(inner)}")
            else:
                found += keys(inner, at, verbatim or key in ("job options", "global options"))
        return found or [f"{path}: {{}}"]
    if isinstance(value, list):
        return [line for index, inner in enumerate(value) for line in keys(inner, f"{path}/{index}", verbatim)] or [f"{path}: []"]
    return [f"{path} = {value}" if verbatim else f"{path}: {type(value).__name__}"]


def kinds(values):
    return " ".join(sorted({type(value).__name__ for value in values}))


# What depends on how fast a run was: lines that come only when there was something to tell.
BY_SPEED = re.compile(r"^ +(bw \(|iops +:|lat \([num]sec\) +:)")
PERCENTILES = re.compile(r"^ +\| ")
STATUS = re.compile(r"^Jobs: \d+ \(f=")


def mask(line):
    line = re.sub(r"\((nsec|usec|msec)\)", "(time)", line)
    line = re.sub(r"(?<=: )\w{3} \w{3} [ \d]\d [\d:]{8} \d{4}", "DATE", line)
    line = re.sub(r"pid=\d+", "pid=#", line)
    line = re.sub(r"\b\d+(\.\d+)?[kMGT]?([KMGT]i?B|[KMGT]?B)(?=[/ ,)-]|$)", "#B", line)
    line = re.sub(r"\b\d+(\.\d+)?([KMGT]i|[kMGT])?bit/s(?=[ ,)-]|$)", "#bit/s", line)
    line = re.sub(r"(?<![\w.])\d+(\.\d+)?[kMGT]?(?![\w.])", "#", line)
    line = re.sub(r"mean=[\d.]+us", "mean=#us", line)
    line = re.sub(r"(?<=-)#msec|\d+-\d+msec", "#msec", line)
    line = re.sub(r"\d+msec", "#msec", line)
    line = re.sub(r"= +#", "=#", line)
    line = re.sub(r"\( *[kKMG]?i?B/s\)", "(B/s)", line)
    return re.sub(r"fio-\S+", "fio", line)


def human(text):
    """Lines of a report, masked; percentile blocks as their ranks in one line."""
    out, ranks = [], []
    for line in re.split(r"[\r\n]+", text):
        if PERCENTILES.match(line):
            ranks += re.findall(r"([\d.]+)th=\[ *\d+\]", line)
            continue
        if ranks:
            out.append("     | " + " ".join(ranks))
            ranks = []
        if not line.strip() or BY_SPEED.match(line) or STATUS.match(line):
            continue
        if line.startswith("  IO depths") or line.startswith("     submit") or line.startswith("     complete"):
            line = re.sub(r"[\d.]+%", "#%", line)
        line = re.sub(r"; 0 zone resets$", "", line)  # up to 3.41
        line = line.replace("fsync/fdatasync/sync_file_range/syncfs:", "fsync/fdatasync/sync_file_range:")  # 3.42
        line = re.sub(r"target=[\d.]+\w*, window=[\d.]+\w*", "target=#, window=#", line)  # with units since 3.42
        out.append(mask(line))
    return out


def by_speed(text):
    """The forms of lines that come only when there was something to tell."""
    found = set()
    for line in text.splitlines():
        if re.match(r"^ +(bw \(|iops +:)", line):
            found.add(re.sub(r"[\d.]+", "#", re.sub(r"= *", "=", re.sub(r"\( *[kKMG]?i?B/s\)", "(B/s)", line))))
        elif re.match(r"^ +lat \([num]sec\) +:", line):
            found.update(re.sub(r"=[\d.]+%", "=#%", line).split(":")[0:1])
    return found


def differences(fio, ours):
    """What differs between two lists of lines, as lines with `-` (fio's) and `+` (ours)."""
    import difflib

    lines = difflib.unified_diff(fio, ours, "fio", "ours", lineterm="", n=0)
    return [line for line in lines if not line.startswith(("---", "+++", "@@"))]
