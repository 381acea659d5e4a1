"""Which file system a path is on, and whether a ledger may be written there.

A writer needs WAL, and WAL needs memory that every process shares: the index of the log is a mapped file beside the
ledger (https://www.sqlite.org/wal.html: "WAL does not work over a network filesystem"). Two machines that map the same
file don't see one another's memory, and then both believe that they hold the head. Nothing a caller could promise makes
that work, so there is no switch to pass over the refusal.
"""

from __future__ import annotations

import ctypes
import os
import re
import struct
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PureWindowsPath

from ledger._errors import Refused

__all__ = ["MOUNTINFO", "Mount", "mount_of", "network_at", "refuse_network"]

MOUNTINFO = Path("/proc/self/mountinfo")

# The names of the kernel, and after `fuse.` those that programs give themselves.
_NETWORK = frozenset(
    {
        "9p", "acfs", "afs", "afpfs", "beegfs", "beegfs_nodev", "ceph", "cifs", "coda", "cvfs", "davfs",
        "fhgfs", "gfs", "gfs2", "glusterfs", "gpfs", "ibrix", "kafs", "lustre", "ncp", "ncpfs", "nfs", "nfs3", "nfs4",
        "ocfs2", "orangefs", "panfs", "pvfs2", "smb2", "smb3", "smbfs", "snfs", "vboxsf", "vmhgfs", "webdav", "wekafs",
    }
)  # fmt: skip
_NETWORK_FUSE = frozenset(
    {
        "afpfs", "alluxio-fuse", "blobfuse", "blobfuse2", "ceph", "ceph-fuse", "curlftpfs", "cvmfs", "cvmfs2", "davfs",
        "gcsfuse", "geesefs", "glusterfs", "goofys", "google-drive-ocamlfuse", "httpdirfs", "httpfs", "ipfs", "juicefs",
        "lizardfs", "mfs", "moosefs", "mount-s3", "mountpoint-s3", "nfs", "ossfs", "rclone", "s3backer", "s3fs", "s3ql",
        "seaweedfs", "smbnetfs", "sshfs", "svfs", "vmhgfs-fuse", "wdfs", "weed", "xrootdfs",
    }
)  # fmt: skip
# statfs(2)'s f_type, for a Linux whose /proc isn't there.
_MAGIC = {
    0x6969: "nfs", 0xFF534D42: "cifs", 0xFE534D42: "smb3", 0x517B: "smbfs", 0x01021997: "9p", 0x5346414F: "afs",
    0x6B414653: "kafs", 0x00C36400: "ceph", 0x0BD00BD0: "lustre", 0x47504653: "gpfs", 0x19830326: "beegfs",
    0x73757245: "coda", 0x01161970: "gfs2", 0x7461636F: "ocfs2", 0x20030528: "orangefs", 0x564C: "ncpfs",
    0xAAD7AAEA: "panfs", 0x786F4256: "vboxsf", 0xBACBACBC: "vmhgfs",
}  # fmt: skip
_ESCAPE = re.compile(r"\\([0-7]{3})")
_MAC_LOCAL = 0x1000
_WINDOWS_REMOTE = 4


@dataclass(frozen=True, slots=True)
class Mount:
    """One line of a mountinfo: where it is mounted, the type, what is mounted, and the file system's own options."""

    point: str
    kind: str
    source: str
    options: frozenset[str]

    @property
    def network(self) -> bool:
        """Whether another machine may write to it, too."""
        if self.kind == "9p":
            # Over a file descriptor 9p is a sandbox's own disk (gVisor), unless it is a drive of Windows (WSL).
            drive = any("drvfs" in option for option in self.options) or self.source == "drvfs"
            return "trans=fd" not in self.options or drive
        if self.kind == "fuse":
            # What names no type of its own may still say what it mounts: a URL, or HOST:/PATH.
            return self.source in _NETWORK_FUSE or re.match(r"[\w.+-]{2,}:/", self.source) is not None
        kind, _, more = self.kind.partition(".")
        return more in _NETWORK_FUSE if kind == "fuse" else self.kind in _NETWORK


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda found: chr(int(found[1], 8)), text)


