"""The leader election of Kubernetes' client (https://github.com/kubernetes-client/python) on a Lease, as shipped: one
LeaderElection for each acquire, with the durations of its example (17, 15 and 5 s) scaled to the lease. The library
wants whole seconds of a lease, and no shorter retry than 1 s.

Its module (37.0.2, https://github.com/kubernetes-client/python/blob/v37.0.2/kubernetes/leaderelection/leaderelection.py)
promises that who creates or updates the lock first "becomes the leader and remains so until it keeps renewing its
lease". onstarted_leading is the grant. The end of run() that nobody asked for is the loss: it calls
onstopped_leading, or raises what the client raised. Renewals cannot be seen by its user, so that no lease is claimed.

A leader steps down by an exception in onstarted_leading. The library does not free the Lease: who waits for it
waits until it has ended. A candidate cannot be stopped: here its next request is not made, which ends it.
"""
import logging
import threading
import uuid

import kubernetes
from kubernetes.leaderelection.electionconfig import Config
from kubernetes.leaderelection.leaderelection import LeaderElection
from kubernetes.leaderelection.resourcelock.leaselock import LeaseLock

import picklock

logging.disable(logging.CRITICAL)


class Ended(Exception):
    """Nobody wants to lead any more."""


class Watched(LeaseLock):
    """The library's lock on a Lease, which also remembers what its user is not told."""

    def __init__(self, name, election):
        super().__init__(name, "default", uuid.uuid4())
        self.election, self.writing, self.doubt = election, False, False

    def get(self, name, namespace):
        self.election.goes_on()
        there, record = super().get(name, namespace)
        if there and record.holder_identity != self.identity:
            self.doubt = False  # what was written is not there, or no longer
        return there, record

    def create(self, name, namespace, election_record):
        return self.write(super().create, name, namespace, election_record)

    def update(self, name, namespace, updated_record):
        return self.write(super().update, name, namespace, updated_record)

    def write(self, write, name, namespace, record):
        """A refusal says nothing for certain: the client repeats a request whose answer is lost."""
        with self.election.changed:
            self.election.goes_on()
            self.writing = self.doubt = True
        try:
            return write(name, namespace, record)
        finally:
            with self.election.changed:
                self.writing = False
                self.election.changed.notify_all()


class Election:
    def __init__(self, key, seconds):
        self.key, self.seconds, self.changed = key, seconds, threading.Condition()
        self.led = self.over = self.done = self.told = False
        self.failure = None
        self.lock = Watched(key, self)
        config = Config(self.lock, lease_duration=seconds, renew_deadline=seconds * 15 / 17,
                        retry_period=max(1, seconds * 5 / 17), onstarted_leading=self.leads, onstopped_leading=lambda: None)
        self.election = LeaderElection(config)
        threading.Thread(target=self.run, daemon=True).start()

    def goes_on(self):
        if self.over and not self.led:
            raise Ended

    def leads(self):
        """What the leader does: it waits until it shall step down."""
        with self.changed:
            self.led = True
            self.changed.notify_all()
            self.changed.wait_for(lambda: self.over)
        raise Ended

    def run(self):
        try:
            self.election.run()
        except Exception as e:
            self.failure = e
        with self.changed:
            self.done = True
            self.changed.notify_all()
            if self.told and not self.over:
                self.over = True
                picklock.lost(self.key)

    def wait(self, timeout):
        """Whether it leads in time."""
        with self.changed:
            self.changed.wait_for(lambda: self.led or self.done, timeout)
            if self.led and not self.done:
                self.told = True
                return True
            self.over = True
            self.changed.notify_all()
            self.changed.wait_for(lambda: not self.lock.writing, self.seconds)
            if self.failure or self.led or self.lock.doubt:
                raise picklock.Unknown(f"it may have become the leader: {self.failure!r}")
            return False

    def end(self):
        """Whether it led until now."""
        with self.changed:
            if self.over:
                return False
            self.over = True
            self.changed.notify_all()
            if not self.changed.wait_for(lambda: self.done, 2 * self.seconds):
                raise picklock.Unknown("it does not end")
            if self.failure and not isinstance(self.failure, Ended):
                raise picklock.Unknown(repr(self.failure))
            return True


class Lock:
    def open(self, servers, client, ttl_ms, options):
        self.seconds, self.elections = max(2, -(-ttl_ms // 1000)), {}
        configuration = kubernetes.client.Configuration()
        configuration.host, configuration.verify_ssl = "https://" + servers[0], False
        configuration.api_key = {"authorization": "Bearer picklock"}
        kubernetes.client.Configuration.set_default(configuration)
        return {"lease": False, "watchdog": True, **picklock.loaded("kubernetes")}

    def acquire(self, key, timeout_ms, shared):
        election = Election(key, self.seconds)
        if not election.wait(timeout_ms / 1000):
            return None
        self.elections[key] = election
        return {}

    def release(self, key):
        return key in self.elections and self.elections[key].end()


picklock.serve(Lock)
