"""sqlalchemy-dlock's locks (https://github.com/tanbro/sqlalchemy-dlock) on Postgres and MariaDB, as shipped: each on a
connection of SQLAlchemy's own pool. The argument names the database: postgres or mysql.

Its documentation (0.9.0, https://sqlalchemy-dlock.readthedocs.io/) promises locks by pg_advisory_lock and GET_LOCK, which
one connection holds, and an error for the release of a lock that the connection does not have. acquire returns
False when its time is over. Nothing tells of a lock that ended with its connection.

On Postgres the library asks again and again while it waits: here every 0.1 s, the shortest that it allows, not every
second.
"""
import sys

import sqlalchemy
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy_dlock import create_sadlock
from sqlalchemy_dlock.exceptions import SqlAlchemyDLockDatabaseError

import picklock

DATABASE = sys.argv[1]
URLS = {"postgres": "postgresql+psycopg2://postgres@{}/postgres", "mysql": "mysql+pymysql://root@{}/"}
POLLING = {"interval": 0.1} if DATABASE == "postgres" else {}


class Lock:
    def open(self, servers, client, ttl_ms, options):
        self.engine, self.held = sqlalchemy.create_engine(URLS[DATABASE].format(servers[0])), {}
        return {"lease": False, "confirms": True, **picklock.loaded("sqlalchemy-dlock")}

    def acquire(self, key, timeout_ms, shared):
        try:
            connection = self.engine.connect()
        except SQLAlchemyError as e:
            raise picklock.NotSent(repr(e)) from e
        try:
            lock = create_sadlock(connection, key)
            got = lock.acquire(timeout=timeout_ms / 1000, **POLLING)
        except (SQLAlchemyError, SqlAlchemyDLockDatabaseError) as e:  # it may have taken effect or not
            self.leave(connection)
            raise picklock.Unknown(repr(e)) from e
        if not got:
            self.leave(connection)
            return None
        self.held[key] = lock, connection
        return {}

    def release(self, key):
        if key not in self.held:
            return False
        lock, connection = self.held.pop(key)
        try:
            lock.release()
        except SqlAlchemyDLockDatabaseError:  # the server's own word
            return False
        except SQLAlchemyError as e:
            raise picklock.Unknown(repr(e)) from e
        finally:
            self.leave(connection)
        return True

    def leave(self, connection):
        """What the end of a with statement does: the connection goes back to its pool, unless it is broken."""
        try:
            connection.close()
        except SQLAlchemyError as e:
            print(repr(e), file=sys.stderr)

    def close(self):
        """A lock knows only the thread that has taken it: their connections are ended, and with them the locks."""
        for _, connection in list(self.held.values()):
            connection.invalidate()
            self.leave(connection)
        self.engine.dispose()


picklock.serve(Lock)
