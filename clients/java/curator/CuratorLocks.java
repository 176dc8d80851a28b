import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMultiLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreMutex;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.framework.state.ConnectionStateListener;
import org.apache.curator.retry.ExponentialBackoffRetry;

/**
 * Apache Curator's locks on ZooKeeper, as shipped. The argument names the lock: mutex,
 * semaphore-mutex, multi (InterProcessMultiLock over two mutexes), rw or semaphore.
 *
 * Its documentation (5.9.0, https://curator.apache.org/docs/recipes-shared-reentrant-lock) promises
 * that at no time two clients think that they hold the same lock, and strongly recommends a listener:
 * after SUSPENDED nobody can be certain to hold it until RECONNECTED, and after LOST nobody does. Of multi it
 * promises (https://curator.apache.org/docs/recipes-multi-shared-lock) that an acquire takes all of its locks, or
 * releases those that it has taken.
 *
 * Option listener: on what a holder counts its lock as lost. suspended (default): when the connection
 * is down, as the documentation advises; lost: when the session has ended; none: never, as of a
 * program without a ConnectionStateListener.
 *
 * Option timeouts. scaled: by default Curator waits for a connection for 15 s and tries again after 1, 2 and 4 s, while a
 * session is 60 s. With a session of 1 s no request would be given up within it: so all waits are shortened as the session
 * is. library: its own.
 */
public class CuratorLocks extends Adapter implements AutoCloseable {
    private final String type;
    private CuratorFramework client;
    private int permits;
    private boolean beside;
    private final Map<String, InterProcessReadWriteLock> both = new ConcurrentHashMap<>(); // of rw: those of which one is held
    private final Map<String, InterProcessLock> held = new ConcurrentHashMap<>();
    private final Map<String, Step> released = new ConcurrentHashMap<>(); // the releases of what was held last
    private final Map<String, org.apache.curator.framework.recipes.locks.Lease> leases = new ConcurrentHashMap<>(); // of a semaphore

    CuratorLocks(String type) { this.type = type; }

    public Map<String, Object> open(Open request) throws Exception {
        String listener = request.option("listener", "suspended");
        List<ConnectionState> losing = switch (listener) {
            case "none" -> List.of();
            case "lost" -> List.of(ConnectionState.LOST);
            case "suspended" -> List.of(ConnectionState.SUSPENDED, ConnectionState.LOST);
            default -> throw new NotSent("option listener=" + listener + ": want suspended, lost or none");
        };
        permits = Integer.parseInt(request.option("permits", "2"));
        beside = request.option("beside", "no").equals("yes");
        client = connected(request, (c, state) -> {
            if (losing.contains(state)) {
                held.keySet().forEach(this::lost);
                leases.keySet().forEach(this::lost);
            }
        });
        Map<String, Object> abilities = new LinkedHashMap<>();
        abilities.put("lease", false);
        abilities.put("cancels", true);
        abilities.put("kind", type.equals("rw") || type.equals("semaphore") ? type : "mutex");
        abilities.put("several", !type.equals("semaphore"));
        if (type.equals("semaphore")) abilities.put("permits", permits);
        if (type.equals("rw")) abilities.put("downgrades", true);
        return loaded(abilities, "org.apache.curator", "curator-recipes");
    }

    /** A client of ZooKeeper whose session is as long as the lease. */
    static CuratorFramework connected(Open request, ConnectionStateListener listener) throws InterruptedException {
        CuratorFramework client = CuratorFrameworkFactory.builder()
            .connectString(String.join(",", request.servers()))
            .sessionTimeoutMs(request.ttlMs())
            .connectionTimeoutMs(scaled(request, 15_000, 250))
            .retryPolicy(new ExponentialBackoffRetry(scaled(request, 1000, 20), 3)) // that of the documentation's first example
            .build();
        client.getConnectionStateListenable().addListener(listener);
        client.start();
        client.blockUntilConnected(10, TimeUnit.SECONDS);
        return client;
    }

