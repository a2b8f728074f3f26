import json
import logging
import random
from collections.abc import Callable
from typing import Any

import pytest

from advert_bridge import AdvertEvent, BatchFailedError, DynamoDbPositions, advert_event_handler
from advert_bridge.testing import a_lambda_event, an_advert_history

from vectors import body_of, event_body

GENERATION = 1_763_640_000
NO_FAILURES: dict[str, list[dict[str, str]]] = {"batchItemFailures": []}


def batch(*bodies: str) -> dict[str, Any]:
    return {"Records": [{"messageId": f"message-{number}", "body": body} for number, body in enumerate(bodies, 1)]}


def body(sequence: int, advert: str = "main/1") -> str:
    return event_body(advert, GENERATION, sequence)


def failed(*message_ids: str) -> dict[str, list[dict[str, str]]]:
    return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in message_ids]}


def noting(seen: list[str], broken: str = "") -> Callable[[AdvertEvent], None]:
    def apply(event: AdvertEvent) -> None:
        name = f"{event.advert_id}/{event.sequence}"
        if name == broken:
            raise RuntimeError("no price")
        seen.append(name)

    return apply


def test_applies_what_is_new_in_order(positions: DynamoDbPositions) -> None:
    seen: list[str] = []
    handle = advert_event_handler(positions, {"AdvertStatusChanged": noting(seen)})
    assert handle(batch(body(2), body(1), body(2), body(5)), None) == NO_FAILURES
    assert seen == ["1/1", "1/2", "1/5"]


def test_keeps_the_order_of_each_group_of_a_fifo_queue(positions: DynamoDbPositions) -> None:
    seen: list[str] = []
    handle = advert_event_handler(positions, {"AdvertStatusChanged": noting(seen, broken="1/2")})
    other, third = "main/12345678901234567890", "Shop/main/1"
    sent = [(body(1), "a"), (body(2), "a"), (body(2, other), "b"), (body(3), "a"), ("nonsense", "a")]
    sent += [("nonsense", "c"), (body(1, third), "c"), (body(1, other), "b")]
    records = batch(*(text for text, _ in sent))
    for record, (_, group) in zip(records["Records"], sent):
        record["attributes"] = {"MessageGroupId": group}
    assert handle(records, None) == failed("message-2", "message-4", "message-5", "message-6", "message-7")
    assert seen == ["1/1", f"{other[5:]}/2"]


def test_does_not_take_the_groups_of_a_fair_queue_for_an_order(positions: DynamoDbPositions) -> None:
    seen, other = list[str](), "main/12345678901234567890"
    handle = advert_event_handler(positions, {"AdvertStatusChanged": noting(seen, broken="1/1")})
    records = batch(body(1), body(2, other), body(1, other))
    for record in records["Records"]:
        record |= {"attributes": {"MessageGroupId": "main"}, "eventSourceARN": "arn:aws:sqs:eu-west-1:1:adverts"}
    assert handle(records, None) == failed("message-1")
    assert seen == [f"{other[5:]}/{sequence}" for sequence in (1, 2)]


def test_applies_a_fifo_queue_in_order_around_a_failure(positions: DynamoDbPositions) -> None:
    adverts = [an_advert_history(["new", "active", "sold"], advert_id=advert_id) for advert_id in "12"]
    queue = a_lambda_event((event for each in zip(*adverts) for event in each), fifo=True)["Records"]
    applied: list[str] = []
    broken = {"1/2"}

    def apply(event: AdvertEvent) -> None:
        name = f"{event.advert_id}/{event.sequence}"
        if name in broken:
            broken.remove(name)
            raise RuntimeError("no price")
        applied.append(name)

    handle = advert_event_handler(positions, {"AdvertStatusChanged": apply})
    while batch := queue[:5]:
        answer = handle({"Records": batch}, None)["batchItemFailures"]
        failures = {each["itemIdentifier"] for each in answer}
        queue = [record for record in queue if record not in batch or record["messageId"] in failures]
    assert [name for name in applied if name[0] == "1"] == ["1/1", "1/2", "1/3"]
    assert [name for name in applied if name[0] == "2"] == ["2/1", "2/2", "2/3"]
    assert applied.index("2/2") < applied.index("1/2")


