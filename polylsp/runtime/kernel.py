"""What the Linux kernel cuts off from a process: names of its own for network and processes, and a list
of folders that it may write to. Everything here is called between fork and exec, in the process itself."""

from __future__ import annotations

import ctypes
import os
import signal
import struct
import sys

_NEW_IPC, _NEW_USER, _NEW_PROCESSES, _NEW_NETWORK = 0x08000000, 0x10000000, 0x20000000, 0x40000000
_SET_PARENT_DEATH_SIGNAL, _SET_CHILD_SUBREAPER, _SET_NO_NEW_PRIVILEGES = 1, 36, 38
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION, _BENEATH = 1, 1
_WRITE_FILE, _TRUNCATE, _REFER, _IOCTL = 1 << 1, 1 << 14, 1 << 13, 1 << 15
_OF_A_FILE = _WRITE_FILE | _TRUNCATE | _IOCTL
_CHANGES = sum(1 << bit for bit in range(4, 13))
"""Making and removing of every kind of file."""

_libc = ctypes.CDLL(None, use_errno=True) if sys.platform.startswith("linux") else None


def separate() -> bool:
    """No network from now on, and no other processes for what is forked; answers whether it worked."""
    if _libc is None:
        return False
    flags = _NEW_IPC | _NEW_PROCESSES | _NEW_NETWORK
    return _libc.unshare(flags if os.geteuid() == 0 else flags | _NEW_USER) == 0


def end_with_parent() -> None:
    """End when the process that started this one does."""
    if _libc is not None:
        _libc.prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)


def adopt_orphans() -> None:
    """Become the parent of descendants whose own parent ends."""
    if _libc is not None:
        _libc.prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def write_only_beneath(folder: str, devices: tuple[str, ...] = ()) -> bool:
    """From now on, no file outside of a folder can be made, changed or removed, but for some devices that can
    be used; answers whether the kernel can see to that (Landlock, since Linux 5.13)."""
    if _libc is None:
        return False
    version: int = _libc.syscall(_CREATE_RULESET, None, 0, _VERSION)
    if version < 1:
        return False
    handled = _WRITE_FILE | _CHANGES
    for needed, access in ((2, _REFER), (3, _TRUNCATE), (5, _IOCTL)):
        handled |= access if version >= needed else 0
    network = 3 if version >= 4 else 0  # binding and connecting
    attributes = struct.pack("QQ", handled, network)[: 16 if version >= 4 else 8]
    ruleset: int = _libc.syscall(_CREATE_RULESET, attributes, len(attributes), 0)
    if ruleset < 0:
        return False
    _allow(ruleset, folder, handled)
    for device in ("/dev/null", *devices):
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
