import re
from typing import Any

import boto3
import pytest

from vectors import event_body, repository


def test_the_first_lines_of_the_readme_work(dynamodb: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    readme = (repository / "kits/python/README.md").read_text("utf-8")
    code = re.findall(r"```python\n(.*?)```", readme, re.S)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    boto3.client("dynamodb").create_table(
        TableName="search-positions",
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
    )
    scope: dict[str, Any] = {}
    exec(code[0], scope)
    record = {"messageId": "1", "body": event_body("main/1", 1_763_640_000, 2), "eventSource": "aws:sqs"}
    assert scope["handler"]({"Records": [record]}, None) == {"batchItemFailures": []}
    exec("from advert_bridge import parse_body\n" + code[1], scope)
    record["body"] = event_body("main/1", 1_763_640_000, 5)
    assert scope["handler"]({"Records": [record]}, None) == {"batchItemFailures": []}
    assert capsys.readouterr().out == "1 active\nactive\n"
