"""The test vectors that every kit passes: docs/subscribe/vectors.json in the bridge's repository."""

import json
from pathlib import Path
from typing import Any

repository = Path(__file__).parents[2]
document = json.loads((repository / "docs/subscribe/vectors.json").read_text(encoding="utf-8"))
vectors: list[dict[str, Any]] = document["vectors"]


def body_of(message: str) -> str:
    body = document["messages"][message]
    return body if isinstance(body, str) else json.dumps(body)


def event_body(advert: str, generation: int, sequence: int) -> str:
    """A simple event from the vectors."""
    return body_of(f"{advert}@{generation}.{sequence}")
