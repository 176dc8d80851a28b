import java.io.IOException;
import java.lang.reflect.Method;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.redisson.Redisson;
import org.redisson.RedissonMultiLock;
import org.redisson.RedissonRedLock;
import org.redisson.api.RLock;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RReadWriteLock;
import org.redisson.api.RedissonClient;
import org.redisson.client.RedisException;
import org.redisson.config.Config;
import org.redisson.config.SentinelServersConfig;

/**
 * Redisson's locks, as shipped: all defaults but the lease, and the time-outs of its connections, which are shortened as
 * the lease is. The argument names the lock. On one Redis: lock,
 * fair, spin, fenced, rw or semaphore. On several that know nothing of each other, a lock of one each: redlock,
 * which needs more than half of them, or multi, which needs all. On the master that sentinels name: sentinel.
 *
 * Its documentation (4.7.0, https://redisson.pro/docs/data-and-services/locks-and-synchronizers/)
 * promises that a watchdog prolongs a lock for as long as the Redisson instance of its holder lives;
 * that one with a leaseTime is released after that; that only the owner can unlock it, and others get
 * an IllegalMonitorStateException; that a fenced lock gives a token with which a resource can refuse
 * an older holder. It has no signal for a lock that was lost.
 *
 * Option nested: how often an acquire takes the lock, as nested calls of one thread do. The locks are reentrant: a
 * release then unlocks it as often. Option threads: one does everything; each: every grant has a thread of its own,
 * as in a pool, which also releases it.
 *
 * Option watchdog. alternate: a client gives a lease with the first acquire of a key that is granted, none with the second, and so
 * on, all by one lock object, as an application whose parts share that.
 *
 * Option beside: another thread of the process asks for the lock as well, by an object of its own, and gives it back at once.
 *
 * Option timeouts. scaled: by default the library waits 3 s for an answer and then sends the request again, while a lease
 * is 30 s. With a lease of 1 s these 3 s would outlast it, and no request would ever be sent again within it: so all
 * waits are shortened as the lease is. library: its own.
 *
 * A watchdog's renewals cannot be seen from outside, so that with it no lease is claimed.
 *
 * Of redlock and multi it promises what it does of the locks that they group (MultiLock and RedLock, same page).
 * An unlock of redlock says nothing of its outcome. One of multi fails where one of its locks is another's.

 * Option wait. library: tryLock, or tryAcquire of a semaphore, with the time there is. forever: lockInterruptibly, or
 * acquire, whose user interrupts it when the time is over: not of redlock and multi, which wait on. user, of these two:
 * who calls tryLock with a waitTime of -1, which is the library's word for none, again and again.
 */
public class RedissonLocks extends Adapter implements AutoCloseable {
    private final String type;
    private final List<RedissonClient> clients = new ArrayList<>(); // of redlock and multi one a server
    private RedissonClient redisson; // the first
    private boolean watchdog, alternate, scaled, beside;
    private final Set<String> leased = new HashSet<>(); // alternate: of these keys the latest grant had a lease
    private String wait;
    private int ttl, permits, nested;
    private final Map<String, RLock> held = new HashMap<>();
    private boolean threads; // each grant has its own
    private final Map<String, RLock> kept = new HashMap<>(); // alternate: the lock of each key
    private final Map<String, ExecutorService> owners = new HashMap<>(); // the thread of each grant, if so
    private final Map<String, String> ids = new HashMap<>(); // of a semaphore's permits

    RedissonLocks(String type) { this.type = type; }

