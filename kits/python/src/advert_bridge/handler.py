"""A Lambda handler for events from an SQS queue."""

import logging
from collections.abc import Callable, Mapping
from typing import Any

from .events import DETAIL_TYPES, AdvertEvent, AuthorizationEvent, parse_body
from .positions import AdvertBusyError, DynamoDbPositions

logger = logging.getLogger("advert_bridge")
BatchAnswer = dict[str, list[dict[str, str]]]


def event_handler(
    positions: DynamoDbPositions, on: Mapping[str, Callable[[Any], object]]
) -> Callable[[Mapping[str, Any], Any], BatchAnswer]:
    """Returns a handler that calls `on[detail type]` for each event that is newer than the last applied one.

    A failed event and later events of the same advert go back to the queue; other adverts are not affected. Each
    failure is logged with its message ID. An event without a function counts as applied. If every record failed, the
    handler raises the last error, so that the function's error metric counts it; an advert that another worker has
    claimed is not a failure. Set ReportBatchItemFailures on the event source mapping.
    """
    if not on or not set(on) <= set(DETAIL_TYPES):
        raise ValueError(f"on: expected functions for {', '.join(DETAIL_TYPES)}")

    def handle(batch: Mapping[str, Any], context: Any) -> BatchAnswer:
        lease_seconds = context.get_remaining_time_in_millis() / 1000 + 5 if context else 15 * 60
        arrived: list[tuple[str, AdvertEvent | AuthorizationEvent]] = []
        errors: dict[str, Exception | None] = {}
        failed_adverts: set[str] = set()

        def fail(message_id: str, error: Exception) -> None:
            errors[message_id] = error
            level = logging.INFO if isinstance(error, AdvertBusyError) else logging.ERROR
            logger.log(level, "message %s goes back to the queue: %r", message_id, error, exc_info=error)

        for record in batch["Records"]:
            try:
                arrived.append((record["messageId"], parse_body(record["body"])))
            except Exception as error:
                fail(record["messageId"], error)
        for message_id, event in sorted(arrived, key=lambda each: getattr(each[1], "position", (0, 0))):
            apply = on.get(event.detail_type, lambda _: None)
            try:
                if isinstance(event, AuthorizationEvent):
                    apply(event)
                elif event.advert_key in failed_adverts:
                    errors[message_id] = None
                else:
                    positions.apply_if_newer(event, apply, lease_seconds=lease_seconds)
            except Exception as error:
                fail(message_id, error)
                failed_adverts.add(getattr(event, "advert_key", ""))
        causes = [error for error in errors.values() if error and not isinstance(error, AdvertBusyError)]
        if causes and len(errors) == len(batch["Records"]):
            raise causes[-1]
        return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in errors]}

    return handle
