"""The tables of tests/kernel/run, and the limits that the figures are held against.

A step's label is `LOAD JOB TOOL MOUNTS`. A limit that has no figures is not met: it says what is missing.
"""

import re

# What a tool's first of two columns in a table is called.
RIVAL = {"extract": "tar", "copy": "cp", "remove": "rm"}
LISTING = ("READDIR", "READDIRPLUS")
PRICED_BLOCK_BYTES = 32 * 1024


def price_list(source):
    """{operation as mountstats names it: IOPS}, from src/base/price.rs, the one place that has it."""
    with open(source) as f:
        text = f.read()
    body = re.search(r"base\[proc as usize\] = match proc \{(.*?)\n            \};", text, re.S)
    arms = re.findall(r"((?:\|?\s*Proc::\w+\s*)+)=> (\d+)", re.sub(r"//.*", "", body[1]) if body else "")
    prices = {name.upper(): int(iops) for names, iops in arms for name in re.findall(r"Proc::(\w+)", names)}
    if len(prices) < 22:
        raise ValueError(f"{source}: no price list found")
    return prices


class Figures:
    """The steps of one scene, by label."""

    def __init__(self, steps, files, prices, exact):
        self.steps = {s["label"]: s for s in steps if s["status"] == 0}
        self.files, self.prices, self.exact = files, prices, exact

    def step(self, label):
        return self.steps.get(label)

    def seconds(self, label):
        s = self.step(label)
        return s and s["seconds"]

    def ratio(self, slow, fast):
        a, b = self.seconds(slow), self.seconds(fast)
        return a / b if a and b else None

    def ops(self, label):
        """{operation: count}; of nfs:// what its own report says, as the kernel does not see it."""
        s = self.step(label)
        if s is None:
            return None
        if " direct " in f" {label} " and s["report"]:
            counts = {}
            for target in s["report"]["targets"]:
                for p in target["procedures"]:
                    counts[p["procedure"]] = counts.get(p["procedure"], 0) + p["calls"]
            return counts
        return s["ops"] or None  # nothing counted: no NFS

    def per_file(self, label, leave_out=()):
        counts = self.ops(label)
        if counts is None:
            return None
        return sum(n for op, n in counts.items() if op not in leave_out) / self.files[label.split()[0]]

    def price_per_file(self, label):
        """IOPS by the price list; NFSACL calls are not in it and cost nothing here. Files of these loads are at most one
        priced block, so that no WRITE or READ costs more than its base."""
        counts = self.ops(label)
        if counts is None:
            return None
        return sum(n * self.prices.get(op, 0) for op, n in counts.items()) / self.files[label.split()[0]]

    def share(self, label, cap):
        s = self.step(label)
        return s and s["ops_per_s"] / (cap * int(label.split()[3]))


def number(value, digits=1):
    return "-" if value is None else f"{value:.{digits}f}"


def by_name(figures, label):
    counts = figures.ops(label) or {}
    files = figures.files[label.split()[0]]
    shown = [f"{op} {n / files:.2f}" for op, n in sorted(counts.items(), key=lambda x: -x[1]) if n / files >= 0.005]
    return ", ".join(shown)


def table(figures, cap=None):
    """Lines: every step with its rate, its procedures for each file by name and their price."""
    head = f"{'load':<7}{'job':<8}{'by':<7}{'mounts':>6}{'s':>9}{'files/s':>9}{'procs/f':>8}{'IOPS/f':>7}"
    lines = [head + ("  %cap" if cap else "") + "  procedures for each file"]
    for label in figures.steps:
        part = label.split()
        if len(part) != 4 or part[0] not in figures.files:
            continue
        load, job, tool, mounts = part
        seconds = figures.seconds(label)
        line = f"{load:<7}{job:<8}{tool:<7}{mounts:>6}{seconds:>9.3f}{figures.files[load] / seconds:>9,.0f}"
        line += f"{number(figures.per_file(label), 2):>8}{number(figures.price_per_file(label), 1):>7}"
        line += f"{100 * figures.share(label, cap):>6.1f}" if cap else ""
        lines.append(line + "  " + by_name(figures, label))
    return lines


class Limit:
    """One of the limits: what is measured, its bound, whether it holds."""

    def __init__(self, text, value, bound, at_least=True, digits=1):
        self.text, self.value, self.bound, self.at_least, self.digits = text, value, bound, at_least, digits

    def met(self):
        return self.value is not None and (self.value >= self.bound if self.at_least else self.value <= self.bound)

    def line(self):
        value = "not measured" if self.value is None else number(self.value, self.digits)
        sign = ">=" if self.at_least else "<="
        return f"{'met' if self.met() else 'MISSED':<7}{self.text}: {value} ({sign} {self.bound})"


def tree(f):
    times = [("extract", 50), ("copy", 50), ("remove", 40)]
    limits = [Limit(f"tree {job}, times {RIVAL[job]}", f.ratio(f"tree {job} {RIVAL[job]} 1", f"tree {job} parfs 1"), bound)
              for job, bound in times] if f.exact else []  # fmt: skip
    limits.append(Limit("tree extract, procedures a file", f.per_file("tree extract parfs 1"), 3.2, False, 2))
    limits.append(Limit("tree copy, procedures a file beyond the listing", f.per_file("tree copy parfs 1", LISTING), 6.2, False, 2))
    limits.append(Limit("tree remove, procedures a file", f.per_file("tree remove parfs 1"), 1.3, False, 2))
    return limits


def flat(f):
    limits = []
    if f.exact:
        one = {job: f"flat {job} parfs 1" for job in RIVAL}
        limits = [
            Limit("flat extract, 4 mounts, times 1", f.ratio(one["extract"], "flat extract parfs 4"), 3.7),
            Limit("flat extract, 8 mounts, times 1", f.ratio(one["extract"], "flat extract parfs 8"), 7),
            Limit("flat extract, 8 mounts, times tar on 1", f.ratio("flat extract tar 1", "flat extract parfs 8"), 35),
            Limit("flat remove, 4 mounts, times 1", f.ratio(one["remove"], "flat remove parfs 4"), 1.9),
            Limit("flat remove, 8 mounts, times 1", f.ratio(one["remove"], "flat remove parfs 8"), 3.7),
            # Where two mounts would be slower than one, one is used; a hundredth is noise.
            Limit("flat remove, 2 mounts, times 1", f.ratio(one["remove"], "flat remove parfs 2"), 0.99, digits=2),
        ]
    limits.append(Limit("flat extract, 1 mount, procedures a file", f.per_file("flat extract parfs 1"), 3.2, False, 2))
    limits.append(Limit("flat remove, 1 mount, procedures a file", f.per_file("flat remove parfs 1"), 1.3, False, 2))
    return limits


def capped(f, cap):
    if not f.exact:
        return []
    limits = []
    for job in ("extract", "remove"):
        share = f.share(f"capped {job} parfs 1", cap)
        limits.append(Limit(f"capped {job}, 1 mount, % of the cap", share and 100 * share, 90))
        limits.append(Limit(f"capped {job}, 4 mounts, times 1", f.ratio(f"capped {job} parfs 1", f"capped {job} parfs 4"), 3.6, digits=2))
    return limits
