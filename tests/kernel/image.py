"""What the bed boots: a User-Mode Linux kernel with knfsd, the NFSv3 client and time travel, built from Debian's source of
Linux 6.12, and a root file system of Debian packages as one cpio archive. Both are made once and kept in the cache folder.

Nothing is installed on this machine: packages are downloaded by apt-get and unpacked by dpkg-deb. What cannot be made is a
`Cannot` with its reason.
"""

import hashlib
import os
import platform
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import time

SOURCE = "linux-source-6.12"
CONFIG = """64BIT MULTIUSER SYSVIPC POSIX_MQUEUE POSIX_TIMERS FUTEX EPOLL SIGNALFD TIMERFD EVENTFD AIO IO_URING
    ADVISE_SYSCALLS MEMBARRIER CROSS_MEMORY_ATTACH KALLSYMS PRINTK PRINTK_TIME BUG BINFMT_ELF BINFMT_SCRIPT
    HIGH_RES_TIMERS NO_HZ_IDLE UML_TIME_TRAVEL_SUPPORT CC_OPTIMIZE_FOR_PERFORMANCE NAMESPACES UTS_NS IPC_NS PID_NS
    USER_NS NET_NS BLOCK BLK_DEV BLK_DEV_INITRD TTY UNIX98_PTYS STDERR_CONSOLE NULL_CHAN UML_RANDOM HOSTFS PROC_FS
    PROC_SYSCTL SYSFS SHMEM TMPFS TMPFS_POSIX_ACL TMPFS_XATTR DEVTMPFS FILE_LOCKING FHANDLE INOTIFY_USER NET UNIX
    PACKET INET NETDEVICES NET_CORE VETH NET_SCHED NET_SCH_NETEM NETWORK_FILESYSTEMS NFS_FS NFS_V3 NFS_V3_ACL NFSD
    NFSD_V3_ACL SECCOMP""".split()
# Stacks hold a process's floating-point state (below), twice in an interrupt.
NUMBERS = {"KERNEL_STACK_ORDER": 4}
PATCHES = (
    # 6.12's time travel panics ("time goes backwards") when an alarm is delivered after the clock was read past it; the alarm
    # must not set the clock back.
    (
        "arch/um/kernel/time.c",
        "\ttime_travel_set_time(time_travel_next_event);\n",
        "\tif (time_travel_next_event > time_travel_time)\n\t\ttime_travel_set_time(time_travel_next_event);\n",
    ),
    # The state that ptrace(2) sets has to be the processor's whole one, which has 11,008 bytes where there is AMX: the first process
    # was killed ("ptrace set fp regs failed"). More than there is is cut off by the host.
    (
        "arch/x86/um/user-offsets.c",
        "DEFINE_LONGS(HOST_FP_SIZE, 2696);",
        "DEFINE_LONGS(HOST_FP_SIZE, 12288);",
    ),
)
# Sources of no use here; their Kconfig files are needed.
PRUNED = ["drivers/gpu", "drivers/net/ethernet", "drivers/net/wireless", "drivers/media", "sound", "tools/testing", "Documentation"]

PACKAGES = """bash dash coreutils tar findutils grep sed mawk util-linux mount iproute2 procps diffutils busybox-static
    rpcbind libc-bin nfs-kernel-server nfs-common libgcc-s1""".split()
# What maintainer scripts and unused tools depend on.
SKIPPED = re.compile(
    r"(usrmerge|lib(file-find-rule|number-compare|text-glob)-perl|lsb-base|debconf|dpkg|adduser|passwd|ucf|sysv.*|init-.*"
    r"|media-types|libpam-modules.*|libsemanage.*|(lib)?python3.*|perl|perl-modules.*|libperl.*|libgdbm.*)$"
)
ETC = {
    "passwd": "root:x:0:0:root:/:/bin/bash\n_rpc:x:101:65534::/run/rpcbind:/bin/false\n"
    "statd:x:102:65534::/var/lib/nfs:/bin/false\nnobody:x:65534:65534::/:/bin/false\n",
    "group": "root:x:0:\ntty:x:5:\nnogroup:x:65534:\n",
    "hosts": "127.0.0.1 localhost bed\n",
    "nsswitch.conf": "".join(f"{n}: files\n" for n in ("passwd", "group", "hosts", "protocols", "services", "rpc")),
    "protocols": "ip 0 IP\nicmp 1 ICMP\ntcp 6 TCP\nudp 17 UDP\n",
    "services": "sunrpc 111/tcp portmapper\nsunrpc 111/udp portmapper\nnfs 2049/tcp\n",
    "rpc": "portmapper 100000 rpcbind\nnfs 100003\nmountd 100005\n",
}
APT = ["-o", "DPkg::Lock::Timeout=600", "-o", "APT::Install-Recommends=0", "-o", "APT::Sandbox::User=root", "-qq"]
# What building takes, and the package that brings it.
TOOLS = {
    "gcc": "gcc", "make": "make", "flex": "flex", "bison": "bison", "bc": "bc", "xz": "xz-utils", "perl": "perl-base",
    "/usr/include/stdio.h": "libc6-dev", "dpkg-deb": "dpkg",
}  # fmt: skip


