import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** A scenario of a file, which needs no name beside it. */
@ExtendWith(Picklock.Resolver.class)
class FileTest {
    @Test
    void file(Picklock picklock) throws Exception {
        picklock.scenario(null, RedisLockTest.Adapted.class, "--file=own.yaml", "--cluster=redis").asExpected().breaks("stale-write");
    }
}
