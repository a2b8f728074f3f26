import json
from datetime import datetime, timezone

import pytest

from advert_bridge import AdvertStatusChanged, RefusedEventError, parse_body, parse_event

from vectors import body_of, event_body, repository


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


def test_keeps_fields_that_it_does_not_know() -> None:
    event = parse_body(body_of("accepted: unknown fields"))
    assert event.raw["detail"]["data"]["price"] == 12.5


def test_reads_the_examples_of_the_schema() -> None:
    schema = json.loads((repository / "docs/schemas/AdvertBridgeEvent.schema.json").read_text("utf-8"))
    for example in schema["examples"]:
        assert parse_event(example).event_id == example["detail"]["metadata"]["eventId"]


@pytest.mark.parametrize("body", ["[" * 200_000, "1" * 5_000, "{" * 5_000, '{"key": "hunter2"', '{"source": "hunter2"}'])
def test_repeats_nothing_of_what_it_refuses(body: str) -> None:
    with pytest.raises(RefusedEventError) as caught:
        parse_body(body)
    assert caught.value.code == "not-an-event"
    assert "hunter2" not in str(caught.value)
    assert caught.value.__cause__ is None

