"""python-dynamodb-lock's lock (https://github.com/mohankishore/python_dynamodb_lock) on Amazon's DynamoDB, whose holder
sends heartbeats.

Its documentation (0.9.1, https://python-dynamodb-lock.readthedocs.io/en/latest/) promises: a client takes a lock over
only if its record has not changed for a lease; the app_callback is called if the lock was stolen, or is in danger; and
"if the send_heartbeat calls start hanging or taking too long, the other thread will allow the client to notify the
app". That callback is the loss here. A release that is not best_effort says whether the lock was still its own.

boto3 has its defaults: it waits 60 s for an answer. A lease has six heartbeats, and the lock is in danger after two
thirds of it, as by the library's defaults. A lease counts in quarters of a second, which the library can write down exactly.
"""
import datetime
import math

import boto3
import botocore.config
import botocore.exceptions
import python_dynamodb_lock.python_dynamodb_lock as library

import picklock

KEYS = {library.DynamoDBLockClient._DEFAULT_PARTITION_KEY_NAME: "HASH", library.DynamoDBLockClient._DEFAULT_SORT_KEY_NAME: "RANGE"}


class Timed:
    """The library's table, which remembers when what has taken or renewed a lease was sent."""

    def __init__(self, table, renewed):
        self.table, self.renewed, self.sent = table, renewed, None

    def __getattr__(self, name):
        return getattr(self.table, name)

    def put_item(self, **request):
        sent = picklock.monotonic()
        answer = self.table.put_item(**request)
        self.sent = sent
        return answer

    def update_item(self, **request):
        sent = picklock.monotonic()
        answer = self.table.update_item(**request)
        self.renewed(request["Key"][library.DynamoDBLockClient._DEFAULT_PARTITION_KEY_NAME], sent)
        return answer


class Lock:
    def open(self, servers, client, ttl_ms, options):
        seconds = math.ceil(ttl_ms / 250) / 4
        self.ttl, self.held = int(seconds * 1000), {}
        db = boto3.resource("dynamodb", endpoint_url="http://" + servers[0], region_name="us-east-1", config=botocore.config.Config(proxies={}),
                            aws_access_key_id="picklock", aws_secret_access_key="picklock")
        try:
            # As the library's own helper, which also has DynamoDB delete old records: within an hour that does nothing.
            db.create_table(
                TableName=library.DynamoDBLockClient._DEFAULT_TABLE_NAME, BillingMode="PAY_PER_REQUEST",
                KeySchema=[{"AttributeName": name, "KeyType": kind} for name, kind in KEYS.items()],
                AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in KEYS])
        except botocore.exceptions.ClientError as e:
            if e.response["Error"]["Code"] != "ResourceInUseException":  # another client has made it
                raise
        span = datetime.timedelta(seconds=seconds)
        self.client = library.DynamoDBLockClient(db, owner_name=client, heartbeat_period=span / 6, safe_period=span * 2 / 3, lease_duration=span)
        self.table = self.client._dynamodb_table = Timed(self.client._dynamodb_table, self.renewed)
        return {"lease": True, "watchdog": True, "notifies": True, "confirms": True, **picklock.loaded("python-dynamodb-lock")}

    def renewed(self, key, sent):
        if key in self.held:
            picklock.renewed(key, self.ttl, sent)

    def in_danger(self, code, lock):
        if self.held.get(lock.partition_key) is lock:
            picklock.lost(lock.partition_key)

    def acquire(self, key, timeout_ms, shared):
        try:
            lock = self.client.acquire_lock(
                key, retry_period=datetime.timedelta(milliseconds=max(10, self.ttl // 20)),
                retry_timeout=datetime.timedelta(milliseconds=max(1, timeout_ms)), app_callback=self.in_danger)
        except library.DynamoDBLockError as e:
            if e.code == library.DynamoDBLockError.ACQUIRE_TIMEOUT:
                return None
            raise picklock.Unknown(str(e)) from e
        self.held[key] = lock
        return {"lease_ms": self.ttl, "since_ns": self.table.sent}

    def release(self, key):
        """Of a lock that was stolen or released it says nothing at all."""
        lock = self.held.get(key)
        if lock is None or lock.status not in (library.DynamoDBLock.LOCKED, library.DynamoDBLock.IN_DANGER):
            return False
        try:
            self.client.release_lock(lock, best_effort=False)
        except library.DynamoDBLockError as e:
            if e.code in (library.DynamoDBLockError.LOCK_STOLEN, library.DynamoDBLockError.LOCK_NOT_OWNED):
                return False
            raise picklock.Unknown(str(e)) from e
        return lock.status == library.DynamoDBLock.RELEASED  # a heartbeat may have found meanwhile that it was stolen

    def close(self):
        self.client.close(release_locks=True)


picklock.serve(Lock)
