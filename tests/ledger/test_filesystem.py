"""A ledger is written on local disks alone; on a network file system it can be read, and the rest says what to do."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

import ledger._filesystem as filesystem
from ledger import Draft, Ledger, NotALedger, Refused
from ledger._connect import connect_reader, connect_writer
from ledger._filesystem import Mount, mount_of, network_at, refuse_network, type_of_mac
from ledger.kinds import Note

# Tables as machines have them: a workstation, a node of a cluster, WSL, a sandbox.
WORKSTATION = r"""
22 28 0:21 / /proc rw,nosuid,nodev,noexec,relatime shared:13 - proc proc rw
28 1 259:2 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p2 rw,errors=remount-ro
31 28 0:27 / /tmp rw,nosuid,nodev shared:5 - tmpfs tmpfs rw,size=16316540k
90 28 259:3 /@home /home rw,relatime shared:44 - btrfs /dev/nvme0n1p3 rw,compress=zstd:3,subvol=/@home
102 28 0:46 / /mnt/team\040share rw,relatime shared:52 - cifs //files.example/team rw,vers=3.1.1,cache=strict
110 90 0:49 / /home/me/remote rw,nosuid,nodev,relatime shared:60 - fuse.sshfs me@host.example:/data rw,user_id=1000
111 90 0:50 / /home/me/drive rw,nosuid,nodev,relatime shared:61 - fuse.rclone drive: rw,user_id=1000,group_id=1000
112 90 0:51 / /home/me/crypt rw,nosuid,nodev,relatime shared:62 - fuse.gocryptfs /home/me/.crypt rw,user_id=1000
113 28 259:5 / /mnt/stick rw,relatime shared:63 - fuseblk /dev/sda1 rw,user_id=0,allow_other,blksize=4096
114 28 0:52 / /mnt/dav rw,relatime shared:64 - fuse https://dav.example/files rw,user_id=0
115 28 0:53 / /mnt/tool rw,relatime shared:65 - fuse mountpoint-s3 rw,user_id=0
116 28 0:54 / /mnt/own rw,relatime shared:66 - fuse own-program rw,user_id=0
"""
CLUSTER = r"""
1 0 0:2 / / rw - overlay overlay rw,lowerdir=/l,upperdir=/u,workdir=/w
40 1 0:60 / /home rw,relatime shared:7 master:3 - nfs4 nas.example:/export/home rw,vers=4.2,hard,proto=tcp
41 40 0:61 / /home/me/scratch rw,relatime - xfs /dev/sdb1 rw,attr2
42 1 0:62 / /lustre rw,relatime - lustre 10.0.0.1@o2ib:/fs rw,flock
43 1 0:63 / /ceph rw,relatime - ceph 10.0.0.2:6789:/ rw,name=admin
44 1 0:64 / /gluster rw,relatime - fuse.glusterfs node:/vol rw,user_id=0
45 1 0:65 / /auto rw,relatime - autofs /etc/auto.misc rw,fd=6
46 45 0:66 / /auto/data ro,relatime - nfs nas.example:/data ro,vers=3
47 1 0:67 / /twice rw,relatime - nfs4 nas.example:/old rw
48 47 0:68 / /twice rw,relatime - ext4 /dev/sdc1 rw
"""
WSL = r"""
60 1 8:32 / / rw,relatime - ext4 /dev/sdc rw,discard,errors=remount-ro,data=ordered
61 60 0:42 / /mnt/c rw,noatime - 9p drvfs rw,dirsync,aname=drvfs;path=C:\;uid=1000,mmap,access=client,trans=fd,rfd=5
"""
SANDBOX = r"""
1 0 0:12 / / rw - 9p none rw,trans=fd,rfdno=4,wfdno=4,aname=/,dfltuid=4294967294
2 1 0:13 / /shared rw - 9p hostshare rw,sync,dirsync,access=client,trans=virtio
3 1 0:14 / /farm rw - 9p 10.0.0.9 rw,trans=tcp,port=564
4 1 0:15 / /dir rw - virtiofs myfs rw
"""


@pytest.mark.parametrize(
    ("table", "path", "kind", "network"),
    [
        (WORKSTATION, "/ledger.db", "ext4", False),
        (WORKSTATION, "/home/me/ledger.db", "btrfs", False),
        (WORKSTATION, "/tmp/x/ledger.db", "tmpfs", False),
        (WORKSTATION, "/mnt/team share/evals/ledger.db", "cifs", True),
        (WORKSTATION, "/mnt/team share2/ledger.db", "ext4", False),
        (WORKSTATION, "/home/me/remote/ledger.db", "fuse.sshfs", True),
        (WORKSTATION, "/home/me/remote", "fuse.sshfs", True),
        (WORKSTATION, "/home/me/remotely/ledger.db", "btrfs", False),
        (WORKSTATION, "/home/me/drive/ledger.db", "fuse.rclone", True),
        (WORKSTATION, "/home/me/crypt/ledger.db", "fuse.gocryptfs", False),
        (WORKSTATION, "/mnt/stick/ledger.db", "fuseblk", False),
        (WORKSTATION, "/mnt/dav/ledger.db", "fuse", True),
        (WORKSTATION, "/mnt/tool/ledger.db", "fuse", True),
        (WORKSTATION, "/mnt/own/ledger.db", "fuse", False),
        (CLUSTER, "/somewhere/ledger.db", "overlay", False),
        (CLUSTER, "/home/me/ledger.db", "nfs4", True),
        (CLUSTER, "/home/me/scratch/ledger.db", "xfs", False),
        (CLUSTER, "/lustre/ledger.db", "lustre", True),
        (CLUSTER, "/ceph/ledger.db", "ceph", True),
        (CLUSTER, "/gluster/ledger.db", "fuse.glusterfs", True),
        (CLUSTER, "/auto/data/ledger.db", "nfs", True),
        (CLUSTER, "/twice/ledger.db", "ext4", False),
        (WSL, "/home/me/ledger.db", "ext4", False),
        (WSL, "/mnt/c/Users/me/ledger.db", "9p", True),
        (SANDBOX, "/ledger.db", "9p", False),
        (SANDBOX, "/shared/ledger.db", "9p", True),
        (SANDBOX, "/farm/ledger.db", "9p", True),
        (SANDBOX, "/dir/ledger.db", "virtiofs", False),
    ],
)
def test_the_deepest_mount_of_a_path_says_whether_it_is_on_a_network(
    table: str, path: str, kind: str, network: bool
) -> None:
    mount = mount_of(path, table)
    assert mount is not None
    assert (mount.kind, mount.network) == (kind, network)


def test_a_table_that_reads_otherwise_says_nothing() -> None:
    for text in (
        "",
        "\n\n",
        "1 2 3\n",
        "1 0 0:1 / / rw nothing here\n",
        " - \n",
        "1 0 0:1 / /other rw - nfs4 a:/b rw\n",
    ):
        assert mount_of("/x/ledger.db", text) is None
    assert mount_of("/x", "1 0 0:1 / / rw - nfs4\n") == Mount("/", "nfs4", "", frozenset({""}))


def table(tmp_path: Path, point: Path, kind: str = "nfs4") -> Path:
    """A table in which `point` is on such a file system."""
    made = tmp_path / "mountinfo"
    made.write_text(f"1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 0:9 / {point} rw - {kind} server.example:/x rw\n")
    return made


def test_where_a_link_leads_counts_and_also_for_a_file_that_is_not_there_yet(tmp_path: Path) -> None:
    far, near = tmp_path / "far", tmp_path / "near"
    far.mkdir()
    near.mkdir()
    info = table(tmp_path, far)
    (near / "link").symlink_to(far)
    (near / "ledger.db").symlink_to(far / "ledger.db")
    (far / "back.db").symlink_to(near / "real.db")
    assert network_at(near / "real.db", info) is None
    assert network_at(near / "link" / "new.db", info) == "nfs4"
    assert network_at(near / "ledger.db", info) == "nfs4"
    assert network_at(far / "back.db", info) is None
    with pytest.raises(Refused, match=r"network file system \(nfs4\).*`ledger snapshot`"):
        refuse_network(far / "ledger.db", info)
    refuse_network(near / "real.db", info)


def test_without_a_table_the_kernel_is_asked_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if sys.platform != "linux":
        pytest.skip("statfs(2) as Linux has it")
    missing = tmp_path / "no table"
    assert network_at(tmp_path / "ledger.db", missing) is None
    answer = struct.pack("@L", 0x6969) + bytes(100)
    monkeypatch.setattr(filesystem, "_statfs_bytes", lambda path: answer)
    assert network_at(tmp_path / "ledger.db", missing) == "nfs"
    monkeypatch.setattr(filesystem, "_statfs_bytes", lambda path: None)
    assert network_at(tmp_path / "ledger.db", missing) is None


def test_a_mac_says_what_is_not_local() -> None:
    def answer(flags: int, kind: bytes) -> bytes:
        return bytes(64) + struct.pack("<II", flags, 0) + kind.ljust(16, b"\0") + bytes(2048)

    assert type_of_mac(answer(0x00001000 | 0x4000, b"apfs")) is None
    assert type_of_mac(answer(0x4000, b"smbfs")) == "smbfs"
    assert type_of_mac(answer(0, b"")) == "unknown"


@pytest.mark.parametrize(
    ("path", "said"),
    [
        (r"\\server\share\ledger.db", "a share"),
        (r"\\?\UNC\server\share\ledger.db", "a share"),
        (r"\\?\C:\ledger.db", None),
        (r"C:\ledger.db", None),
        (r"Z:\ledger.db", "a network drive"),
    ],
)
def test_windows_says_what_is_a_share(path: str, said: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    class Windows:
        class kernel32:
            @staticmethod
            def GetDriveTypeW(root: str) -> int:
                return 4 if root == "Z:\\" else 3

    monkeypatch.setattr(filesystem.ctypes, "windll", Windows, raising=False)
    monkeypatch.setattr(filesystem.os.path, "realpath", lambda path: str(path))
    assert filesystem._of_windows(path) == said  # type: ignore[arg-type]


# A ledger on such a file system: a process whose own table says so, in a mount namespace of its own

NAMESPACE = ("unshare", "-rm", "sh", "-c", 'mount --bind "$0" /proc/$$/mountinfo && exec "$@"')


@pytest.fixture
def far(tmp_path: Path) -> Path:
    tried = [*NAMESPACE, "/dev/null", "true"]
    if shutil.which("unshare") is None or subprocess.run(tried, capture_output=True, check=False).returncode:
        pytest.skip("no mount namespace can be made here")
    folder = tmp_path / "far"
    folder.mkdir()
    with Ledger.create(folder / "ledger.db") as ledger:
        ledger.append(Draft(Note(text="there")))
    return folder


def on_network(far: Path, code: str) -> list[str]:
    info = table(far.parent, far)
    done = subprocess.run(
        [*NAMESPACE, str(info), sys.executable, "-c", PRELUDE + code], cwd=far, capture_output=True, text=True,
        check=False, timeout=60,
    )  # fmt: skip
    assert done.stderr == ""
    return done.stdout.splitlines()


PRELUDE = """
import sys
from ledger.cli import app, run_app
def run(*arguments):
    sys.stderr = sys.stdout
    print("=>", run_app(app, "ledger", arguments))
