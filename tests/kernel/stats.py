"""What guest/step recorded, as figures: time, operations by mount, bytes. Reads /proc/self/mountstats as Linux prints it."""

import json
import os
import re


def mountstats(text):
    """({mount point: {operation: [ops, transmissions, timeouts, sent, received, queued, rtt, execution, errors]}},
    {connection: calls sent}). NFSACL calls have no line of their own; they are what a connection sent beyond the rest. Mounts
    that share a superblock show the same counters and are taken once."""
    mounts, sends, seen, current = {}, {}, set(), None
    for line in text.splitlines():
        device = re.match(r"device (\S+) mounted on (\S+) with fstype (\S+)", line)
        if device:
            name, point, kind = device.groups()
            current = {} if kind in ("nfs", "nfs4") else None
        elif current is None:
            continue
        elif connection := re.match(r"\s+xprt:\s+tcp (.*)", line):
            field = connection[1].split()
            key = (name, field[0])  # the client's port
            if key in seen and point not in mounts:
                current = None
                continue
            seen.add(key)
            mounts[point] = current
            sends[point, field[0]] = int(field[5])
        elif operation := re.match(r"\s+([A-Z][A-Z0-9_]+): ((?:\d+ ?)+)$", line):
            current[operation[1]] = [int(n) for n in operation[2].split()]
    return mounts, sends


def step(folder, dilate):
    """One step as a dict; times in the network's seconds, that is, divided by `dilate`."""

    def read(name):
        with open(os.path.join(folder, name)) as f:
            return f.read()

    found = {"label": read("label").strip(), "status": None}
    try:
        start, end, status = read("time").split()
    except (OSError, ValueError):
        return found  # cut short
    (before, sent_before), (after, sent_after) = mountstats(read("before")), mountstats(read("after"))
    seconds = (float(end) - float(start)) / dilate
    ticks = [[int(n) for n in read(f"processor-{when}").split()[1:9]] for when in ("before", "after")]
    spent = [b - a for a, b in zip(*ticks)]
    ops, by_mount, transmitted, written, sent, received = {}, {}, 0, 0, 0, 0
    for point, counters in after.items():
        for op, now in counters.items():
            then = before.get(point, {}).get(op, [0] * len(now))
            count = [b - a for a, b in zip(then, now)]
            if count[0]:
                ops[op] = ops.get(op, 0) + count[0]
                by_mount.setdefault(point, {})[op] = count[0]
                transmitted, sent, received = transmitted + count[1], sent + count[3], received + count[4]
                written += count[3] if op == "WRITE" else 0
    # A connection that was made anew counts from nothing.
    calls = sum(n - sent_before.get(key, 0) for key, n in sent_after.items())
    acl = calls - transmitted
    if acl > 0:
        ops["NFSACL"] = acl
    total = sum(ops.values())
    report = os.path.join(folder, "report")
    found.update(
        status=int(status), seconds=round(seconds, 6), ops_total=total, ops=dict(sorted(ops.items(), key=lambda x: -x[1])),
        ops_by_mount=by_mount, ops_per_s=round(total / seconds) if seconds else None, bytes_sent=sent,
        bytes_received=received, bytes_written=written, processor_busy=round(1 - (spent[3] + spent[4]) / max(1, sum(spent)), 3),
        report=json.loads(read("report")) if os.path.exists(report) and os.path.getsize(report) else None,
    )  # fmt: skip
    return found


def steps(folder, dilate):
    """All steps below `folder`, in the order in which they began."""
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    return [step(os.path.join(folder, name), dilate) for name in names]


def table(steps, out):
    print(f"{'step':<36}{'s':>9} {'rc':>3} {'cpu%':>4} {'ops':>8} {'ops/s':>7}  by operation", file=out)
    for s in steps:
        if s["status"] is None:
            print(f"{s['label']:<36}  not finished", file=out)
            continue
        ops = " ".join(f"{op}={n}" for op, n in s["ops"].items())
        print(f"{s['label']:<36}{s['seconds']:>9.3f} {s['status']:>3} {100 * s['processor_busy']:>4.0f} {s['ops_total']:>8} "
              f"{s['ops_per_s'] or 0:>7}  {ops}", file=out)  # fmt: skip
