"""Isolation of user programs by Linux: namespaces, a read-only view of files, and seccomp.

Functions run between fork and exec. The system-call filter needs no namespaces or Landlock and
closes their gaps: local sockets, calls that act outside of the program's memory and folder, and
ways around the filter: io_uring, x32, 32-bit calls, and calls newer than its table.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import platform
import signal
import struct
import sys
import time
from pathlib import Path

HIDDEN = ("/run", "/tmp", "/var/tmp", "/dev")
"""Folders that are empty for a program, but for what it needs of them."""

_USUAL_DEVICES = ("null", "zero", "full", "random", "urandom")
_OF_SYSTEM = ("/run/current-system", "/run/opengl-driver", "/run/opengl-driver-32")
"""Libraries of NixOS."""

_NEW_MOUNTS, _NEW_IPC, _NEW_USER = 0x00020000, 0x08000000, 0x10000000
_NEW_PROCESSES, _NEW_NETWORK = 0x20000000, 0x40000000
_NO_SETUID, _NO_DEVICES, _NO_EXECUTABLES, _BIND, _WITH_ALL_BELOW, _PRIVATE = 2, 4, 8, 4096, 16384, 1 << 18
_MOUNT_SETATTR, _HERE, _ALL_BELOW, _READ_ONLY = 442, -100, 0x8000, 1
_SET_PARENT_DEATH_SIGNAL, _SET_CHILD_SUBREAPER, _SET_NO_NEW_PRIVILEGES = 1, 36, 38
_DROP_FROM_BOUNDING_SET, _CAPABILITIES, _USE_FILES_OF_OTHERS = 24, 64, 1
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION, _BENEATH = 1, 1
_WRITE_FILE, _TRUNCATE, _REFER, _IOCTL = 1 << 1, 1 << 14, 1 << 13, 1 << 15
_OF_A_FILE = _WRITE_FILE | _TRUNCATE | _IOCTL
_CHANGES = sum(1 << bit for bit in range(4, 13))
"""Making and removing of every kind of file."""

_TRIES = 500

_BIND_AND_CONNECT, _SIGNALS_AND_ABSTRACT_SOCKETS = 3, 3

_libc = ctypes.CDLL(None, use_errno=True) if sys.platform.startswith("linux") else None


def separate() -> bool:
    """Enter new namespaces: no network, separate mounts, and no other processes visible to descendants; true
    on success."""
    if _libc is None:
        return False
    flags = _NEW_IPC | _NEW_PROCESSES | _NEW_NETWORK | _NEW_MOUNTS
    if os.geteuid() == 0:
        return _libc.unshare(flags) == 0
    user, group = os.geteuid(), os.getegid()
    if _libc.unshare(flags | _NEW_USER) != 0:
        return False
    # Whoever mounts something has to have a number in there.
    with contextlib.suppress(OSError):
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    return True


def narrow_view(
    folder: str,
    shown: tuple[str, ...],
    devices: tuple[str, ...],
    hidden: tuple[str, ...] = HIDDEN,
    *,
    names_threads: bool = False,
) -> bool:
    """From now on, all files but those of a folder are read-only with all their attributes, some folders are
    empty except for the parts that are shown, and `/proc` has the processes of this namespace alone; true on
    success. To be called after `separate`. A failure may leave a part of it in effect. `names_threads`: the
    program may write what `/proc` has of its own threads."""
    if _libc is None:
        return False
    places = [Path(each).resolve() for each in hidden if Path(each).is_dir()]
    wanted = (*shown, *_OF_SYSTEM, *(f"/dev/{each}" for each in _USUAL_DEVICES), *devices)
    kept = {Path(each): _handle(each) for each in wanted if _is_beneath(Path(each), places)}
    own, mask = _handle(folder), os.umask(0o022)
    try:
        _mount("none", "/", "", _WITH_ALL_BELOW | _PRIVATE)
        for each in dict.fromkeys(places):
            _mount("tmpfs", str(each), "tmpfs", _NO_SETUID | _NO_DEVICES, "mode=755,size=1m")
        for path, handle in sorted(kept.items()):
            _show(path, handle)
        _show(Path(folder), own)
        if Path("/dev").resolve() in places:
            Path("/dev/fd").symlink_to("/proc/self/fd")
            Path("/dev/shm").mkdir()
        _mount("proc", "/proc", "proc", _NO_SETUID | _NO_DEVICES | _NO_EXECUTABLES)
        writable = [folder]
        if names_threads:
            threads = f"/proc/{os.getpid()}/task"
            _mount(threads, threads, "", _BIND)
            writable.append(threads)
        _set_attributes("/", _ALL_BELOW, _READ_ONLY, 0)
        for place in writable:
            _set_attributes(place, 0, 0, _READ_ONLY)
        os.chdir(folder)
    except OSError:
        return False
    finally:
        os.umask(mask)
        for handle in (own, *kept.values()):
            os.close(handle)
    return True


def _is_beneath(path: Path, places: list[Path]) -> bool:
    """True if a path exists, and lies below one of some folders."""
    with contextlib.suppress(OSError):
        return path.exists() and any(each in path.resolve().parents for each in places)
    return False


def _show(path: Path, handle: int) -> None:
    """Mount an open file or folder at its original place, which may have been hidden."""
    place = path.resolve()
    if not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        if Path(f"/proc/self/fd/{handle}").is_dir():
            place.mkdir()
        else:
            place.touch()
    _mount(f"/proc/self/fd/{handle}", str(place), "", _BIND | _WITH_ALL_BELOW)


def _handle(path: str) -> int:
    return os.open(path, os.O_PATH | os.O_CLOEXEC)


def _mount(source: str, place: str, kind: str, flags: int, options: str = "") -> None:
    assert _libc is not None
    words = (source.encode(), os.fsencode(place), kind.encode() or None)
    if _libc.mount(*words, ctypes.c_ulong(flags), options.encode() or None) != 0:
        raise OSError(ctypes.get_errno(), f"{place} cannot be mounted")


def _set_attributes(place: str, flags: int, added: int, removed: int) -> None:
    """Set and clear attributes of a mount (Linux 5.12). It is busy for a moment where another process of this
    namespace reads a file, whose time of access is written."""
    assert _libc is not None
    wanted = struct.pack("QQQQ", added, removed, 0, 0)
    for _ in range(_TRIES):
        if _libc.syscall(_MOUNT_SETATTR, _HERE, os.fsencode(place), flags, wanted, len(wanted)) == 0:
            return
        if ctypes.get_errno() != errno.EBUSY:
            break
        time.sleep(0.002)
    raise OSError(ctypes.get_errno(), f"{place} cannot be made read-only")


def end_with_parent() -> None:
    """End when the process that started this one does."""
    if _libc is not None:
        _libc.prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)


def give_up_privileges() -> None:
    """Leave a process that stays root no privilege but to use files of others, once it is another program."""
    if _libc is not None and os.geteuid() == 0:
        for each in range(_CAPABILITIES):
            if each != _USE_FILES_OF_OTHERS:
                _libc.prctl(_DROP_FROM_BOUNDING_SET, each, 0, 0, 0)


def adopt_orphans() -> None:
    """Become the parent of descendants whose parents end."""
    if _libc is not None:
        _libc.prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def write_only_beneath(folder: str, devices: tuple[str, ...] = (), *, names_threads: bool = False) -> bool:
    """From now on, no file outside of a folder can be created, changed or removed, except for some usable
    devices and (`names_threads`) what `/proc` has of the threads of this process, and no process outside gets
    a signal (since Linux 6.12); true if the kernel enforces that (Landlock, since Linux 5.13)."""
    if _libc is None:
        return False
    version: int = _libc.syscall(_CREATE_RULESET, None, 0, _VERSION)
    if version < 1:
        return False
    handled = _WRITE_FILE | _CHANGES
    for needed, access in ((2, _REFER), (3, _TRUNCATE), (5, _IOCTL)):
        handled |= access if version >= needed else 0
    attributes = struct.pack("QQQ", handled, _BIND_AND_CONNECT, _SIGNALS_AND_ABSTRACT_SOCKETS)
    attributes = attributes[: 24 if version >= 6 else 16 if version >= 4 else 8]
    ruleset: int = _libc.syscall(_CREATE_RULESET, attributes, len(attributes), 0)
    if ruleset < 0:
        return False
    _allow(ruleset, folder, handled)
    for device in ("/dev/null", *devices):
        # One that is not there cannot be used anyhow.
        with contextlib.suppress(FileNotFoundError):
            _allow(ruleset, device, handled & _OF_A_FILE)
    if names_threads:
        _allow(ruleset, "/proc/self/task", handled & (_WRITE_FILE | _TRUNCATE))
    _libc.prctl(_SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    done: int = _libc.syscall(_RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)
    return done == 0


def _allow(ruleset: int, path: str, access: int) -> None:
    assert _libc is not None
    opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
    _libc.syscall(_ADD_RULE, ruleset, _BENEATH, struct.pack("=Qi", access, opened), 0)
    os.close(opened)


# --------------------------------------------------------------------------------------------------
# System calls that programs of the user may not make: a filter that Linux runs before each of them.
#
# Files, processes and the network are cut off by namespaces and Landlock where the kernel has them
# (`kernel.py`). This filter needs neither. It closes what they leave open: local sockets, which
# reach services of the user; the other system calls that act outside of the program's own memory
# and folder; and the interfaces by which a program would get around the filter: io_uring, x32,
# 32-bit calls, and calls that are newer than this table.
# --------------------------------------------------------------------------------------------------


_SECCOMP_SET_NO_NEW_PRIVILEGES, _SET_SECCOMP, _MODE_FILTER = 38, 22, 2
_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_LOAD, _AND, _RETURN = 0x20, 0x54, 0x06
_JUMP_EQUAL, _JUMP_AT_LEAST, _JUMP_ANY_BIT = 0x15, 0x35, 0x45
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16
_X32 = 0x40000000
_NEWEST = 462
"""The last number that these tables know (`mseal`, Linux 6.10): libraries do without newer calls."""

_UNIX, _KIND, _STREAM, _PACKETS = 1, 0xF, 1, 5
_NEW_NAMESPACES = 0x7E020000
_TERMINAL_INPUT, _CONSOLE = 0x5412, 0x541C
_SET_FLAGS, _SET_EXTENDED_FLAGS = 0x40086602, 0x401C5820

_MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
"""The column of a machine in the tables below, and the number of its system calls' architecture."""