def test_one_poisoned_advert_costs_only_itself(
    positions: DynamoDbPositions, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[str] = []
    other = "main/12345678901234567890"
    handle = advert_event_handler(positions, {"AdvertStatusChanged": noting(seen, broken="1/2")})
    answer = handle(batch(body(5), body(2), body(1), body(1, other), body(2, other), "nonsense"), None)
    failures = {each["itemIdentifier"] for each in answer["batchItemFailures"]}
    assert failures == {"message-1", "message-2", "message-6"}
    assert sorted(seen) == ["1/1", f"{other[5:]}/1", f"{other[5:]}/2"]
    assert [record.levelno for record in caplog.records] == [logging.ERROR] * 2
    assert "if the event source mapping has ReportBatchItemFailures" in caplog.text
    assert "message-2" in caplog.text and "no price" in caplog.text and "message-6" in caplog.text


def test_raises_when_every_record_fails(dynamodb: Any) -> None:
    handle = advert_event_handler(DynamoDbPositions(dynamodb, "missing"), {"AdvertStatusChanged": print})
    with pytest.raises(BatchFailedError, match="all 2 records") as caught:
        handle(batch(body(1), body(2)), None)
    assert isinstance(caught.value.__cause__, dynamodb.exceptions.ResourceNotFoundException)


def test_reports_a_busy_advert_as_no_error(positions: DynamoDbPositions, caplog: pytest.LogCaptureFixture) -> None:
    answers: list[dict[str, list[dict[str, str]]]] = []
    handle = advert_event_handler(positions, {"AdvertStatusChanged": print})

    def meanwhile(_: AdvertEvent) -> None:
        answers.append(handle(batch(body(3)), None))

    advert_event_handler(positions, {"AdvertStatusChanged": meanwhile})(batch(body(2)), None)
    assert answers == [failed("message-1")]
    assert [record.levelno for record in caplog.records] == [logging.WARNING]


def test_warns_once_of_a_type_without_a_function(
    positions: DynamoDbPositions, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[str] = []
    on = {"PartnerAuthorizationRequired": lambda event: seen.append(event.reason)}
    handle = advert_event_handler(positions, on)
    assert handle(batch(body_of("accepted: an authorization event"), body(1)), None) == NO_FAILURES
    assert handle(batch(body(2)), None) == NO_FAILURES
    assert seen == ["refresh-token-rejected"]
    assert [record.getMessage()[:26] for record in caplog.records] == ["AdvertStatusChanged events"]


def test_applies_the_events_of_two_bridges(positions: DynamoDbPositions, caplog: pytest.LogCaptureFixture) -> None:
    seen: list[str] = []
    handle = advert_event_handler(positions, {"AdvertStatusChanged": noting(seen)})
    handle(batch(body(5), event_body("Shop/main/1", 999_999_999, 2)), None)
    assert seen == ["1/2", "1/5"]
    assert caplog.records == []
    for sequence in (9, 10):
        handle(batch(json.dumps(json.loads(body(sequence)) | {"account": "222222222222"})), None)
    assert ["two bridges named AdvertBridge" in record.getMessage() for record in caplog.records] == [True]


def test_checks_its_functions_when_it_is_made(positions: DynamoDbPositions) -> None:
    with pytest.raises(ValueError, match="AdvertStatusChanged"):
        advert_event_handler(positions, {})
    with pytest.raises(ValueError, match=r"did you mean AdvertStatusChanged\?"):
        advert_event_handler(positions, {"AdvertStatusChange": print})
    with pytest.raises(TypeError, match="positions: expected DynamoDbPositions"):
        advert_event_handler({}, {"AdvertStatusChanged": print})  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(5))
def test_ends_at_the_newest_status_in_any_order(positions: DynamoDbPositions, seed: int) -> None:
    chance = random.Random(seed)
    waiting = [body(sequence) for sequence in (1, 2, 3, 5, 9, 10)] * 2
    chance.shuffle(waiting)
    statuses: list[int] = []

    def apply(event: AdvertEvent) -> None:
        statuses.append(event.sequence)
        if chance.random() < 0.3:
            raise RuntimeError("crash after the work")

    handle = advert_event_handler(positions, {"AdvertStatusChanged": apply, "AdvertUnavailable": apply})
    while waiting:
        size = chance.randint(1, 4)
        taken, waiting = waiting[:size], waiting[size:]
        try:
            answer = handle(batch(*taken), None)
            again = {each["itemIdentifier"] for each in answer["batchItemFailures"]}
        except BatchFailedError:
            again = {f"message-{number}" for number in range(1, size + 1)}
        waiting += [each for number, each in enumerate(taken, 1) if f"message-{number}" in again]
    assert statuses[-1] == 10
