import java.io.IOException;
import java.time.Duration;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** sh docs/examples/junit/run.sh, with picklock and redis-server at hand. */
@ExtendWith(Picklock.Resolver.class)
class RedisLockTest {
    /** The lock as one client has it, in a process of its own. */
    static class Adapted implements Picklock.Leased, Picklock.Fenced, Picklock.Renewing, Picklock.Confirming {
        private final RedisLock lock;

        Adapted(Picklock.Client client) {
            lock = new RedisLock(client.servers().get(0), client.key(), client.ttl());
        }

        @Override
        public boolean acquire(Duration timeout) throws Exception { return lock.acquire(timeout); }

        @Override
        public boolean release() throws IOException { return lock.release(); }

        @Override
        public boolean renew() throws IOException { return lock.renew(); }

        @Override
        public Duration lease() { return lock.lease(); }

        @Override
        public long since() { return lock.since(); }

        @Override
        public long token() { return lock.token(); }

        @Override
        public boolean definite(Exception e) { return e instanceof RedisLock.NotSent; }

        @Override
        public void close() throws IOException { lock.close(); }
    }

    @Test
    void theAdapterIsRight(Picklock picklock) throws Exception {
        picklock.check(Adapted.class, "--cluster=redis");
    }

    @Test
    void holdsWhenClientsAreKilled(Picklock picklock) throws Exception {
        picklock.run(Adapted.class, "--cluster=redis", "--fencing=read-write", "--faults=kill:holder", "--duration=3s").holds();
    }

    @Test
    void releasesOnlyItsOwn(Picklock picklock) throws Exception {
        picklock.scenario("del-without-owner", Adapted.class, "--cluster=redis").holds();
    }

    @Test
    void aPausedHolderWritesTooLate(Picklock picklock) throws Exception {
        picklock.scenario("pause-holder", Adapted.class, "--cluster=redis").breaks("stale-write");
    }

    @Test
    void unlessTheResourceLooksAtTokens(Picklock picklock) throws Exception {
        picklock.scenario("pause-holder", Adapted.class, "--cluster=redis", "--fencing=read-write").holds();
    }
}
