"""What AWS's and Anthropic's own code make of it: a line of JSON in, a line of JSON out.

{"sign": {…}}  botocore's headers for that request
{"ask": url}   the events that Anthropic's client for Bedrock reads there, or the name of its error
"""

import json
import sys
from datetime import datetime

import anthropic
import botocore.auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

KEYS = {"aws_access_key": "AKIDEXAMPLE", "aws_secret_key": "canary/secret+key", "aws_session_token": "canary-session"}


def sign(method, url, headers, body, keys, region, service, now):
    botocore.auth.get_current_datetime = lambda *_, **__: datetime.fromisoformat(now)
    request = AWSRequest(method, url, headers=headers, data=body.encode())
    botocore.auth.SigV4Auth(Credentials(*keys), service, region).add_auth(request)
    return {name.lower(): value for name, value in request.headers.items() if name.lower() not in headers}


def ask(url):
    client = anthropic.AnthropicBedrock(base_url=url, aws_region="us-east-1", max_retries=0, **KEYS)
    events = []
    try:
        with client.messages.create(
            model="us.anthropic.claude-sonnet-5-v1:0",
            max_tokens=10,
            messages=[{"role": "user", "content": [{"type": "text", "text": "Hi"}]}],
            stream=True,
        ) as stream:
            events += [event.to_dict() for event in stream]
    except anthropic.APIError as error:
        events.append({"type": "error", "name": type(error).__name__})
    return events


for line in sys.stdin:
    (what, given), *_ = json.loads(line).items()
    print(json.dumps(sign(**given) if what == "sign" else ask(given)), flush=True)