class Cannot(Exception):
    """This machine cannot run the bed; the text says why in one line."""


def say(*words):
    print("bed:", *words, file=sys.stderr, flush=True)


def cache_folder():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.environ.get("PARFS_BED_CACHE") or os.path.join(base, "parfs-bed")


def require_machine():
    """Raises `Cannot` where nothing could be built or booted."""
    if platform.system() != "Linux" or platform.machine() != "x86_64":
        raise Cannot(f"needs Linux on x86_64; this is {platform.system()} on {platform.machine()}")
    if os.geteuid() != 0:
        raise Cannot("needs root: the VM mounts file systems and shares folders of the host as their owner")


def run(command, **kw):
    try:
        return subprocess.run(command, check=True, **kw)
    except (OSError, subprocess.CalledProcessError) as e:
        raise Cannot(f"{command[0]} failed: {e}") from e


def digest(*parts):
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:10]


class Image:
    """The kernel and the root file system, made when the cache lacks them."""

    def __init__(self):
        self.cache = cache_folder()
        os.makedirs(self.cache, exist_ok=True)

    def kernel(self):
        """Path of the kernel, an ordinary program."""
        path = f"{self.cache}/linux-{digest(SOURCE, CONFIG, NUMBERS, PATCHES)}"
        if not os.path.exists(path):
            self._build_kernel(path)
        return path

    def root(self, scripts):
        """Path of the root file system with `scripts`, {name in the archive: text}, in it."""
        packages = f"{self.cache}/packages-{digest(PACKAGES, SKIPPED.pattern, ETC)}.cpio"
        if not os.path.exists(packages):
            self._build_root(packages)
        path = f"{self.cache}/root-{digest(packages, scripts)}.cpio"
        if not os.path.exists(path):
            for old in os.listdir(self.cache):
                if old.startswith("root-"):
                    os.remove(f"{self.cache}/{old}")
            # The kernel unpacks archives that follow each other.
            with Cpio(path) as archive:
                with open(packages, "rb") as f:
                    shutil.copyfileobj(f, archive.out, 1 << 20)
                for name, text in scripts.items():
                    archive.add(name, 0o100755, text.encode())
        return path

    def _build_kernel(self, path):
        missing = sorted({p for tool, p in TOOLS.items() if not (shutil.which(tool) or os.path.exists(tool))})
        if missing:
            raise Cannot("building the kernel needs the packages " + " ".join(missing))
        version = dict(self._closure([SOURCE])).get(SOURCE)
        if version is None:
            raise Cannot(f"apt knows no {SOURCE}")
        say(f"building the kernel from {SOURCE} {version}, once: 3 to 6 minutes on two processors")
        start = time.time()
        with tempfile.TemporaryDirectory(dir=self.cache) as work:
            self._unpack(self._download([f"{SOURCE}={version}"], work)[0], work, f"./usr/src/{SOURCE}.tar.xz")
            run(["tar", "-xJf", f"{work}/usr/src/{SOURCE}.tar.xz", "-C", work, "--exclude=*.dts*",
                 "--exclude=*/arch/[a-tv-wyz]*/*.[chS]", *(f"--exclude=*/{d}/*.[ch]" for d in PRUNED)])  # fmt: skip
            source = f"{work}/{SOURCE}"
            for file, old, new in PATCHES:
                patch(f"{source}/{file}", old, new)
            config = [f"CONFIG_{c}=y\n" for c in CONFIG] + [f"CONFIG_{c}={n}\n" for c, n in NUMBERS.items()]
            with open(f"{work}/config", "w") as f:
                f.writelines(config)
            make = ["make", "-s", "ARCH=um", f"-j{os.cpu_count()}"]
            log = f"{self.cache}/build.log"
            with open(log, "w") as out:
                kw = dict(cwd=source, stdout=out, stderr=out, stdin=subprocess.DEVNULL)
                try:
                    run([*make, "allnoconfig"], env=dict(os.environ, KCONFIG_ALLCONFIG=f"{work}/config"), **kw)
                    with open(f"{source}/.config") as f:
                        have = f.read()
                    absent = [line.strip() for line in config if line not in have]
                    if absent:
                        raise Cannot("the kernel has no option " + " ".join(absent))
                    run([*make, "linux"], **kw)
                except Cannot as e:
                    raise Cannot(f"the kernel cannot be built: {e}; see {log}") from e
            run(["strip", "-o", f"{work}/stripped", f"{source}/linux"])
            os.rename(f"{work}/stripped", path)
        say(f"kernel built in {time.time() - start:.0f} s")

    def _build_root(self, path):
        names = [f"{p}={v}" for p, v in self._closure(PACKAGES) if not SKIPPED.match(p)]
        say(f"making the root file system of {len(names)} packages, once")
        with tempfile.TemporaryDirectory(dir=self.cache) as work:
            root = f"{work}/root"
            for d in ("bin", "sbin", "lib", "lib64"):
                os.makedirs(f"{root}/usr/{d}")
                os.symlink(f"usr/{d}", f"{root}/{d}")
            drop = [f"--exclude=./usr/share/{d}/*" for d in ("doc", "man", "locale", "info", "i18n")]
            for package in self._download(names, work):
                self._unpack(package, root, "--keep-directory-symlink", "--exclude=./usr/lib/*/gconv/*", *drop)
            for d in "proc sys dev run tmp mnt root etc bed/bin var/lib/nfs".split():
                os.makedirs(f"{root}/{d}", exist_ok=True)
            shutil.rmtree(f"{root}/var/run", ignore_errors=True)
            os.symlink("/run", f"{root}/var/run")
            for name, text in ETC.items():
                with open(f"{root}/etc/{name}", "w") as f:
                    f.write(text)
            links = {"usr/bin/awk": "mawk", "usr/bin/sh": "dash", "etc/mtab": "/proc/self/mounts"}
            for link, to in links.items():
                if not os.path.lexists(f"{root}/{link}"):
                    os.symlink(to, f"{root}/{link}")
            run(["ldconfig", "-r", root], stderr=subprocess.DEVNULL)
            with Cpio(path) as archive:
                archive.add("dev", 0o40755)
                archive.add("dev/console", 0o20600, device=(5, 1))
                archive.tree(root)

    def _closure(self, packages):
        """(package, version) of everything that `packages` need, counted from an empty system."""
        if not shutil.which("apt-get"):
            raise Cannot("needs apt-get and Debian's packages")
        lists = "/var/lib/apt/lists"
        if not os.path.isdir(lists) or not any("_Packages" in f for f in os.listdir(lists)):
            run(["apt-get", *APT, "update"], stdout=subprocess.DEVNULL)
        out = run(["apt-get", "-s", "-o", "Dir::State::status=/dev/null", "-o", "Debug::NoLocking=1",
                   "-o", "APT::Install-Recommends=0", "-y", "install", *packages],
                  capture_output=True, text=True).stdout  # fmt: skip
        return re.findall(r"^Inst (\S+) \((\S+)", out, re.M)

    def _download(self, names, work):
        """Fetches packages given as name=version into `work`; returns their files in any order."""
        run(["apt-get", *APT, "download", *names], cwd=work, stdout=subprocess.DEVNULL)
        files = [f"{work}/{f}" for f in os.listdir(work) if f.endswith(".deb")]
        if len(files) != len(names):
            raise Cannot(f"apt-get downloaded {len(files)} of {len(names)} packages")
        return files

    def _unpack(self, package, root, *options):
        with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package], stdout=subprocess.PIPE) as reader:
            run(["tar", "-x", "-C", root, *options], stdin=reader.stdout)
        if reader.returncode:
            raise Cannot(f"cannot unpack {os.path.basename(package)}")