    public Map<String, Object> open(Open request) throws Exception {
        ttl = request.ttlMs();
        alternate = request.option("watchdog", "yes").equals("alternate");
        watchdog = !request.option("watchdog", "yes").equals("no") && !type.equals("semaphore");
        permits = Integer.parseInt(request.option("permits", "2"));
        nested = Integer.parseInt(request.option("nested", "1"));
        threads = request.option("threads", "one").equals("each");
        wait = request.option("wait", "library");
        beside = request.option("beside", "no").equals("yes");
        scaled = request.option("timeouts", "scaled").equals("scaled");
        if (type.equals("sentinel")) {
            Config config = config();
            SentinelServersConfig sentinels = config.useSentinelServers().setMasterName(request.option("master", "mymaster"));
            for (String at : request.servers()) if (isSentinel(at)) sentinels.addSentinelAddress("redis://" + at);
            shorten(sentinels);
            clients.add(create(config));
        } else {
            // Side by side: each waits for its server.
            clients.addAll((several() ? request.servers() : request.servers().subList(0, 1)).parallelStream().map(at -> {
                Config config = config();
                shorten(config.useSingleServer().setAddress("redis://" + at));
                return create(config);
            }).toList());
        }
        redisson = clients.get(0);
        Map<String, Object> abilities = new LinkedHashMap<>();
        abilities.put("tokens", type.equals("fenced"));
        if (!alternate) abilities.put("lease", !watchdog);
        abilities.put("watchdog", watchdog);
        abilities.put("cancels", !several()); // an interrupt ends the wait for one of its locks, and it goes on to the next
        // The release compares the owner. That of fair succeeds, too, if nobody holds the lock.
        abilities.put("confirms", !List.of("redlock", "fair").contains(type));
        abilities.put("holds", !type.equals("rw") && !type.equals("semaphore") && !several());
        abilities.put("kind", type.equals("rw") || type.equals("semaphore") ? type : "mutex");
        abilities.put("several", !type.equals("semaphore"));
        if (type.equals("semaphore")) abilities.put("permits", permits);
        if (type.equals("rw")) abilities.put("downgrades", true);
        Map<String, Object> all = loaded(abilities, "org.redisson", "redisson");
        // So do all of them before 3.11.
        if (String.valueOf(all.get("version")).matches("([12]|3\\.([0-9]|10))\\..*")) all.put("confirms", false);
        return all;
    }

    private boolean several() { return type.equals("redlock") || type.equals("multi"); }

    private Config config() {
        Config config = new Config();
        config.setLockWatchdogTimeout(ttl);
        return config;
    }

