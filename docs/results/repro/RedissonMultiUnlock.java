// Redisson's RedissonMultiLock over two servers, all defaults but a watchdog of 3 s: if one of the two locks is lost, does
// an unlock free the other? Needs two Redis that know nothing of each other: java -cp ... RedissonMultiUnlock.java
// 127.0.0.1:6379 127.0.0.1:6380.
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.redisson.Redisson;
import org.redisson.RedissonMultiLock;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

public class RedissonMultiUnlock {
    static long began = System.nanoTime();

    static RedissonClient[] clients(String[] servers) {
        return Stream.of(servers).map(at -> {
            Config config = new Config();
            config.setLockWatchdogTimeout(3000);
            config.useSingleServer().setAddress("redis://" + at);
            return Redisson.create(config);
        }).toArray(RedissonClient[]::new);
    }

    static RLock lock(RedissonClient[] clients) {
        return new RedissonMultiLock(Stream.of(clients).map(c -> c.getLock("job")).toArray(RLock[]::new));
    }

    static void say(String text) { System.out.printf("%6d ms  %s%n", (System.nanoTime() - began) / 1_000_000, text); }

    public static void main(String[] servers) throws Exception {
        RedissonClient[] a = clients(servers), b = clients(servers);
        RLock of = lock(a);
        say("A: tryLock: " + of.tryLock());
        a[0].getKeys().delete("job"); // as a restart without a file does
        say("the first server has lost its lock");
        try {
            of.unlock();
            say("A: unlock: no error");
        } catch (IllegalMonitorStateException e) {
            say("A: unlock: " + e.getMessage());
        }
        boolean got = lock(b).tryLock(20, TimeUnit.SECONDS);
        say("B: tryLock, for up to 20 s: " + got);
        say(got ? "as it should be: B has the lock" : "BROKEN: nobody has the lock, the second server's is renewed, and B does not get it");
        System.exit(got ? 0 : 1);
    }
}
