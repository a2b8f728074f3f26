"""Helpers for the tests of a subscriber: events, a batch of SQS messages, and positions in memory."""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .events import ADVERT_TYPES, DEFAULT_BRIDGE, AdvertEvent
from .positions import AdvertBusyError, Comparison, Position, compare_to_applied

TIME = "2026-11-20T12:00:00Z"


def an_advert_event(
    status: str | None = "active",
    *,
    previous_status: str | None = None,
    advert_id: str = "123",
    partner_account: str = "main",
    bridge: str = DEFAULT_BRIDGE,
    generation: int = 1_763_640_000,
    sequence: int = 1,
) -> dict[str, Any]:
    """Returns an event as EventBridge sends it: AdvertStatusChanged, or AdvertUnavailable if `status` is `None`."""
    event_id = f"{partner_account}/{generation}/{advert_id}/{sequence}"
    metadata: dict[str, Any] = {"eventId": event_id, "schemaVersion": "1.1", "bridge": bridge}
    metadata |= {"partnerAccount": partner_account, "generation": generation, "sequence": sequence}
    metadata |= {"listedAt": TIME, "observedAt": TIME, "cause": "feed", "correlationId": "test"}
    data = {"advertId": advert_id, "status": status, "previousStatus": previous_status}
    return {
        "version": "0",
        "id": f"00000000-0000-4000-8000-{sequence:012d}",
        "source": "advert-bridge",
        "detail-type": ADVERT_TYPES[status is None],
        "account": "111122223333",
        "region": "eu-central-1",
        "time": TIME,
        "resources": [f"advert-bridge/{partner_account}/advert/{advert_id}"],
        "detail": {"metadata": metadata, "data": data},
    }


def an_advert_history(statuses: Iterable[str | None], **fields: Any) -> list[dict[str, Any]]:
    """Returns the events of one advert that had these statuses; `fields` are those of `an_advert_event`."""
    events: list[dict[str, Any]] = []
    previous: str | None = None
    for sequence, status in enumerate(statuses, 1):
        events.append(an_advert_event(status, previous_status=previous, sequence=sequence, **fields))
        previous = status
    return events


def a_lambda_event(events: Iterable[Mapping[str, Any]], *, fifo: bool = False) -> dict[str, Any]:
    """Returns a batch of SQS messages, as Lambda hands it to a function: `message-1`, `message-2` and so on.

    With `fifo` they come from a FIFO queue on which each advert is a group.
    """
    records: list[dict[str, Any]] = []
    for number, event in enumerate(events, 1):
        group = {"attributes": {"MessageGroupId": event["resources"][0]}} if fifo else {}
        records.append({"messageId": f"message-{number}", "body": json.dumps(event)} | group)
    return {"Records": records}


class InMemoryPositions:
    """Positions in the memory of this process, in place of `DynamoDbPositions`."""

    def __init__(self) -> None:
        self.applied: dict[str, Position] = {}
        """The last applied position of each advert, by its key, such as `main/123`."""
        self._claimed: set[str] = set()

    def apply_if_newer(
        self, event: AdvertEvent, apply: Callable[[AdvertEvent], object], *, lease_seconds: float = 15 * 60
    ) -> Comparison:
        key = event.advert_key
        comparison = compare_to_applied(self.applied.get(key), event.position)
        if comparison.outcome in ("duplicate", "stale"):
            return comparison
        if key in self._claimed:
            raise AdvertBusyError(f"another worker is applying events of advert {key}")
        self._claimed.add(key)
        try:
            apply(event)
        finally:
            self._claimed.remove(key)
        self.applied[key] = event.position
        return comparison
