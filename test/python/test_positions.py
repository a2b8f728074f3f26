import time
from typing import Any

import pytest

from advert_bridge import AdvertBusyError, AdvertEvent, ClaimLostError, DynamoDbPositions, parse_body

from vectors import event_body

GENERATION = 1_763_640_000


def event(sequence: int, advert: str = "main/1") -> AdvertEvent:
    parsed = parse_body(event_body(advert, GENERATION, sequence))
    assert isinstance(parsed, AdvertEvent)
    return parsed


def item_in(dynamodb: Any) -> Any:
    return dynamodb.get_item(TableName="positions", Key={"pk": {"S": "main/1"}})["Item"]


def test_keeps_the_items_of_the_typescript_kit(positions: DynamoDbPositions, dynamodb: Any) -> None:
    positions.apply_if_newer(event(2), lambda _: None)
    assert item_in(dynamodb) == {"pk": {"S": "main/1"}, "generation": {"N": str(GENERATION)}, "sequence": {"N": "2"}}


def test_remembers_nothing_when_applying_fails(positions: DynamoDbPositions, dynamodb: Any) -> None:
    def fail(_: AdvertEvent) -> None:
        raise RuntimeError("index is down")

    with pytest.raises(RuntimeError):
        positions.apply_if_newer(event(1), fail)
    assert item_in(dynamodb) == {"pk": {"S": "main/1"}}
    assert positions.apply_if_newer(event(1), lambda _: None).outcome == "apply"


def test_keeps_others_off_while_applying(positions: DynamoDbPositions) -> None:
    def meanwhile(_: AdvertEvent) -> None:
        with pytest.raises(AdvertBusyError):
            positions.apply_if_newer(event(3), lambda _: None)
        assert positions.apply_if_newer(event(1, "main/12345678901234567890"), lambda _: None).outcome == "apply"

    positions.apply_if_newer(event(2), meanwhile)


def test_loses_a_claim_that_ran_out(positions: DynamoDbPositions, monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time()

    def overtaken(_: AdvertEvent) -> None:
        monkeypatch.setattr(time, "time", lambda: now + 61)
        positions.apply_if_newer(event(3), lambda _: None)

    with pytest.raises(ClaimLostError):
        positions.apply_if_newer(event(2), overtaken, lease_seconds=60)


@pytest.mark.parametrize("lease_seconds", [-1, 0, float("nan")])
def test_refuses_a_claim_that_protects_nothing(positions: DynamoDbPositions, lease_seconds: float) -> None:
    with pytest.raises(ValueError, match="lease_seconds: expected more than 0"):
        positions.apply_if_newer(event(1), print, lease_seconds=lease_seconds)


def test_lets_faults_of_dynamodb_through(dynamodb: Any) -> None:
    with pytest.raises(dynamodb.exceptions.ResourceNotFoundException):
        DynamoDbPositions(dynamodb, "missing").apply_if_newer(event(1), lambda _: None)
    with pytest.raises(ValueError, match="table_name"):
        DynamoDbPositions(dynamodb, "")
    with pytest.raises(TypeError, match="client"):
        DynamoDbPositions(None, "positions")  # type: ignore[arg-type]


def test_names_a_table_with_another_key(dynamodb: Any) -> None:
    key = {"AttributeName": "advert"}
    dynamodb.create_table(
        TableName="adverts",
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[key | {"AttributeType": "S"}],
        KeySchema=[key | {"KeyType": "HASH"}],
    )
    with pytest.raises(TypeError, match="table_name: the key of table adverts is not pk, .*: use another table"):
        DynamoDbPositions(dynamodb, "adverts").apply_if_newer(event(1), lambda _: None)