def mount_of(path: str, mountinfo: str) -> Mount | None:
    """The mount that an absolute path without links lies on: the deepest, and of several at one place the last.

    `mountinfo` is a text as proc_pid_mountinfo(5) has it; a line that reads otherwise is passed over.
    """
    deepest, found = -1, ""
    for line in mountinfo.split("\n"):
        fields = line.split(" ", 5)
        if len(fields) < 6 or " - " not in fields[5]:
            continue
        point = _unescaped(fields[4]).rstrip("/")
        if len(point) >= deepest and (path == point or path.startswith(point + "/")):
            deepest, found = len(point), line
    if deepest < 0:
        return None
    kind, source, *options = [*found.partition(" - ")[2].split(" "), "", ""]
    point = _unescaped(found.split(" ")[4])
    return Mount(point, kind, _unescaped(source), frozenset(" ".join(options).strip().split(",")))


def network_at(path: Path, mountinfo: Path = MOUNTINFO) -> str | None:
    """The type of the network file system that a path (or the folder where it is going to be) is on, or None.

    None too where that can't be found out.
    """
    if sys.platform == "win32":
        return _of_windows(path)
    # Where a link leads counts, also for a file that isn't there yet.
    real = Path(os.path.realpath(path))
    if sys.platform == "darwin":
        return _of_mac(real)
    try:
        text = mountinfo.read_bytes().decode("utf-8", "surrogateescape")
    except OSError:
        return _of_statfs(real)
    mount = mount_of(str(real), text)
    return mount.kind if mount is not None and mount.network else None


def refuse_network(path: Path, mountinfo: Path = MOUNTINFO) -> None:
    """Raise Refused, with what to do instead, where a ledger at `path` would be written on a network file system."""
    kind = network_at(path, mountinfo)
    if kind is not None:
        raise Refused(
            f"{path} is on a network file system ({kind}), where SQLite can't keep two writers apart, so nothing is"
            " written there: keep the ledger on a local disk (--db, LEDGER_DB) and copy it there with `ledger snapshot`"
        )


@cache
def _statfs() -> ctypes._FuncPointer | None:  # pyright: ignore[reportPrivateUsage]
    try:
        return ctypes.CDLL(None, use_errno=True).statfs
    except (OSError, AttributeError, TypeError):
        return None


def _statfs_bytes(path: Path) -> bytes | None:
    """The bytes that statfs(2) fills in, for the path or the nearest folder above it that is there."""
    call = _statfs()
    there = next((each for each in (path, *path.parents) if each.exists()), None)
    if call is None or there is None:
        return None
    buffer = ctypes.create_string_buffer(4096)
    return buffer.raw if call(os.fsencode(there), buffer) == 0 else None


def _of_statfs(path: Path) -> str | None:
    data = _statfs_bytes(path)
    return None if data is None else _MAGIC.get(struct.unpack_from("@L", data)[0] & 0xFFFFFFFF)


def _of_mac(path: Path) -> str | None:
    data = _statfs_bytes(path)
    return None if data is None else type_of_mac(data)


def type_of_mac(data: bytes) -> str | None:
    """What macOS' struct statfs (64-bit inodes) says: the type of what isn't local to this machine, else None."""
    (flags,) = struct.unpack_from("<I", data, 64)
    return None if flags & _MAC_LOCAL else data[72:88].split(b"\0", 1)[0].decode("ascii", "replace") or "unknown"


def _of_windows(path: Path) -> str | None:
    drive = PureWindowsPath(os.path.realpath(path)).drive
    if drive.startswith("\\\\") and not drive.startswith(("\\\\?\\", "\\\\.\\")):
        return "a share"
    if drive.upper().startswith("\\\\?\\UNC\\"):
        return "a share"
    kernel = getattr(getattr(ctypes, "windll", None), "kernel32", None)
    remote = kernel is not None and kernel.GetDriveTypeW(drive + "\\") == _WINDOWS_REMOTE
    return "a network drive" if remote else None
