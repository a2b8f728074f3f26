"""A Lambda handler for events from an SQS queue."""

import difflib
import functools
import logging
from collections.abc import Callable, Mapping
from typing import Any

from .events import DETAIL_TYPES, AdvertEvent, AuthorizationEvent, parse_body
from .positions import AdvertBusyError, Positions

logger = logging.getLogger("advert_bridge")
BatchAnswer = dict[str, list[dict[str, str]]]


class BatchFailedError(Exception):
    """Every record of a batch failed, so the invocation must count as failed. `__cause__` is the last failure."""


def advert_event_handler(
    positions: Positions, on: Mapping[str, Callable[[Any], object]]
) -> Callable[[Mapping[str, Any], Any], BatchAnswer]:
    """Returns a handler that calls `on[detail type]` for each event that is newer than the last applied one.

    A failed event and later events of the same advert go back to the queue; other adverts are not affected. On a FIFO
    queue, so do the later messages of its group, whose order is kept. Each failure is logged with its message ID. An
    event without a function counts as applied; its type is logged once. If every record failed, the handler raises a
    BatchFailedError, so that the function's error metric counts it; an advert that another worker has claimed is not a
    failure. Set ReportBatchItemFailures on the event source mapping: without it, Lambda deletes the events that failed.
    """
    if not callable(getattr(positions, "apply_if_newer", None)):
        raise TypeError("positions: expected DynamoDbPositions(client, table_name)")
    wrong = [name for name in on or {} if name not in DETAIL_TYPES]
    if not on or wrong:
        near = difflib.get_close_matches(wrong[0], DETAIL_TYPES, 1) if wrong else []
        hint = f", not {wrong[0]}{f': did you mean {near[0]}?' if near else ''}" if wrong else ""
        raise ValueError(f"on: expected functions for {', '.join(DETAIL_TYPES)}{hint}")
    warn_once = functools.lru_cache(maxsize=None)(logger.warning)
    origins: dict[str, str] = {}

    def apply(event: AdvertEvent | AuthorizationEvent) -> None:
        origin = f"{event.raw.get('account')}/{event.raw.get('region')}"
        if event.raw.get("account") and origins.setdefault(event.bridge, origin) != origin:
            first = origins[event.bridge]
            text = "events of two bridges named %s arrive, from %r and %r: their positions are not kept apart"
            warn_once(text, event.bridge, first, origin)
        if function := on.get(event.detail_type):
            function(event)
        else:
            text = "%s events arrive, and there is no function for them in `on`: they count as applied"
            warn_once(text, event.detail_type)

    def handle(batch: Mapping[str, Any], context: Any) -> BatchAnswer:
        lease_seconds = context.get_remaining_time_in_millis() / 1000 + 5 if context else 15 * 60
        errors: dict[str, Exception | None] = {}
        failed: set[str] = set()

        def fail(message_id: str, error: Exception) -> None:
            errors[message_id] = error
            level = logging.WARNING if isinstance(error, AdvertBusyError) else logging.ERROR
            text = "message %r goes back to the queue if the event source mapping has ReportBatchItemFailures: %r"
            logger.log(level, text, message_id, error, exc_info=error)

        # The records of a group of a FIFO queue stay in their order. Otherwise the events of an advert are a group.
        arrived = [(each["messageId"], group_of(each), read(each)) for each in batch["Records"]]
        for message_id, group, event in sorted(arrived, key=lambda each: (0, 0) if each[1] else position_of(each[2])):
            group = group or getattr(event, "advert_key", "")
            if group in failed:
                errors[message_id] = None
                continue
            try:
                if isinstance(event, Exception):
                    raise event
                elif isinstance(event, AuthorizationEvent):
                    apply(event)
                else:
                    positions.apply_if_newer(event, apply, lease_seconds=lease_seconds)
            except Exception as error:
                fail(message_id, error)
                failed.update([group] if group else [])
        causes = [error for error in errors.values() if error and not isinstance(error, AdvertBusyError)]
        if causes and len(errors) == len(batch["Records"]):
            raise BatchFailedError(f"all {len(errors)} records of the batch failed: {causes[-1]!r}") from causes[-1]
        return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in errors]}

    return handle


def group_of(record: Mapping[str, Any]) -> str:
    """The group of a message of a FIFO queue, otherwise empty: on a fair queue, a group is a tenant without an order."""
    is_fifo = record.get("eventSourceARN", ".fifo").endswith(".fifo")
    return str(record.get("attributes", {}).get("MessageGroupId", "")) if is_fifo else ""


def read(record: Mapping[str, Any]) -> AdvertEvent | AuthorizationEvent | Exception:
    try:
        return parse_body(record["body"])
    except Exception as error:
        return error


def position_of(event: object) -> tuple[int, int]:
    return getattr(event, "position", (0, 0))