"""


def test_there_a_ledger_is_read_and_refused_to_be_written_and_a_snapshot_is_allowed(far: Path) -> None:
    for suffix in ("-wal", "-shm"):
        (far / f"ledger.db{suffix}").unlink(missing_ok=True)
    said = on_network(
        far,
        "run('note', 'x'); run('init', '--db', 'new.db'); run('upgrade'); run('log', '--kind', 'note');"
        " run('export', '--full', '-o', '../full.jsonl'); run('import', '../full.jsonl', '--db', 'new.db');"
        " run('snapshot', '../near.db'); run('snapshot', 'copy.db', '--db', '../near.db')",
    )
    statuses = [line for line in said if line.startswith("=>")]
    assert statuses == [f"=> {status}" for status in (4, 4, 4, 0, 0, 4, 0, 0)], said
    refused = [line for line in said if line.startswith("error: ")]
    assert len(refused) == 4
    assert all("is on a network file system (nfs4)" in line and "`ledger snapshot" in line for line in refused)
    assert {each.name for each in far.iterdir()} - {"copy.db-wal", "copy.db-shm"} == {"ledger.db", "copy.db"}
    with Ledger.open(far / "copy.db", read_only=True) as ledger:
        assert ledger.head()[0] == 3


def test_there_events_that_only_the_log_holds_are_not_passed_over(far: Path) -> None:
    with Ledger.open(far / "ledger.db") as ledger:
        ledger.append(Draft(Note(text="in the log")))
        said = on_network(far, "run('log')")
    assert said[-1] == "=> 2"
    assert "ledger.db-wal holds events that aren't in the file yet" in said[0]
    assert "copy both files together to a local disk" in said[0]


def test_a_process_without_that_table_reads_and_writes_it(far: Path) -> None:
    with closing(connect_writer(far / "ledger.db")), closing(connect_reader(far / "ledger.db")):
        assert os.path.lexists(far / "ledger.db")
    with pytest.raises(NotALedger):
        connect_reader(far / "none.db")