Table = dict[str, tuple[int | None, int | None]]

CONDITIONAL: Table = {
    "socket": (41, 198),
    "socketpair": (53, 199),
    "clone": (56, 220),
    "ioctl": (16, 29),
}
REFUSED: Table = {
    # What a pair of sockets, or a socket that CUDA's driver listens on, could still reach.
    "connect": (42, 203),
    # Memory and files of other processes.
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "kcmp": (312, 272),
    "pidfd_getfd": (438, 438),
    "process_madvise": (440, 440),
    "process_mrelease": (448, 448),
    # Keys of the user's session.
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "request_key": (249, 218),
    # Mounts and namespaces.
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "move_mount": (429, 429),
    "open_tree": (428, 428),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "unshare": (272, 97),
    "setns": (308, 268),
    "open_by_handle_at": (304, 265),
    "name_to_handle_at": (303, 264),
    # The machine.
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "reboot": (169, 142),
    "acct": (163, 89),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "clock_adjtime": (305, 266),
    "adjtimex": (159, 171),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "iopl": (172, None),
    "ioperm": (173, None),
    "modify_ldt": (154, None),
    "syslog": (103, 116),
    "fanotify_init": (300, 262),
    "fanotify_mark": (301, 263),
    "vhangup": (153, 58),
}
ABSENT: Table = {
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    # Its flags lie in memory, where a filter cannot look: libraries fall back on `clone`.
    "clone3": (435, 435),
}
ATTRIBUTES: Table = {
    "chmod": (90, None),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "chown": (92, None),
    "fchown": (93, 55),
    "lchown": (94, None),
    "fchownat": (260, 54),
    "utime": (132, None),
    "utimes": (235, None),
    "futimesat": (261, None),
    "utimensat": (280, 88),
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "fsetxattr": (190, 7),
    "removexattr": (197, 14),
    "lremovexattr": (198, 15),
    "fremovexattr": (199, 16),
}
"""Calls that change a file which is open for reading only, and that Landlock lets through."""

