"""python-dynamodb-lock: is the app told that its lock is in danger while a heartbeat hangs?

Needs DynamoDB, as DynamoDB Local, and `pip install python-dynamodb-lock==0.9.1`, and no picklock:
python3 python-dynamodb-lock-no-notice.py http://127.0.0.1:8000
"""
import datetime
import os
import sys
import threading
import time

import boto3
from python_dynamodb_lock.python_dynamodb_lock import DynamoDBLockClient

LEASE = 6  # s
HANG = 15  # s, which is less than boto3 waits for an answer


def seconds(n):
    return datetime.timedelta(seconds=n)


def connect(name):
    db = boto3.resource("dynamodb", endpoint_url=sys.argv[1], region_name="us-east-1", aws_access_key_id="x", aws_secret_access_key="x")
    return db, DynamoDBLockClient(db, owner_name=name, heartbeat_period=seconds(1), safe_period=seconds(4), lease_duration=seconds(LEASE))


db, a = connect("A")
try:
    DynamoDBLockClient.create_dynamodb_table(db.meta.client)
except db.meta.client.exceptions.ResourceInUseException:
    pass
_, b = connect("B")

began, told = time.monotonic(), []


def say(what):
    print("%5.1f s  %s" % (time.monotonic() - began, what), flush=True)


def in_danger(code, lock):
    told.append(time.monotonic() - began)
    say("A is told: " + code)


key = "job-%d" % os.getpid()
a.acquire_lock(key, app_callback=in_danger)
say("A has the lock; from now on its heartbeats hang, and its app_callback is to be called after 4 s")
table, send = a._dynamodb_table, a._dynamodb_table.update_item


def hang(**request):
    time.sleep(HANG)  # as a request that gets no answer
    return send(**request)


table.update_item = hang
b.acquire_lock(key, retry_period=seconds(0.2), retry_timeout=seconds(60))
granted = time.monotonic() - began
say("B is granted the lock")
while not told and time.monotonic() - began < 2 * HANG:
    time.sleep(0.1)
print("BROKEN: A was told %s" % ("%.1f s after B was granted the lock" % (told[0] - granted) if told else "nothing") if not told or told[0] > granted else "A was told in time")
sys.stdout.flush()
os._exit(0)
