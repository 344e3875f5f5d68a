"""Made-up comments with ids; some give away who wrote them."""

from __future__ import annotations

import json
from pathlib import Path

SENTENCES = (
    "I am {age} and a nurse in Porto.",
    "My wife and I moved to Edinburgh last year, the weather is fine.",
    "Write to me at jo.marsh{age}@example.org, I am always there.",
    "Nice weather today.",
    "As a teacher making about {age}k I cannot buy a house in Denver.",
)


def comments(count: int) -> list[dict[str, object]]:
    return [
        {"id": f"c{number}", "text": SENTENCES[number % 5].format(age=20 + number % 60), "votes": 3}
        for number in range(count)
    ]


def write(path: Path, rows: list[dict[str, object]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def read(directory: Path) -> list[dict[str, object]]:
    parts = sorted(directory.glob("part-*.jsonl"))
    return [json.loads(line) for part in parts for line in part.read_text().splitlines()]
