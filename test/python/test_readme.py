import re
from typing import Any

import boto3
import pytest

from vectors import event_body, repository


def test_each_snippet_of_the_readme_works_by_itself(dynamodb: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    readme = (repository / "kits/python/README.md").read_text("utf-8")
    first, powertools, testing = re.findall(r"```python\n(.*?)```", readme, re.S)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    boto3.client("dynamodb").create_table(
        TableName="search-positions",
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
    )
    for number, (code, printed) in enumerate([(first, "1 active\n"), (powertools, "active\n")]):
        scope: dict[str, Any] = {}
        exec(code, scope)
        body = event_body("main/1", 1_763_640_000, (2, 5)[number])
        record = {"messageId": "1", "body": body, "eventSource": "aws:sqs"}
        assert scope["handler"]({"Records": [record]}, None) == {"batchItemFailures": []}
        assert capsys.readouterr().out == printed
    scope = {}
    exec(testing, scope)
    tests = [name for name in scope if name.startswith("test_")]
    assert len(tests) == 2
    for name in tests:
        scope[name]()
