"""The events as Python types, and functions that parse them."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

SUPPORTED_MAJOR = "1"
DEFAULT_BRIDGE = "AdvertBridge"
ADVERT_TYPES = ("AdvertStatusChanged", "AdvertUnavailable")
DETAIL_TYPES = (*ADVERT_TYPES, "PartnerAuthorizationRequired", "PartnerAuthorizationRestored")


class RefusedEventError(ValueError):
    """The input is not an event that this kit can read: it belongs in a dead-letter queue. `code` says why."""

    def __init__(self, message: str, code: Literal["not-an-event", "unsupported-version", "unknown-detail-type"]):
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class Event:
    """The fields that all events have."""

    detail_type: str
    event_id: str
    """All copies of an event have the same ID: use it to deduplicate."""
    bridge: str
    """Name of the bridge; `AdvertBridge` for an event of schema version 1.0, which does not name it."""
    partner_account: str
    generation: int
    """Number of the history; a greater one starts again at sequence 1."""
    observed_at: datetime
    raw: Mapping[str, Any] = field(repr=False)
    """The whole event as received, including fields that this version does not know."""


@dataclass(frozen=True)
class AdvertEvent(Event):
    """An AdvertStatusChanged or AdvertUnavailable: one entry in the history of an advert."""

    sequence: int
    listed_at: datetime
    cause: str
    advert_id: str
    """ID at the partner service: digits."""
    status: str | None
    """Status in the words of the partner service, or `None`: the advert is unavailable."""
    previous_status: str | None
    """`None` in the first event of a history, and after `AdvertUnavailable`."""

    @property
    def advert_key(self) -> str:
        """Key of the event's advert: `main/123`, or `Shop/main/123` for a bridge that is not named `AdvertBridge`."""
        key = f"{self.partner_account}/{self.advert_id}"
        return key if self.bridge == DEFAULT_BRIDGE else f"{self.bridge}/{key}"

    @property
    def position(self) -> tuple[int, int]:
        """(generation, sequence). Of two events of an advert, the newer one has the greater tuple."""
        return (self.generation, self.sequence)


@dataclass(frozen=True)
class AdvertStatusChanged(AdvertEvent):
    """The advert has another status than the last published one, or was seen for the first time."""

    status: str


@dataclass(frozen=True)
class AdvertUnavailable(AdvertEvent):
    """The partner service no longer knows the advert."""

    status: None


@dataclass(frozen=True)
class AuthorizationEvent(Event):
    """A PartnerAuthorizationRequired or PartnerAuthorizationRestored."""

    reason: str


def _refuse(message: str) -> RefusedEventError:
    return RefusedEventError(message, "not-an-event")


def _at(value: Any, place: str, *kinds: type) -> Any:
    """Returns the field at a path such as `detail.data.status`. Raises RefusedEventError if it is missing or wrong."""
    for name in place.split("."):
        if not isinstance(value, Mapping) or name not in value:
            raise _refuse(f"{place}: missing")
        value = value[name]
    if not isinstance(value, kinds) or isinstance(value, bool):
        raise _refuse(f"{place}: expected {' or '.join(kind.__name__ for kind in kinds)}")
    return value


def _text(event: Any, place: str, pattern: str = r"[\s\S]*") -> str:
    found: str = _at(event, place, str)
    if not re.fullmatch(pattern, found):
        raise _refuse(f"{place}: expected text that matches {pattern}")
    return found


def _number(event: Any, place: str) -> int:
    found: int | float = _at(event, place, int, float)
    if not 1 <= found < 2**53 or found != int(found):
        raise _refuse(f"{place}: expected a whole number from 1")
    return int(found)


def _instant(event: Any, place: str) -> datetime:
    found = _text(event, place, r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,3})?Z")
    try:
        return datetime.strptime(found, f"%Y-%m-%dT%H:%M:%S{'.%f' if '.' in found else ''}%z")
    except ValueError:
        raise _refuse(f"{place}: expected a time that exists") from None


def _status(event: Any, place: str) -> str:
    found = _text(event, place)
    if not 1 <= len(found) <= 256 or re.search(r"[\ud800-\udfff]", found):
        raise _refuse(f"{place}: expected 1 to 256 characters of well-formed text")
    return found


def parse_event(value: Any) -> AdvertStatusChanged | AdvertUnavailable | AuthorizationEvent:
    """Parses an event as EventBridge sends it. Accepts unknown fields and statuses. Raises RefusedEventError."""
    _text(value, "source", "advert-bridge")
    detail_type = _text(value, "detail-type", r"[A-Za-z0-9_.-]{1,128}")
    version = _text(value, "detail.metadata.schemaVersion", r"[0-9]{1,9}\.[0-9]{1,9}")
    if version.split(".")[0] != SUPPORTED_MAJOR:
        raise RefusedEventError(f"schema version {version}: this kit reads only 1.x, update it", "unsupported-version")
    if detail_type not in DETAIL_TYPES:
        raise RefusedEventError(f"detail type {detail_type}: unknown to this kit, update it", "unknown-detail-type")
    _instant(value, "time")
    if not all(isinstance(name, str) for name in _at(value, "resources", list)):
        raise _refuse("resources: expected strings")
    fields: dict[str, Any] = {
        "detail_type": detail_type,
        "event_id": _text(value, "detail.metadata.eventId"),
        "bridge": _text(value, "detail.metadata.bridge", r"[A-Za-z][A-Za-z0-9-]{0,63}")
        if "bridge" in value["detail"]["metadata"]
        else DEFAULT_BRIDGE,
        "partner_account": _text(value, "detail.metadata.partnerAccount", r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}"),
        "generation": _number(value, "detail.metadata.generation"),
        "observed_at": _instant(value, "detail.metadata.observedAt"),
        "raw": value,
    }
    if detail_type not in ADVERT_TYPES:
        return AuthorizationEvent(**fields, reason=_text(value, "detail.data.reason"))
    _text(value, "detail.metadata.correlationId")
    previous = "detail.data.previousStatus"
    fields |= {
        "sequence": _number(value, "detail.metadata.sequence"),
        "listed_at": _instant(value, "detail.metadata.listedAt"),
        "cause": _text(value, "detail.metadata.cause", r"[\s\S]+"),
        "advert_id": _text(value, "detail.data.advertId", r"[0-9]{1,20}"),
        "previous_status": None if _at(value, previous, object) is None else _status(value, previous),
    }
    if detail_type == "AdvertStatusChanged":
        return AdvertStatusChanged(**fields, status=_status(value, "detail.data.status"))
    return AdvertUnavailable(**fields, status=_at(value, "detail.data.status", type(None)))


def parse_body(body: str) -> AdvertStatusChanged | AdvertUnavailable | AuthorizationEvent:
    """Parses the body of an SQS message that an EventBridge rule sent. Raises RefusedEventError."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):  # The parser's message quotes the text, so the error omits it.
        raise _refuse("expected JSON") from None
    return parse_event(value)
