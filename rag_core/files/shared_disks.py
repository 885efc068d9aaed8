"""Detects folders that other computers write, too: folders that a cloud synchronizes, and network disks.

SQLite loses data there. Such disks do not lock files for all computers, and they copy a store and its log at
different moments.
"""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path, PurePath
from typing import Any

_CLOUDS = {
    "onedrive": "OneDrive",
    "icloud drive": "iCloud Drive",
    "iclouddrive": "iCloud Drive",
    "mobile documents": "iCloud Drive",
    "cloudstorage": "a cloud",
    "dropbox": "Dropbox",
    "google drive": "Google Drive",
    "googledrive": "Google Drive",
    "my drive": "Google Drive",
    "box": "Box",
    "box sync": "Box",
    "mega": "MEGA",
    "megasync": "MEGA",
    "nextcloud": "Nextcloud",
    "pcloud drive": "pCloud",
    "pclouddrive": "pCloud",
    "proton drive": "Proton Drive",
    "seafile": "Seafile",
}
"""Name of a cloud's folder in lower case → the service. A suffix such as `` - Company`` may follow the
name."""
_MARKS = {
    ".stfolder": "Syncthing",
    ".dropbox": "Dropbox",
    ".nextcloudsync.log": "Nextcloud",
    ".owncloudsync.log": "ownCloud",
}
"""File or folder that a service puts into each synchronized folder → the service."""
_NETWORK = frozenset(
    "nfs nfs4 cifs smbfs smb3 afpfs ftp webdav davfs ceph glusterfs lustre vboxsf fuse.sshfs fuse.rclone"
    " fuse.davfs fuse.glusterfs fuse.gvfsd-fuse fuse.onedriver fuse.s3fs".split()
)
_MOUNTS = Path("/proc/mounts")
_MOUNT = "/sbin/mount"
_PRINTED_MOUNT = re.compile(r".+? on (?P<folder>/.*) \((?P<kind>[^,()]+)[^()]*\)")
"""A line of macOS's ``mount``, such as ``//ada@nas/home on /Volumes/home (smbfs, nodev, nosuid, mounted by
ada)``."""
_DRIVE_REMOTE = 4  # result of GetDriveTypeW


def shared_by(folder: Path) -> str:
    """Return what shares a folder with other computers, such as ``OneDrive`` or ``a network disk``, or '' if
    nothing does. The folder need not exist."""
    whole = Path(os.path.realpath(folder))
    ways = [whole, *whole.parents]
    for name in [way.name.casefold() for way in ways]:
        for cloud, service in _CLOUDS.items():
            if name == cloud or name.startswith((f"{cloud} - ", f"{cloud} (", f"{cloud}-")):
                return service
    for variable in ("OneDrive", "OneDriveConsumer", "OneDriveCommercial"):
        if (root := os.environ.get(variable)) and whole.is_relative_to(root):
            return "OneDrive"
    for way in ways:
        for mark, service in _MARKS.items():
            if os.path.lexists(way / mark):
                return service
    return "a network disk" if _is_on_network(whole) else ""


def _is_on_network(folder: PurePath) -> bool:
    if sys.platform == "win32":
        windll: Any = ctypes.windll
        return (
            folder.drive.startswith("\\\\") or windll.kernel32.GetDriveTypeW(folder.anchor) == _DRIVE_REMOTE
        )
    inside = [(mount, kind) for mount, kind in _mounts() if folder.is_relative_to(mount)]
    _, kind = max(inside, key=lambda mount: len(mount[0]), default=("", ""))
    return kind in _NETWORK


def _mounts() -> Iterator[tuple[str, str]]:
    """Yield (folder, type of file system) for each mounted file system."""
    if not _MOUNTS.exists():  # macOS has no such file, but a program that prints the list
        yield from _printed_mounts()
        return
    with suppress(OSError):
        for line in _MOUNTS.read_text("utf-8", "surrogateescape").splitlines():
            _, folder, kind, *_ = line.split(" ")
            yield folder.encode().decode("unicode_escape"), kind


def _printed_mounts() -> Iterator[tuple[str, str]]:
    with suppress(OSError):
        printed = subprocess.run([_MOUNT], stdout=subprocess.PIPE, check=False).stdout
        for line in os.fsdecode(printed).splitlines():
            if mount := _PRINTED_MOUNT.fullmatch(line):
                yield mount["folder"], mount["kind"]
