import json
from datetime import datetime, timezone

import pytest

from advert_bridge import AdvertEvent, AdvertStatusChanged, AdvertUnavailable, AuthorizationEvent, RefusedEventError, parse_body, parse_event

from vectors import body_of, document, event_body, repository


def test_reads_every_field() -> None:
    event = parse_body(event_body("main/1", 1_763_640_000, 2))
    assert isinstance(event, AdvertStatusChanged)
    assert event.bridge == "AdvertBridge"
    assert event.detail_type == "AdvertStatusChanged"
    assert event.event_id == "main/1763640000/1/2"
    assert (event.advert_key, event.position) == ("main/1", (1_763_640_000, 2))
    assert (event.status, event.previous_status, event.cause) == ("active", "new", "feed")
    assert event.observed_at == datetime(2026, 11, 20, 12, 0, 0, 123_000, tzinfo=timezone.utc)
    assert event.raw["source"] == "advert-bridge"


def test_an_unavailable_advert_has_no_status() -> None:
    event = parse_body(event_body("main/1", 1_763_640_000, 3))
    assert isinstance(event, AdvertUnavailable)
    assert event.status is None


def test_keeps_fields_that_it_does_not_know() -> None:
    event = parse_body(body_of("accepted: unknown fields"))
    assert event.raw["detail"]["data"]["price"] == 12.5


@pytest.mark.parametrize("body", ["[" * 200_000, "1" * 5_000, "{" * 5_000, ""])
def test_refuses_what_no_parser_takes(body: str) -> None:
    with pytest.raises(RefusedEventError, match="expected JSON"):
        parse_body(body)


schemas = sorted((repository / "docs/schemas").glob("*.schema.json"))


@pytest.mark.parametrize("schema", schemas, ids=lambda each: each.stem)
def test_reads_the_examples_of_the_schemas(schema: object) -> None:
    for example in json.loads((repository / "docs/schemas" / str(schema)).read_text("utf-8")).get("examples", []):
        event = parse_event(example)
        assert isinstance(event, AdvertEvent | AuthorizationEvent)
        assert event.event_id == example["detail"]["metadata"]["eventId"]


def test_says_what_is_wrong_and_repeats_nothing_of_it() -> None:
    for body in ('{"password": "hunter2"', '{"source": "hunter2"}'):
        with pytest.raises(RefusedEventError) as caught:
            parse_body(body)
        assert caught.value.code == "not-an-event"
        assert "hunter2" not in str(caught.value)
        assert caught.value.__cause__ is None


@pytest.mark.parametrize("message", [name for name in document["messages"] if name.startswith("refused:")])
def test_refuses(message: str) -> None:
    with pytest.raises(RefusedEventError):
        parse_body(body_of(message))
