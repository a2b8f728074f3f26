import json

import pytest

from advert_bridge import AdvertBusyError, AdvertStatusChanged, AdvertUnavailable, parse_body
from advert_bridge.testing import InMemoryPositions, an_advert_event, an_advert_history


def test_fixtures_are_events_that_the_kit_reads() -> None:
    events = [parse_body(json.dumps(event)) for event in an_advert_history(["active", None], advert_id="7")]
    assert [type(event) for event in events] == [AdvertStatusChanged, AdvertUnavailable]
    last = events[1]
    assert isinstance(last, AdvertUnavailable)
    assert (last.advert_key, last.sequence, last.previous_status) == ("main/7", 2, "active")


def test_positions_in_memory_forget_an_event_that_failed_and_refuse_a_claimed_advert() -> None:
    positions = InMemoryPositions()
    event = parse_body(json.dumps(an_advert_event()))
    assert isinstance(event, AdvertStatusChanged)
    with pytest.raises(AdvertBusyError):
        positions.apply_if_newer(event, lambda event: positions.apply_if_newer(event, print))
    assert positions.applied == {}
    assert positions.apply_if_newer(event, lambda _: None).outcome == "apply"
