import java.time.Duration;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import net.javacrumbs.shedlock.core.ClockProvider;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.core.SimpleLock;

/**
 * ShedLock's lock providers, as shipped: each in a class of its own, which opens it, since each is an artifact of its own.
 *
 * Its README (7.10.1, https://github.com/lukas-krecan/ShedLock) promises that a task of one name is executed at
 * most once at a time, for lockAtMostFor at the longest; after that the behaviour "may be unpredictable". It assumes
 * that the clocks of the nodes are synchronized, and recommends usingDbTime() for JDBC. A lock does not wait: who wants it asks again. An
 * unlock does not tell whether the lock was still held.
 */
abstract class ShedLocks extends Adapter implements AutoCloseable {
    private final String artifact;
    private LockProvider provider;
    private Duration most;
    private final Map<String, SimpleLock> held = new HashMap<>();

    ShedLocks(String artifact) { this.artifact = artifact; }

    abstract LockProvider provider(Open request) throws Exception;

    public Map<String, Object> open(Open request) throws Exception {
        most = Duration.ofMillis(request.ttlMs());
        provider = provider(request);
        Map<String, Object> abilities = new LinkedHashMap<>();
        abilities.put("lease", true);
        abilities.put("renew", true);
        return loaded(abilities, "net.javacrumbs.shedlock", artifact);
    }

    public Grant acquire(String key, long timeoutMs, boolean shared) throws Exception {
        long end = System.nanoTime() + timeoutMs * 1_000_000;
        while (true) {
            long since = System.nanoTime();
            Optional<SimpleLock> got;
            try {
                got = provider.lock(new LockConfiguration(ClockProvider.now(), key, most, Duration.ZERO));
            } catch (RuntimeException e) { // it may have taken effect or not
                throw new Unknown(e.toString());
            }
            if (got.isPresent()) {
                held.put(key, got.get());
                return new Grant(0, new Lease(most.toMillis(), since));
            }
            if (System.nanoTime() >= end) return null;
            Thread.sleep(50);
        }
    }

    public Lease renew(String key) throws Exception {
        if (!held.containsKey(key)) return null;
        long since = System.nanoTime();
        try {
            Optional<SimpleLock> extended = held.get(key).extend(most, Duration.ZERO);
            if (extended.isEmpty()) return null;
            held.put(key, extended.get());
            return new Lease(most.toMillis(), since);
        } catch (RuntimeException e) {
            throw new Unknown(e.toString());
        }
    }

    public boolean release(String key) throws Unknown {
        if (!held.containsKey(key)) return false;
        try {
            held.get(key).unlock();
            return true;
        } catch (RuntimeException e) {
            throw new Unknown(e.toString());
        }
    }
}
