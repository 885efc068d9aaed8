"""A home as each system has it: documents, files only in a cloud, profiles of programs, leftovers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

FILES = 1000
ONLINE_ONLY = 300
HIDDEN = "hidden by the system"

DOCUMENTS = {
    "windows": ("Documents", "Desktop/plans", "OneDrive/Documents"),
    "macos": ("Documents", "Desktop", "Library/Mobile Documents/com~apple~CloudDocs/Notes"),
    "linux": ("Documents", "notes/2026", "Dropbox/work"),
}
CLOUD = {
    "windows": ("OneDrive/Archive", "Dropbox/old"),
    "macos": (
        "Library/Mobile Documents/iCloud~md~obsidian/Documents/Vault",
        "Library/CloudStorage/GoogleDrive-ada",
    ),
    "linux": ("Insync/archive",),
}
PROFILES = {
    "windows": (
        "AppData/Roaming/Mozilla/Firefox/Profiles/x1.default",
        "AppData/Local/Google/Chrome/User Data/Default",
        "$RECYCLE.BIN/S-1-5-21",
        "System Volume Information",
        "Portable/Thunderbird/Profile",
        "Old laptop/Chrome/Profile 1",
        f"{HIDDEN}/deep",
    ),
    "macos": (
        "Library/Application Support/Firefox/Profiles/x1.default",
        "Library/Mail/V10/INBOX.mbox",
        "Library/Safari",
        ".Trash",
        "Pictures/Photos Library.photoslibrary/originals",
        f"{HIDDEN}/deep",
    ),
    "linux": (
        ".mozilla/firefox/x1.default",
        ".thunderbird/x2.default/Mail",
        ".local/share/Trash/files",
        "snap/chromium/common/chromium/Default",
        "Portable/Firefox/Profile",
        "Old laptop/chromium/Default",
        "Old disk/Users/ada/Library/Caches",
    ),
}
LEFTOVERS = (
    *("~$report.docx", "desktop.ini", ".DS_Store", "Thumbs.db", "~syncthing~note.md.tmp", ".~lock.plan.ods#"),
    *("Icon\r", ".syncthing.note.md.tmp", "~WRD0001.tmp", ".dropbox", ".~dropbox.md"),
)


@dataclass(frozen=True)
class Home:
    """A generated home. Paths are below its folder."""

    folder: Path
    documents: set[str]
    online_only: set[str]
    profiles: set[str]

    def inodes(self, *paths: str) -> set[int]:
        return {(self.folder / path).stat().st_ino for path in paths}


def generate(folder: Path, system: str) -> Home:
    """Write a home of 1,000 files, 300 of them only in a cloud, below ``folder``."""
    home = folder / "Users" / "me"
    profiles = _write(home, PROFILES[system], "secret", 200)
    for profile in PROFILES[system]:
        if profile.startswith("Portable"):
            profiles |= {f"{profile}/prefs.js", f"{profile}/key4.db"}
        if profile.startswith("Old laptop"):  # alone, without the file that lies above all profiles
            profiles |= {f"{profile}/{name}" for name in ("Preferences", "History", "Cookies", "Login Data")}
    for path in profiles:
        (home / path).write_text("A secret of a program.\n", "utf-8")
    online_only = _write(home, CLOUD[system], "cloud", ONLINE_ONLY)
    leftovers = {f"{DOCUMENTS[system][0]}/{name}" for name in LEFTOVERS}
    left = FILES - len(profiles) - len(online_only) - len(leftovers)
    documents = _write(home, DOCUMENTS[system], "note", left)
    for path in leftovers:
        (home / path).write_text("left", "utf-8")
    return Home(home, documents, online_only, profiles)


def _write(home: Path, folders: tuple[str, ...], name: str, count: int) -> set[str]:
    paths = {f"{folders[number % len(folders)]}/{name} {number}.md" for number in range(count)}
    for path in paths:
        file = home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"About {path}.\n", "utf-8")
    return paths
