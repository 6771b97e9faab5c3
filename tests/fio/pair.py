"""Runs one line with both programs at the same time, each in a directory of its own, and counts checks. Leaves out what is compared."""

import json
import os
import shlex
import shutil
import subprocess
from concurrent import futures

from lines import REASONED

TIMEOUT_S = 60


class Tally:
    """Checks that passed and failed; each is a line."""

    def __init__(self):
        self.passed = self.failed = self.reasoned = 0

    def check(self, name, differences):
        """`differences`: what is not as it should be, as lines; none is a pass."""
        if name in REASONED:
            self.reasoned += 1
            print(f"differs {name}: {REASONED[name]}" if differences else f"agrees now {name}", flush=True)
            return
        if not differences:
            self.passed += 1
            print(f"ok {name}", flush=True)
            return
        self.failed += 1
        print(f"FAIL {name}", flush=True)
        for line in differences[:12]:
            print(f"    {line}", flush=True)
        if len(differences) > 12:
            print(f"    ... and {len(differences) - 12} more", flush=True)


class Ran:
    """How a program ended, and the files it left: {path: size}."""

    def __init__(self, done, dir):
        self.status, self.stdout, self.stderr, self.dir = done.returncode, done.stdout, done.stderr, dir

    def document(self):
        """The JSON document. fio puts notices ahead of it; `parfs load` may not."""
        text = self.stdout
        return json.loads(text[text.index("{") :] if self.is_fio else text)

    def files(self):
        found = {}
        for top, _dirs, names in os.walk(self.dir):
            for name in names:
                path = os.path.join(top, name)
                found[os.path.relpath(path, self.dir)] = os.path.getsize(path)
        return found


class Pair:
    """The two programs, and the directory where each line gets two of its own, `fio` and `ours`."""

    def __init__(self, fio, ours, work, jobs):
        self.fio, self.ours, self.work, self.jobs = fio, ours, work, jobs
        self.count = 0

    def run(self, line, before=None, stdin=None, env=None):
        """Runs `line` (words as a shell's, or a list) with both. `before(dir)` prepares each directory. fio's and ours."""
        words = shlex.split(line) if isinstance(line, str) else line
        self.count += 1
        with futures.ThreadPoolExecutor(2) as pool:
            runs = [pool.submit(self.one, which, words, before, stdin, env) for which in ("fio", "ours")]
            return [run.result() for run in runs]

    def one(self, which, words, before, stdin, env):
        dir = f"{self.work}/{self.count}/{which}"
        os.makedirs(dir)
        if before:
            before(dir)
        words = [word.replace("@JOBS", self.jobs) for word in words]
        program = self.fio if which == "fio" else self.ours
        environment = {**os.environ, "LC_ALL": "C", **(env or {})}
        try:
            done = subprocess.run(
                program + words,
                cwd=dir,
                env=environment,
                input=stdin,
                stdin=None if stdin is not None else subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=TIMEOUT_S,
            )
        except subprocess.TimeoutExpired:
            done = subprocess.CompletedProcess(words, "hangs", "", "")
        ran = Ran(done, dir)
        ran.is_fio = which == "fio"
        return ran

    def forget(self):
        """Removes what the lines so far left."""
        shutil.rmtree(self.work)
        os.mkdir(self.work)
