"""Downloads, from a hub that is a small server on loopback."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from dynaserve.rlaa.llm.hub import weights
from dynaserve.rlaa.llm.protocol import LLMError

COMMIT = "0123456789abcdef0123456789abcdef01234567"
CONTENT = b"GGUF" + bytes(range(256)) * 64


@dataclass
class Hub:
    files: dict[str, bytes] = field(default_factory=lambda: {"model.gguf": CONTENT})
    damage: bool = False
    etag: str | None = None
    downloads: list[str] = field(default_factory=list)
    url: str = ""


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    constants = pytest.importorskip("huggingface_hub.constants")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    fake = Hub()

    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self.answer(b"")

        def do_GET(self) -> None:
            name = self.path.rpartition("/")[2]
            fake.downloads.append(name)
            content = fake.files.get(name, b"")
            self.answer(content[::-1] if fake.damage else content)

        def answer(self, body: bytes) -> None:
            content = fake.files.get(self.path.rpartition("/")[2])
            self.send_response(200 if content is not None else 404)
            if content is None:
                self.send_header("X-Error-Code", "EntryNotFound")
            else:
                etag = fake.etag or hashlib.sha256(content).hexdigest()
                self.send_header("ETag", f'"{etag}"')
                self.send_header("X-Repo-Commit", COMMIT)
            self.send_header("Content-Length", str(len(content or b"")))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Keep quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        http.daemon_threads = True
        fake.url = f"http://127.0.0.1:{http.server_address[1]}"
        thread = threading.Thread(target=http.serve_forever, args=[0.01], daemon=True)
        thread.start()
        yield fake
        http.shutdown()
        thread.join()


def test_a_file_is_itself(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(CONTENT)
    assert weights(path) == weights(str(path)) == path


def test_a_file_comes_before_a_reference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "org" / "repo:model.gguf"
    path.parent.mkdir()
    path.write_bytes(CONTENT)
    assert weights("org/repo:model.gguf").absolute() == path


def test_a_reference_is_downloaded_once(hub: Hub) -> None:
    paths = [weights("org/repo:model.gguf", endpoint=hub.url) for _ in range(2)]
    assert paths[0] == paths[1]
    assert paths[0].read_bytes() == CONTENT
    assert hub.downloads == ["model.gguf"]


def test_all_parts_are_downloaded_and_the_first_is_returned(hub: Hub) -> None:
    names = [f"big-{part:05}-of-00003.gguf" for part in (1, 2, 3)]
    hub.files = {name: name.encode() for name in names}
    first = weights(f"org/repo:{names[0]}", endpoint=hub.url)
    assert [(first.parent / name).read_text() for name in names] == names
    assert first.name == names[0]


def test_what_arrives_damaged_is_removed_and_can_be_fetched_again(hub: Hub) -> None:
    hub.damage = True
    with pytest.raises(LLMError, match="damaged"):
        weights("org/repo:model.gguf", endpoint=hub.url)
    hub.damage = False
    assert weights("org/repo:model.gguf", endpoint=hub.url).read_bytes() == CONTENT
    assert len(hub.downloads) == 2


def test_what_the_hub_names_no_checksum_of_is_not_downloaded(hub: Hub) -> None:
    hub.etag = hashlib.sha1(CONTENT).hexdigest()
    for _ in range(2):
        with pytest.raises(LLMError, match="names no SHA-256"):
            weights("org/repo:model.gguf", endpoint=hub.url)
    assert hub.downloads == []


def test_damage_is_noticed_where_the_cache_has_no_links(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    downloads = pytest.importorskip("huggingface_hub.file_download")
    monkeypatch.setattr(downloads, "are_symlinks_supported", lambda *_: False)
    hub.damage = True
    with pytest.raises(LLMError, match="damaged"):
        weights("org/repo:model.gguf", endpoint=hub.url)
    hub.damage = False
    path = weights("org/repo:model.gguf", endpoint=hub.url)
    assert not path.is_symlink()
    assert path.read_bytes() == CONTENT


def test_a_file_that_the_hub_does_not_have_is_an_error(hub: Hub) -> None:
    with pytest.raises(LLMError, match=r"org/repo:other.gguf cannot be downloaded: .*NotFound"):
        weights("org/repo:other.gguf", endpoint=hub.url)


@pytest.mark.parametrize(
    "model",
    ["missing.gguf", "org/repo", "org/repo:", "org/repo:model.bin", "org/repo:../../model.gguf",
     "repo:model.gguf", "https://example.org/model.gguf", "/tmp", ""],
)  # fmt: skip
def test_what_is_neither_a_file_nor_a_reference_is_refused(model: str) -> None:
    with pytest.raises(ValueError, match=r"org/repo:file\.gguf"):
        weights(model)