    private static final int SESSION = 60_000; // ms, Curator's own

    /** A wait that is as much shorter as the session is, and no shorter than that. */
    private static int scaled(Open request, int ms, int least) {
        if (request.option("timeouts", "scaled").equals("library")) return ms;
        return Math.max(least, (int) ((long) ms * Math.min(request.ttlMs(), SESSION) / SESSION));
    }

    public Grant acquire(String key, long timeoutMs, boolean shared) throws Unknown, InterruptedException {
        String path = "/picklock/" + key;
        if (beside) beside(() -> comesAndGoes(path, timeoutMs, shared));
        try {
            if (type.equals("semaphore")) {
                var lease = new InterProcessSemaphoreV2(client, path, permits).acquire(timeoutMs, TimeUnit.MILLISECONDS);
                if (lease == null) return null;
                leases.put(key, lease);
                return new Grant(0, null);
            }
            InterProcessLock lock;
            if (type.equals("rw")) {
                var pair = new InterProcessReadWriteLock(client, path);
                both.put(key, pair);
                lock = shared ? pair.readLock() : pair.writeLock();
            } else {
                lock = mutex(path);
            }
            // false: the library has taken its node out of the line again.
            if (!lock.acquire(timeoutMs, TimeUnit.MILLISECONDS)) return null;
            held.put(key, lock);
            return new Grant(0, null);
        } catch (InterruptedException e) {
            throw e;
        } catch (Exception e) { // it may have taken effect or not
            throw new Unknown(e.toString());
        }
    }

    private InterProcessLock mutex(String path) {
        return switch (type) {
            case "multi" -> new InterProcessMultiLock(client, List.of(path + "/first", path + "/second"));
            case "semaphore-mutex" -> new InterProcessSemaphoreMutex(client, path);
            default -> new InterProcessMutex(client, path);
        };
    }

    private boolean comesAndGoes(String path, long timeoutMs, boolean shared) throws Exception {
        if (type.equals("semaphore")) {
            var semaphore = new InterProcessSemaphoreV2(client, path, permits);
            var lease = semaphore.acquire(timeoutMs, TimeUnit.MILLISECONDS);
            if (lease != null) semaphore.returnLease(lease);
            return lease != null;
        }
        var both = new InterProcessReadWriteLock(client, path);
        InterProcessLock lock = !type.equals("rw") ? mutex(path) : shared ? both.readLock() : both.writeLock();
        if (!lock.acquire(timeoutMs, TimeUnit.MILLISECONDS)) return false;
        lock.release();
        return true;
    }

    /** As its documentation has it: the read lock is acquired under the write lock, which is released then. */
    public Grant downgrade(String key) throws Unknown {
        if (!held.containsKey(key)) return null;
        try {
            both.get(key).readLock().acquire();
            held.put(key, both.get(key).readLock()).release();
            return new Grant(0, null);
        } catch (Exception e) { // either may have taken effect
            throw new Unknown(e.toString());
        }
    }

    private interface Step { void run() throws Exception; }

    /** Of a node that is gone too, without a word. What was released is released once more. */
    public boolean release(String key) throws Unknown {
        if (held.containsKey(key)) released.put(key, held.remove(key)::release);
        if (leases.containsKey(key)) released.put(key, leases.remove(key)::close);
        if (!released.containsKey(key)) return false;
        try {
            released.get(key).run();
            return true;
        } catch (IllegalMonitorStateException e) {
            return false; // "You do not own the lock"
        } catch (Exception e) {
            // The multi lock wraps the error of the first one that failed.
            if (type.equals("multi") && e.getCause() instanceof IllegalMonitorStateException) return false;
            throw new Unknown(e.toString());
        }
    }

    public void close() { client.close(); }

    public static void main(String[] args) throws Exception { serve(() -> new CuratorLocks(args[0])); }
}
