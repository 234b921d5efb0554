"""Published files: found in a folder that the user names, or downloaded once and kept.

No data are part of this project. Whatever a file's way here was, its content has to match a known sha256.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from rsgg.errors import DataError
from rsgg.saving import write_atomically

SECONDS_TO_CONNECT = 20
LARGEST_FILE = 1 << 28  # bytes; the largest published file has a few million


def cache_dir() -> Path:
    """Where downloads, encodings and trained oracles are kept: `RSGG_CACHE_DIR`, else the user's cache folder."""
    import pooch

    return Path(os.environ.get("RSGG_CACHE_DIR") or pooch.os_cache("rsgg"))


def named_dir(data_dir: Path | None) -> Path | None:
    """The folder that holds the data, if the user names one: `data_dir`, else `RSGG_DATA_DIR`."""
    given = data_dir or os.environ.get("RSGG_DATA_DIR")
    return Path(os.path.expanduser(given)) if given else None


def content_of(path: Path, largest: int = LARGEST_FILE) -> bytes:
    """The content of a file of at most so many bytes; `DataError` for a larger one, of which nothing is read."""
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        content = b"" if size > largest else file.read(largest + 1)  # what is no plain file has no size beforehand
    if max(size, len(content)) > largest:
        raise DataError(f"{path} is larger than {largest / 1e6:,.0f} MB, which no such file is; give the right one.")
    return content


def checksums(name: str) -> dict[str, str]:
    """The sha256 of each file that `<name>_sha256.txt` beside this module lists, in its order."""
    lines = Path(__file__).with_name(f"{name}_sha256.txt").read_text(encoding="ascii").splitlines()
    return {file: sha256 for sha256, file in (line.split() for line in lines)}


@dataclass(frozen=True, eq=False)
class Published:
    """Files that are published together.

    Args:
        what: how a sentence calls them, e.g. "The ASD data set".
        folder: where they lie below the user's folder and below the cache, e.g. "tu/AIDS".
        sha256: of each file; empty for a file whose reader checks what it reads.
        sources: addresses that are tried in this order: a folder (ending in "/") that has each file under its name, a
            zip archive that has them in its folder, or the one file itself, which may be compressed (".gz").
        holds: how a sentence calls what the user's folder has to hold.
    """

    what: str
    folder: str
    sha256: Mapping[str, str]
    sources: Sequence[str]
    holds: str

    @property
    def how_to_get_it(self) -> str:
        return f"{self._name_a_folder}, or use neither to download it"

    @property
    def _name_a_folder(self) -> str:
        return f"name a folder that holds {self.holds} by --data-dir or RSGG_DATA_DIR"

    def find(self, data_dir: Path | None = None, sources: Sequence[str] | None = None) -> Path:
        """The folder of the files: in `data_dir`, else in RSGG_DATA_DIR, else in the cache, downloaded if need be."""
        given = named_dir(data_dir)
        return self._found_in(given) if given else self._download(cache_dir() / self.folder, sources or self.sources)

    def _found_in(self, data_dir: Path) -> Path:
        """`data_dir`/tu/AIDS, `data_dir`/AIDS or `data_dir` itself."""
        places = (data_dir / self.folder, data_dir / Path(self.folder).name, data_dir)
        folder = next((place for place in places if any((place / file).is_file() for file in self.sha256)), data_dir)
        missing = [file for file in self.sha256 if not (folder / file).is_file()]
        if missing:
            raise DataError(
                f"{self.what} is not complete in {data_dir}: {len(missing)} of its {len(self.sha256)} files are "
                f"missing, the first is {missing[0]}; {self.how_to_get_it}."
            )
        return folder

    def read(self, folder: Path, file: str, largest: int = LARGEST_FILE) -> bytes:
        """The content of a file of at most so many bytes, whatever is in it."""
        try:
            return content_of(folder / file, largest)
        except OSError as error:
            raise DataError(f"{folder / file} cannot be read ({error.strerror}); {self._again}.") from error

    def check(self, folder: Path, file: str, content: bytes) -> None:
        """A sentence unless the content is what was published."""
        if not self._matches(file, content):
            raise DataError(
                f"{folder / file} differs from the published file (its sha256 is not the known one); {self._again}."
            )

    def damaged(self, folder: Path, file: str, what: str) -> DataError:
        """The error for a file in which something is wrong."""
        return DataError(f"{folder / file} {what}; {self._again}.")

    @property
    def _again(self) -> str:
        return f"get that file again, or {self.how_to_get_it}"

    # -- downloading -----------------------------------------------------------------------------------

    def _download(self, folder: Path, sources: Sequence[str]) -> Path:
        """Fill `folder` with the published files; those already there and undamaged are kept."""
        lacking = [file for file in self.sha256 if not self._is_sound(folder / file, file)]
        reasons = []
        for source in sources if lacking else ():
            try:
                for file, content in _published_at(source, lacking):
                    if not self._matches(file, content):
                        raise ValueError("a file there does not match its sha256")
                    (folder / file).parent.mkdir(parents=True, exist_ok=True)
                    write_atomically(folder / file, content)
                return folder
            except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile) as error:
                reasons.append(f"{source} ({_why(error)})")
        if lacking:
            raise DataError(
                f"{self.what} could not be downloaded from {' nor from '.join(reasons)}; check the network, or "
                f"{self._name_a_folder}."
            )
        return folder

    def _is_sound(self, path: Path, file: str) -> bool:
        try:
            return self._matches(file, content_of(path))
        except (OSError, DataError):
            return False

    def _matches(self, file: str, content: bytes) -> bool:
        """Is this what was published? A checkout on Windows changes the line ends of texts, which is no damage."""
        unix = content.replace(b"\r\n", b"\n")
        return self.sha256[file] in ("", *(hashlib.sha256(version).hexdigest() for version in (content, unix)))


def _published_at(source: str, files: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    """The content of each of these files as the source has it."""
    if source.endswith("/"):
        with ThreadPoolExecutor(8) as pool:
            yield from zip(files, pool.map(lambda file: _get(source + file), files), strict=True)
    elif source.endswith(".zip"):
        with zipfile.ZipFile(io.BytesIO(_get(source))) as archive:
            within = {Path(member).name: member for member in archive.namelist()}
            for file in files:
                yield file, archive.read(within[file])
    else:
        content = _get(source)
        yield files[0], gzip.decompress(content) if source.endswith(".gz") else content


def _get(url: str) -> bytes:
    import requests

    answer = requests.get(url, timeout=SECONDS_TO_CONNECT)
    answer.raise_for_status()
    return answer.content


def _why(error: Exception) -> str:
    """A few words for what the libraries below say in five lines."""
    import requests

    if isinstance(error, requests.HTTPError) and error.response is not None:
        return f"the server answered {error.response.status_code}"
    if isinstance(error, requests.RequestException):
        return "no connection"
    if isinstance(error, KeyError | EOFError | zipfile.BadZipFile | gzip.BadGzipFile):
        return "the archive there is damaged or lacks a file"
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    return str(error)