    /**
     * The time-outs and the waits before another try, all as much shorter than Redisson's as the lease is shorter than its
     * own. Their class is not public in old versions.
     */
    private void shorten(Object connections) {
        if (!scaled) return;
        set(connections, "setTimeout", int.class, Math.max(ANSWER, scaled(3000)));
        set(connections, "setConnectTimeout", int.class, scaled(10_000));
        set(connections, "setPingConnectionInterval", int.class, scaled(30_000));
        try { // from 3.49 on
            Class<?> delay = Class.forName("org.redisson.config.DelayStrategy");
            set(connections, "setRetryDelay", delay, Class.forName("org.redisson.config.EqualJitterDelay")
                .getConstructor(Duration.class, Duration.class).newInstance(Duration.ofMillis(scaled(1000)), Duration.ofMillis(scaled(2000))));
        } catch (ClassNotFoundException e) {
            set(connections, "setRetryInterval", int.class, scaled(1500));
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    private static void set(Object connections, String name, Class<?> type, Object value) {
        try {
            Method setter = connections.getClass().getMethod(name, type);
            setter.setAccessible(true);
            setter.invoke(connections, value);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    private static final int LEASE = 30_000; // ms, Redisson's own
    private static final int LEAST = 50; // ms
    private static final int ANSWER = 250; // ms, in which a JVM that has just been started gets an answer

    private int scaled(int ms) { return Math.max(LEAST, (int) ((long) ms * Math.min(ttl, LEASE) / LEASE)); }

    private static final long PATIENCE = 10_000_000_000L; // ns, what Redisson waits for a connection by default

    private static final long AGAIN = 200_000_000; // ns

    /** A client that does not get its connections in time is started again, as its user would do. */
    private static RedissonClient create(Config config) {
        long end = System.nanoTime() + PATIENCE;
        while (true) {
            try {
                return Redisson.create(config);
            } catch (RedisException e) {
                if (System.nanoTime() >= end) throw e;
                LockSupport.parkNanos(AGAIN); // a refused connection takes no time
            }
        }
    }

    /** Whether a server says that it is a sentinel. One that does not answer is none to begin with. */
    private static boolean isSentinel(String server) {
        String[] at = server.split(":");
        try (Socket connection = new Socket()) {
            connection.connect(new InetSocketAddress(at[0], Integer.parseInt(at[1])), 1000);
            connection.setSoTimeout(1000);
            connection.getOutputStream().write("ROLE\r\n".getBytes(StandardCharsets.US_ASCII));
            String want = "*2\r\n$8\r\nsentinel\r\n";
            return want.equals(new String(connection.getInputStream().readNBytes(want.length()), StandardCharsets.US_ASCII));
        } catch (IOException e) {
            return false;
        }
    }

    public Grant acquire(String key, long timeoutMs, boolean shared) throws Exception {
        if (beside) beside(() -> comesAndGoes(key, timeoutMs, shared));
        if (!threads) return acquired(key, timeoutMs, shared);
        ExecutorService owner = Executors.newSingleThreadExecutor();
        Grant grant = null;
        try {
            return grant = in(owner, () -> acquired(key, timeoutMs, shared));
        } finally {
            if (grant == null) owner.shutdown();
            else owners.put(key, owner);
        }
    }

    private boolean comesAndGoes(String key, long timeoutMs, boolean shared) throws Exception {
        if (type.equals("semaphore")) {
            RPermitExpirableSemaphore all = redisson.getPermitExpirableSemaphore(key);
            all.trySetPermits(permits);
            String id = all.tryAcquire(timeoutMs, ttl, TimeUnit.MILLISECONDS);
            return id != null && all.tryRelease(id);
        }
        RLock lock = lock(key, shared);
        if (!lock.tryLock(timeoutMs, TimeUnit.MILLISECONDS)) return false;
        lock.unlock();
        return true;
    }

    private static <T> T in(ExecutorService thread, Callable<T> call) throws Exception {
        Future<T> done = thread.submit(call);
        while (true) {
            try {
                return done.get();
            } catch (ExecutionException e) {
                throw e.getCause() instanceof Exception cause ? cause : e;
            } catch (InterruptedException e) { // it is meant for the thread that has the lock, which may yet be granted it
                thread.shutdownNow();
            }
        }
    }

    /** If the user waits, it is known when the try began that was granted. */
    private Grant acquired(String key, long timeoutMs, boolean shared) throws Exception {
        if (!wait.equals("user")) return tried(key, timeoutMs, shared);
        long end = System.nanoTime() + timeoutMs * 1_000_000;
        while (true) {
            Grant grant = tried(key, -1, shared);
            if (grant != null || System.nanoTime() >= end) return grant;
            Thread.sleep(ThreadLocalRandom.current().nextLong(50, 150)); // at random, as Redlock asks for
        }
    }

    private Grant tried(String key, long timeoutMs, boolean shared) throws Exception {
        if (alternate) watchdog = leased.contains(key);
        long since = System.nanoTime(); // the library does not tell when the request was sent that was granted
        Lease lease = watchdog ? null : new Lease(ttl, since);
        try {
            if (type.equals("semaphore")) {
                RPermitExpirableSemaphore all = redisson.getPermitExpirableSemaphore(key);
                all.trySetPermits(permits);
                String id = wait.equals("forever")
                    ? interrupted(timeoutMs, () -> all.acquire(ttl, TimeUnit.MILLISECONDS)) : all.tryAcquire(timeoutMs, ttl, TimeUnit.MILLISECONDS);
                if (id == null) return null;
                ids.put(key, id);
                return new Grant(0, lease);
            }
            RLock lock = alternate ? keptLock(key, shared) : lock(key, shared);
            long token = 0;
            if (type.equals("fenced")) {
                Long got = watchdog
                    ? (Long) lock.getClass().getMethod("tryLockAndGetToken", long.class, TimeUnit.class).invoke(lock, timeoutMs, TimeUnit.MILLISECONDS)
                    : (Long) lock.getClass().getMethod("tryLockAndGetToken", long.class, long.class, TimeUnit.class).invoke(lock, timeoutMs, (long) ttl, TimeUnit.MILLISECONDS);
                if (got == null) return null;
                token = got;
            } else if (!take(lock, timeoutMs)) {
                return null;
            }
            if (watchdog) leased.remove(key);
            else leased.add(key);
            held.put(key, lock);
            for (int i = 1; i < nested; i++) take(lock, timeoutMs);
            return new Grant(token, lease, false, alternate && !watchdog);
        } catch (RedisException e) { // it may have taken effect or not
            throw new Unknown(e.toString());
        }
    }

    private boolean take(RLock lock, long timeoutMs) throws Exception {
        if (wait.equals("forever") && timeoutMs > 0) return interrupted(timeoutMs, () -> {
            if (watchdog) lock.lockInterruptibly();
            else lock.lockInterruptibly(ttl, TimeUnit.MILLISECONDS);
            return true;
        }) != null;
        return watchdog ? lock.tryLock(timeoutMs, TimeUnit.MILLISECONDS) : lock.tryLock(timeoutMs, ttl, TimeUnit.MILLISECONDS);
    }

    /** Calls what knows no limit, and interrupts it when the time is over: then it returns null. */
    private static <T> T interrupted(long timeoutMs, Callable<T> call) throws Exception {
        Interrupt limit = new Interrupt(timeoutMs);
        try {
            return call.call();
        } catch (InterruptedException e) {
            if (limit.came()) return null;
            throw e;
        } finally {
            limit.over();
        }
    }

    /** The same object for all acquires of a key, as one that an application keeps in a field. */
    private RLock keptLock(String key, boolean shared) throws ReflectiveOperationException {
        RLock lock = kept.get(key + shared);
        if (lock == null) kept.put(key + shared, lock = lock(key, shared));
        return lock;
    }

    /** The lock of a key. Older versions do not have all of them. */
    @SuppressWarnings("deprecation") // newer versions advise against RedissonRedLock
    private RLock lock(String key, boolean shared) throws ReflectiveOperationException {
        if (several()) {
            RLock[] each = clients.stream().map(c -> c.getLock(key)).toArray(RLock[]::new);
            // Neither is an RLock before 3.11, where the other locks run all the same.
            Object all = type.equals("multi") ? new RedissonMultiLock(each) : new RedissonRedLock(each);
            return (RLock) all;
        }
        String method = switch (type) {
            case "fair" -> "getFairLock";
            case "spin" -> "getSpinLock";
            case "fenced" -> "getFencedLock";
            case "rw" -> "getReadWriteLock";
            default -> "getLock";
        };
        Object lock = RedissonClient.class.getMethod(method, String.class).invoke(redisson, key);
        if (lock instanceof RReadWriteLock both) return shared ? both.readLock() : both.writeLock();
        return (RLock) lock;
    }

    /** The thread that has the write lock takes the read lock, and unlocks the other: as often as it had locked it. */
    public Grant downgrade(String key) throws Exception {
        if (!held.containsKey(key)) return null;
        return threads ? in(owners.get(key), () -> downgraded(key)) : downgraded(key);
    }

    private Grant downgraded(String key) throws Exception {
        try {
            Lease lease = watchdog ? null : new Lease(ttl, System.nanoTime());
            RLock reads = lock(key, true);
            for (int i = 0; i < nested; i++) if (!take(reads, 0)) throw new NotSent("the read lock was refused to who has the write lock");
            RLock writes = held.put(key, reads);
            for (int i = 0; i < nested; i++) writes.unlock();
            return new Grant(0, lease, false, alternate && !watchdog);
        } catch (IllegalMonitorStateException e) {
            throw new Unknown(e.toString()); // the write lock was gone, and the read lock may be held
        } catch (RedisException e) {
            throw new Unknown(e.toString());
        }
    }

    /** What isHeldByCurrentThread says in the thread of the grant, which asks Redis. */
    public boolean holds(String key) throws Exception {
        try {
            if (!held.containsKey(key)) return false;
            return threads ? in(owners.get(key), () -> held.get(key).isHeldByCurrentThread()) : held.get(key).isHeldByCurrentThread();
        } catch (RedisException e) {
            throw new NotSent(e.toString());
        }
    }

    /** The library is asked, too, to release once more what was released. */
    public boolean release(String key) throws Exception {
        ExecutorService owner = owners.remove(key);
        if (owner == null) return released(key);
        try (AutoCloseable ended = owner::shutdown) {
            return in(owner, () -> released(key));
        }
    }

    private boolean released(String key) throws Unknown {
        if (!held.containsKey(key) && !ids.containsKey(key)) return false;
        try {
            if (type.equals("semaphore")) return redisson.getPermitExpirableSemaphore(key).tryRelease(ids.get(key));
            RLock lock = held.get(key);
            for (int i = 0; i < nested; i++) lock.unlock();
            return true;
        } catch (IllegalMonitorStateException e) {
            return false; // "attempt to unlock lock, not locked by current thread"
        } catch (RedisException e) {
            throw new Unknown(e.toString());
        }
    }

    public void close() {
        owners.values().forEach(ExecutorService::shutdownNow);
        for (RedissonClient c : clients) c.shutdown(0, 2, TimeUnit.SECONDS);
    }

    public static void main(String[] args) throws Exception { serve(() -> new RedissonLocks(args[0])); }
}
