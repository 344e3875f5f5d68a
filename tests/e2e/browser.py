"""A headless Chromium, driven by the messages of its own DevTools protocol."""

from __future__ import annotations

import base64
import itertools
import json
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
from httpx_ws import WebSocketSession, connect_ws

from tests.chromium import CHROMIUM, QUIET
from tests.waiting import until

SECONDS = 60


class Browser:
    """One tab."""

    def __init__(self, profile: Path) -> None:
        self.profile = profile
        self.numbers = itertools.count(1)
        self.heard: list[dict[str, Any]] = []

    def __enter__(self) -> Browser:
        own = (f"--user-data-dir={self.profile}", "--remote-debugging-port=0")
        command = [str(CHROMIUM), *QUIET, *own, "about:blank"]
        self.process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        told = self.profile / "DevToolsActivePort"
        until(lambda: told.exists() and told.read_text().count("\n"))
        port = told.read_text().splitlines()[0]
        pages = httpx.get(f"http://127.0.0.1:{port}/json/list").json()
        (url,) = [each["webSocketDebuggerUrl"] for each in pages if each["type"] == "page"]
        self.connection = connect_ws(url, httpx.Client(), max_message_size_bytes=2**26)
        self.socket: WebSocketSession = self.connection.__enter__()
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        return self

    def __exit__(self, *error: object) -> None:
        self.process.terminate()
        self.process.wait()
        with suppress(Exception):
            self.connection.__exit__(None, None, None)

    def call(self, method: str, **parameters: Any) -> Any:
        """Return the answer to a message; what else is said meanwhile is kept."""
        number = next(self.numbers)
        self.socket.send_text(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self.socket.receive_text(timeout=SECONDS))
            if message.get("id") == number:
                assert "error" not in message, message
                return message["result"]
            self.heard.append(message)

    def open(self, url: str) -> None:
        self.call("Page.navigate", url=url)
        until(lambda: self("document.readyState") == "complete")

    def __call__(self, script: str) -> Any:
        """Return the value of an expression in the page."""
        answer = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def wait_for(self, script: str) -> None:
        until(lambda: self(script))

    def type(self, text: str) -> None:
        self.call("Input.insertText", text=text)

    def press(self, key: str, code: int, *, modifiers: int = 0) -> None:
        """Press a key as a person does; ``code`` is the one of Windows, 2 is Ctrl, 8 is Shift."""
        common = {"key": key, "code": key, "windowsVirtualKeyCode": code, "modifiers": modifiers}
        text = {"Enter": "\r", " ": " "}.get(key)
        down = {"type": "keyDown", "text": text} if text else {"type": "rawKeyDown"}
        self.call("Input.dispatchKeyEvent", **common, **down)
        self.call("Input.dispatchKeyEvent", **common, type="keyUp")

    def tab(self) -> None:
        self.press("Tab", 9)

    def screenshot(self, path: Path, width: int, *, dark: bool = False) -> None:
        """Keep what the whole page looks like in a window of some width."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=900, deviceScaleFactor=1, mobile=False,
        )  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(shot["data"]))

    def requested(self) -> set[str]:
        """Return the addresses that the page has asked for."""
        self("0")  # what was said until now has been heard
        return {
            message["params"]["request"]["url"]
            for message in self.heard
            if message["method"] == "Network.requestWillBeSent"
        }

    def complaints(self) -> list[Any]:
        """Return what the browser has logged: errors, violated policies."""
        self("0")
        kinds = {"Log.entryAdded", "Runtime.exceptionThrown", "Runtime.consoleAPICalled"}
        return [message["params"] for message in self.heard if message["method"] in kinds]
