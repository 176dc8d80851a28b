import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** A scenario of a file. */
@ExtendWith(Picklock.Resolver.class)
class FileTest {
    @Test
    void file(Picklock picklock) throws Exception {
        picklock.scenario("own.yaml", RedisLockTest.Adapted.class, "--cluster=redis").asExpected().breaks("stale-write");
    }
}
