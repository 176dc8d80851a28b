import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** What tests with mistakes in them come to; found has none. */
@ExtendWith(Picklock.Resolver.class)
class MistakesTest {
    static final class Noisy extends RedisLockTest.Adapted {
        Noisy(Picklock.Client client) {
            super(client);
            System.out.println("a word of the lock");
        }

        @Override
        public long token() { return 1; } // none that rises
    }

    static final class Dozing extends RedisLockTest.Adapted implements Picklock.SelfRenewing { // it does not
        Dozing(Picklock.Client client) { super(client); }
    }

    private static final Class<? extends Picklock.Lock> LOCK = RedisLockTest.Adapted.class;

    @Test
    void noisy(Picklock picklock) throws Exception {
        picklock.check(Noisy.class, "--cluster=redis");
    }

    @Test
    void dozing(Picklock picklock) throws Exception {
        picklock.check(Dozing.class, "--cluster=redis");
    }

    @Test
    void found(Picklock picklock) throws Exception {
        picklock.hunt(LOCK, "--cluster=redis", "--max-faults=0", "--faults=none", "--jobs=1", "--duration=20s", "--fail-fast", "--finish=0s").breaks("stale-write");
    }

    @Test
    void unproved(Picklock picklock) throws Exception {
        picklock.run(LOCK, "--cluster=redis", "--clients=1", "--duration=1s").holds();
    }

    @Test
    void unasked(Picklock picklock) throws Exception {
        picklock.run(LOCK, "--cluster=redis", "--clients=1", "--duration=1s");
    }

    @Test
    void cannot(Picklock picklock) throws Exception {
        picklock.run(LOCK, "--cluster=nowhere").holds();
    }

    @Test
    void anotherAnomaly(Picklock picklock) throws Exception {
        picklock.scenario("pause-holder", LOCK, "--cluster=redis").asExpected().breaks("token-reuse");
    }
}
