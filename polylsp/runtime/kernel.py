"""Isolation of a process by the Linux kernel: namespaces, a separate view of the files, and a list of folders
that it may write to. Every function here is called between fork and exec, in the process itself."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
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
    folder: str, shown: tuple[str, ...], devices: tuple[str, ...], hidden: tuple[str, ...] = HIDDEN
) -> bool:
    """From now on, all files but those of a folder are read-only with all their attributes, some folders are
    empty except for the parts that are shown, and `/proc` has the processes of this namespace alone; true on
    success. To be called after `separate`. A failure may leave a part of it in effect."""
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
        _set_attributes("/", _ALL_BELOW, _READ_ONLY, 0)
        _set_attributes(folder, 0, 0, _READ_ONLY)
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


def write_only_beneath(folder: str, devices: tuple[str, ...] = ()) -> bool:
    """From now on, no file outside of a folder can be created, changed or removed, except for some usable
    devices, and no process outside gets a signal (since Linux 6.12); true if the kernel enforces that
    (Landlock, since Linux 5.13)."""
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
    _libc.prctl(_SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    done: int = _libc.syscall(_RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)
    return done == 0


def _allow(ruleset: int, path: str, access: int) -> None:
    assert _libc is not None
    opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
    _libc.syscall(_ADD_RULE, ruleset, _BENEATH, struct.pack("=Qi", access, opened), 0)
    os.close(opened)
