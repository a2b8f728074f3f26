from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws

from advert_bridge import DynamoDbPositions


@pytest.fixture
def dynamodb(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    with mock_aws():
        client = boto3.client("dynamodb", region_name="eu-central-1")
        client.create_table(
            TableName="positions",
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        )
        yield client


@pytest.fixture
def positions(dynamodb: Any) -> DynamoDbPositions:
    return DynamoDbPositions(dynamodb, "positions")
