"""Files and directories in volumes: byte streams, confined to the volume's directory.

A new file is written under a temporary name in its directory, so that an interrupted transfer leaves nothing. Links are
followed if they stay in the volume. Object stores have no directories: there a directory exists while it contains
files.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import BinaryIO

from catalog.conditions import (
    FileInStagingPathExists,
    LogPathNotAllowed,
    VolumeFileNotAllowed,
    VolumeFileNotFound,
    VolumeFolderNotEmpty,
    VolumeNotFound,
)
from catalog.volumes.paths import VolumePath
from engine.errors.disk_errors import storage_error
from engine.storage.storage import FileStatus, Storage, open_storage

# Bytes of a file that are in memory at the same time.
COPY_BYTES = 1 << 20

_TEMPORARY = re.compile(r"\..*\.[0-9a-f]{32}\.tmp")


class FileOperation(StrEnum):
    GET = "GET"
    PUT = "PUT"
    REMOVE = "REMOVE"
    MAKE_FOLDER = "MAKE FOLDER"
    REMOVE_FOLDER = "REMOVE FOLDER"


@dataclass(frozen=True, slots=True)
class FolderEntry:
    """An entry; `path` is absolute, with a trailing slash for a directory. `size` and `modified_ms` as in
    `FileStatus`.
    """

    path: str
    name: str
    size: int
    modified_ms: int
    is_folder: bool


class VolumeFile:
    """One path in a volume. Methods raise `VolumeFileNotFound`, `VolumeFileNotAllowed` and disk errors."""

    def __init__(
        self,
        path: VolumePath,
        location: str,
        allowed_roots: Sequence[str],
        is_dropped: Callable[[], bool] = lambda: False,
    ) -> None:
        """`location` is the volume's directory. `is_dropped` returns whether it belongs to a dropped volume."""
        self.path = path
        self._is_dropped = is_dropped
        self._storage: Storage = open_storage(location, allowed_roots=allowed_roots)

    def exists(self) -> bool:
        """Returns True if the path exists; on a disk it may be a directory. False for the volume itself."""
        with self._errors():
            return bool(self.path.file) and self._storage.exists(self.path.file)

    def status(self) -> FileStatus:
        """Returns a file's size and time."""
        with self._errors():
            if not self.path.file or self.is_folder():
                raise VolumeFileNotFound(str(self.path))
            return self._storage.stat(self.path.file)

    def open(self) -> BinaryIO:
        """Opens the file for reading; the caller closes it."""
        with self._errors():
            if not self.path.file or self.is_folder():
                raise VolumeFileNotFound(str(self.path))
            return self._storage.open_input(self.path.file)

    def write(self, content: BinaryIO, *, overwrite: bool) -> None:
        """Raises `FileInStagingPathExists` without `overwrite`, also if another client wrote the file meanwhile, and
        `VolumeNotFound` if the volume was dropped meanwhile.
        """
        with self._errors():
            if not self.path.file or self.is_folder():
                raise VolumeFileNotAllowed(str(self.path))
            try:
                with self._storage.open_output(self.path.file, replace=overwrite) as output:
                    shutil.copyfileobj(content, output, COPY_BYTES)
            except FileExistsError as error:
                raise FileInStagingPathExists(str(self.path)) from error
            self._ensure_not_dropped()

    def remove(self) -> None:
        """Removes a file, or an empty directory: dlt's Databricks destination removes both by REMOVE."""
        with self._errors():
            if self.path.file and self.is_folder():
                self.remove_folder()
                return
            self.status()
            self._storage.delete(self.path.file)

    @property
    def has_folders(self) -> bool:
        """Returns whether a directory can exist without files."""
        return self._storage.HAS_FOLDERS

    def is_folder(self) -> bool:
        """Returns True if there is a directory at the path, or a prefix of files; always for the volume itself."""
        if not self.path.file:
            return True
        with self._errors():
            parent, _, name = self.path.file.rpartition("/")
            return any(folder.name == name for folder in self._storage.list_folder(parent).folders)

    def entries(self) -> list[FolderEntry]:
        """Lists a directory's content, by name, or the file itself. Links and temporary files are omitted."""
        with self._errors():
            if not self.is_folder():
                status = self.status()
                return [FolderEntry(str(self.path), status.name, status.size, status.modified_ms, is_folder=False)]
            listing = self._storage.list_folder(self.path.file)
        base = str(self.path)
        folders = (
            FolderEntry(f"{base}/{each.name}/", f"{each.name}/", 0, each.modified_ms, is_folder=True)
            for each in listing.folders
        )
        files = (
            FolderEntry(f"{base}/{each.name}", each.name, each.size, each.modified_ms, is_folder=False)
            for each in listing.files
            if not _TEMPORARY.fullmatch(each.name)
        )
        return sorted((*folders, *files), key=lambda entry: entry.path)

    def make_folder(self) -> None:
        """Creates the directory with its parents; an existing one is not an error.

        In an object store nothing is created.
        """
        with self._errors():
            if self.path.file:
                self._storage.make_folder(self.path.file)
                self._ensure_not_dropped()

    def remove_folder(self) -> None:
        """Removes the directory. Raises `VolumeFolderNotEmpty`."""
        with self._errors():
            if not self.path.file or not self.is_folder():
                raise VolumeFileNotFound(str(self.path))
            if not self._storage.delete_empty_folder(self.path.file):
                raise VolumeFolderNotEmpty(str(self.path))

    def _ensure_not_dropped(self) -> None:
        """Removes a file that was written into a dropped volume's directory, where nobody can reach it.

        A DROP VOLUME removes the name before the files. So either the name is already removed, or the files are removed
        later, with this one.
        """
        if self._is_dropped():
            self._storage.delete_tree()
            raise VolumeNotFound(str(self.path.volume))

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except LogPathNotAllowed as error:
            raise VolumeFileNotAllowed(str(self.path)) from error
        except FileNotFoundError as error:
            raise VolumeFileNotFound(str(self.path)) from error
        except (NotADirectoryError, IsADirectoryError, FileExistsError) as error:
            raise VolumeFileNotAllowed(str(self.path)) from error
        except OSError as error:
            if named := storage_error(error):
                raise named from error
            raise


@dataclass(frozen=True, slots=True)
class FileTransfer:
    """A transfer of `file` that a statement has authorized."""

    operation: FileOperation
    file: VolumeFile
    overwrite: bool = False
