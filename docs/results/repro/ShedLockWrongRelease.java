// ShedLock's RedisLockProvider, as its README sets it up: does the unlock of a lock that is over free the lock of another?
// Needs a Redis: java -cp ... ShedLockWrongRelease.java 127.0.0.1 6379 [safe]. With safe, the provider's safeUpdate is on.
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.provider.redis.spring.RedisLockProvider;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

public class ShedLockWrongRelease {
    static long began = System.nanoTime();

    static LockProvider provider(String[] args) {
        LettuceConnectionFactory factory = new LettuceConnectionFactory(args[0], Integer.parseInt(args[1]));
        factory.afterPropertiesSet();
        factory.start();
        return new RedisLockProvider.Builder(factory).safeUpdate(args.length > 2).build();
    }

    static Optional<SimpleLock> lock(String who, LockProvider provider, Duration most) {
        Optional<SimpleLock> got = provider.lock(new LockConfiguration(Instant.now(), "job", most, Duration.ZERO));
        say(who + ": lock: " + (got.isPresent() ? "granted" : "taken") + ", lockAtMostFor " + most);
        return got;
    }

    static void say(String text) { System.out.printf("%5d ms  %s%n", (System.nanoTime() - began) / 1_000_000, text); }

    public static void main(String[] args) throws Exception {
        LockProvider a = provider(args), b = provider(args), c = provider(args);
        SimpleLock of = lock("A", a, Duration.ofSeconds(1)).orElseThrow();
        Thread.sleep(1200); // A's task takes longer than its lockAtMostFor
        lock("B", b, Duration.ofSeconds(30)).orElseThrow();
        of.unlock();
        say("A: unlock: no error");
        boolean both = lock("C", c, Duration.ofSeconds(30)).isPresent();
        say(both ? "BROKEN: C got the lock while B holds it for 30 s" : "as it should be: B alone holds the lock");
        System.exit(both ? 1 : 0);
    }
}