SHARED_MEMORY: Table = {
    "shmget": (29, 194),
    "shmat": (30, 196),
    "shmctl": (31, 195),
    "msgget": (68, 186),
    "msgsnd": (69, 189),
    "msgrcv": (70, 188),
    "msgctl": (71, 187),
    "semget": (64, 190),
    "semop": (65, 193),
    "semtimedop": (220, 192),
    "semctl": (66, 191),
    "mq_open": (240, 180),
    "mq_unlink": (241, 181),
}
"""Calls that find objects by a number or a name of the whole machine, unless it has a namespace."""


def call_filter(
    *, attributes: bool, shared_memory: bool, device: bool, machine: str = platform.machine()
) -> bytes | None:
    """Program of a filter for a machine, `None` for an unsupported one. Changes of the attributes of files,
    and memory that processes share by its number, are let through or not. `device`: CUDA's driver listens on
    a local socket, to which no process can connect."""
    if machine not in _MACHINES or sys.byteorder != "little":
        return None
    column, architecture = _MACHINES[machine]

    def numbers(*tables: Table) -> list[int]:
        return [each for table in tables for pair in table.values() if (each := pair[column]) is not None]

    refused = [REFUSED, *([] if attributes else [ATTRIBUTES]), *([] if shared_memory else [SHARED_MEMORY])]
    ioctls = (_TERMINAL_INPUT, _CONSOLE, *(() if attributes else (_SET_FLAGS, _SET_EXTENDED_FLAGS)))
    socket, socketpair, clone, ioctl = numbers(CONDITIONAL)
    no_family = _ERRNO | errno.EAFNOSUPPORT
    local = _argument(0) + _unless(_JUMP_EQUAL, _UNIX, no_family) + _argument(1) + _step(_AND, _KIND)
    return b"".join(
        (
            _step(_LOAD, _ARCHITECTURE),
            _unless(_JUMP_EQUAL, architecture, _KILL),
            _step(_LOAD, _NUMBER),
            _when(_JUMP_AT_LEAST, _X32, _KILL) if machine == "x86_64" else b"",
            _when(_JUMP_AT_LEAST, _NEWEST + 1, _ERRNO | errno.ENOSYS),
            *(_when(_JUMP_EQUAL, each, _ERRNO | errno.ENOSYS) for each in numbers(ABSENT)),
            *(_when(_JUMP_EQUAL, each, _ERRNO | errno.EPERM) for each in numbers(*refused)),
            # Sockets for datagrams would send to any socket that has a name.
            _on_call(socketpair, local, _unless(_JUMP_EQUAL, _STREAM, no_family)),
            _on_call(
                socket,
                *((local, _when(_JUMP_EQUAL, _STREAM, _ALLOW)) if device else ()),
                *((_when(_JUMP_EQUAL, _PACKETS, _ALLOW),) if device else ()),
                _step(_RETURN, no_family),
            ),
            _on_call(clone, _argument(0) + _when(_JUMP_ANY_BIT, _NEW_NAMESPACES, _ERRNO | errno.EPERM)),
            _on_call(
                ioctl, _argument(1), *(_when(_JUMP_EQUAL, each, _ERRNO | errno.EPERM) for each in ioctls)
            ),
            _step(_RETURN, _ALLOW),
        )
    )


