"""Stores each advert's last applied position, and applies only newer events."""

import contextlib
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from .events import AdvertEvent

Position = tuple[int, int]


@dataclass(frozen=True)
class Comparison:
    """Apply the event if `outcome` is `apply` or `gap`."""

    outcome: Literal["apply", "gap", "duplicate", "stale"]
    """`apply`: the next event, or the first; `gap`: newer, but earlier events have not arrived; `duplicate`: the event
    that was applied last; `stale`: older than that."""
    missing: int = 0
    """Number of missing earlier events; 0 unless the outcome is `gap`."""


def compare_to_applied(applied: Position | None, position: Position) -> Comparison:
    """Decides what to do with an event. `applied` is the advert's last applied position, `None` if there is none."""
    if applied is None:
        return Comparison("apply")
    if position <= applied:
        return Comparison("duplicate" if position == applied else "stale")
    missing = position[1] - 1 - (applied[1] if position[0] == applied[0] else 0)
    return Comparison("gap", missing) if missing > 0 else Comparison("apply")


class AdvertBusyError(Exception):
    """Another worker is applying events of this advert, or died while it did so. Leave the message in the queue."""


class ClaimLostError(Exception):
    """The claim expired before the event was applied: set `lease_seconds` to more than applying can take."""


class Positions(Protocol):
    """What a handler needs: `DynamoDbPositions`, `InMemoryPositions` of `advert_bridge.testing`, or your own."""

    def apply_if_newer(
        self, event: AdvertEvent, apply: Callable[[AdvertEvent], object], *, lease_seconds: float = ...
    ) -> Comparison: ...


class DynamoDbClient(Protocol):
    """The part of a DynamoDB client that is used here: `boto3.client("dynamodb")` has it."""

    def update_item(self, **kwargs: Any) -> Any: ...


NAMES = {"#generation": "generation", "#sequence": "sequence", "#owner": "claimOwner", "#until": "claimUntil"}
IS_NEWER = (
    "(attribute_not_exists(#generation) OR #generation < :generation"
    " OR (#generation = :generation AND #sequence < :sequence))"
)


class DynamoDbPositions:
    """Positions in a DynamoDB table with the key `pk`, a string. The TypeScript kit uses the same items.

    Needs dynamodb:UpdateItem on the table. Do not set a time to live on the items.
    """

    def __init__(self, client: DynamoDbClient, table_name: str):
        if not callable(getattr(client, "update_item", None)):
            raise TypeError('client: expected a client with update_item, such as boto3.client("dynamodb")')
        if not table_name:
            raise ValueError("table_name: expected the name of a table; is its environment variable set?")
        self._client = client
        self._table_name = table_name

    def apply_if_newer(
        self, event: AdvertEvent, apply: Callable[[AdvertEvent], object], *, lease_seconds: float = 15 * 60
    ) -> Comparison:
        """Claims the advert, calls `apply` unless the event is stale or a duplicate, and stores the position.

        After a crash between these steps, the event is applied again when its message is redelivered, so `apply` must
        be idempotent. Raises AdvertBusyError, ClaimLostError or the error of `apply`; in each case leave the message in
        the queue.
        """
        if not lease_seconds > 0:
            raise ValueError("lease_seconds: expected more than 0, and more than the time that applying can take")
        key, owner, now = event.advert_key, {"S": str(uuid.uuid4())}, time.time()
        generation, sequence = ({"N": str(number)} for number in event.position)
        ours = {":owner": owner, ":generation": generation, ":sequence": sequence}
        times = {":now": {"N": str(int(now * 1000))}, ":until": {"N": str(int((now + lease_seconds) * 1000))}}
        is_free = "(attribute_not_exists(#owner) OR #until <= :now OR #owner = :owner)"
        claim = "SET #owner = :owner, #until = :until"
        claimed, applied = self._update(key, claim, f"{IS_NEWER} AND {is_free}", ours | times)
        comparison = compare_to_applied(applied, event.position)
        if comparison.outcome in ("duplicate", "stale"):
            return comparison
        if not claimed:
            raise AdvertBusyError(f"another worker is applying events of advert {key}")
        try:
            apply(event)
        except BaseException:
            with contextlib.suppress(Exception):  # Raise the error of `apply`; the claim expires by itself.
                self._update(key, "REMOVE #owner, #until", "#owner = :owner", {":owner": owner})
            raise
        remember = "SET #generation = :generation, #sequence = :sequence REMOVE #owner, #until"
        confirmed, applied = self._update(key, remember, f"#owner = :owner AND {IS_NEWER}", ours)
        # The SDK may have sent our own write twice: then the first attempt has succeeded.
        if not confirmed and applied != event.position:
            raise ClaimLostError(f"the claim on advert {key} expired before its event was applied")
        return comparison

    def _update(
        self, key: str, update: str, condition: str, values: dict[str, Any]
    ) -> tuple[bool, Position | None]:
        """Returns whether the condition was met, and the position in the item afterwards."""
        try:
            answer = self._client.update_item(
                TableName=self._table_name,
                Key={"pk": {"S": key}},
                UpdateExpression=update,
                ConditionExpression=condition,
                ExpressionAttributeNames={name: to for name, to in NAMES.items() if name in update + condition},
                ExpressionAttributeValues=values,
                ReturnValues="ALL_NEW",
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
            )
        except Exception as error:
            response = getattr(error, "response", {})
            if response.get("Error", {}).get("Code") == "ConditionalCheckFailedException":
                return False, _position(response.get("Item", {}))
            if "key element does not match" in str(error):
                expected = f"the key of table {self._table_name} is not pk, a string, without a sort key"
                raise TypeError(f"table_name: {expected}: use another table") from error
            raise
        return True, _position(answer["Attributes"])


def _position(item: dict[str, Any]) -> Position | None:
    return (int(item["generation"]["N"]), int(item["sequence"]["N"])) if "generation" in item else None