def patch(path, old, new):
    with open(path) as f:
        text = f.read()
    if text.count(old) != 1:
        raise Cannot(f"{path} is not as the patch expects it")
    with open(path, "w") as f:
        f.write(text.replace(old, new))


class Cpio:
    """Writes a newc archive, all owned by root; it appears under its name when it is complete."""

    def __init__(self, path):
        self.path, self.inode = path, 0

    def __enter__(self):
        self.out = open(f"{self.path}.new", "wb")
        return self

    def __exit__(self, kind, *_):
        if kind is None:
            self.add("TRAILER!!!", 0)
        self.out.close()
        if kind is None:
            os.rename(f"{self.path}.new", self.path)

    def add(self, name, mode, data=b"", device=(0, 0)):
        self.inode += 1
        name = name.encode() + b"\0"
        fields = (self.inode, mode, 0, 0, 1, 0, len(data), 0, 0, *device, len(name), 0)
        head = "070701" + "".join("%08X" % x for x in fields)
        self.out.write(head.encode() + name + b"\0" * (-(110 + len(name)) % 4) + data + b"\0" * (-len(data) % 4))

    def tree(self, root):
        for top, dirs, files in os.walk(root):
            below = os.path.relpath(top, root)
            if below != ".":
                self.add(below, 0o40000 | stat.S_IMODE(os.lstat(top).st_mode))
            links = [d for d in dirs if os.path.islink(os.path.join(top, d))]
            dirs[:] = sorted(set(dirs) - set(links))
            for name in sorted(files + links):
                path, name = os.path.join(top, name), os.path.normpath(os.path.join(below, name))
                mode = os.lstat(path).st_mode
                if stat.S_ISLNK(mode):
                    self.add(name, 0o120777, os.readlink(path).encode())
                elif stat.S_ISREG(mode):
                    with open(path, "rb") as f:
                        self.add(name, 0o100000 | stat.S_IMODE(mode), f.read())