def install(program: bytes | None) -> bool:
    """Run a filter before every system call of this process and its children from now on; answers whether
    the kernel does."""
    if program is None or not sys.platform.startswith("linux"):
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    steps = ctypes.create_string_buffer(program, len(program))
    # struct sock_fprog: a length in steps of eight bytes, and a pointer.
    described = ctypes.create_string_buffer(struct.pack("@HP", len(program) // 8, ctypes.addressof(steps)))
    libc.prctl(_SECCOMP_SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    answer: int = libc.prctl(_SET_SECCOMP, _MODE_FILTER, described, 0, 0)
    return answer == 0


def _step(code: int, value: int, if_so: int = 0, if_not: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_so, if_not, value)


def _when(test: int, value: int, outcome: int) -> bytes:
    """Decide if the test of the loaded value succeeds, else go on."""
    return _step(test, value, 0, 1) + _step(_RETURN, outcome)


def _unless(test: int, value: int, outcome: int) -> bytes:
    """Decide if the test of the loaded value fails, else go on."""
    return _step(test, value, 1, 0) + _step(_RETURN, outcome)


def _argument(number: int) -> bytes:
    """Load the low half of an argument."""
    return _step(_LOAD, _FIRST_ARGUMENT + 8 * number)


def _on_call(number: int, *parts: bytes) -> bytes:
    """Steps that decide on one system call, and allow it where they leave it open."""
    steps = b"".join(parts) + _step(_RETURN, _ALLOW)
    return _step(_JUMP_EQUAL, number, 0, len(steps) // 8) + steps
