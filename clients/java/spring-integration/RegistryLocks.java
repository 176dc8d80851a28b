import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.ConcurrentModificationException;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import org.springframework.context.Lifecycle;
import org.springframework.integration.support.locks.LockRegistry;

/**
 * Spring Integration's lock registries, as shipped: each in a class of its own, which opens it, since each is an artifact of its own.
 *
 * Its documentation (7.1.2, https://docs.spring.io/spring-integration/reference/distributed-locks.html and the pages
 * of redis and jdbc) promises locks for one thread of one process at a time; that they expire after their time to live unless renewLock() prolongs them; and that an unlock of one that has
 * expired fails with a ConcurrentModificationException: what it protected may be compromised.
 * There is no signal for a lock that was lost.
 */
abstract class RegistryLocks extends Adapter implements AutoCloseable {
    private static final int IDLE = 100; // ms between two tries, as the library has it

    private final String artifact;
    private LockRegistry registry;
    private int ttl;
    private boolean waits, beside; // the library does; another thread asks, too
    private final Map<String, Lock> held = new HashMap<>();

    RegistryLocks(String artifact) { this.artifact = artifact; }

    abstract LockRegistry registry(Open request) throws Exception;

    /** Whether an unlock says so if the lock was gone. */
    abstract boolean confirms() throws Exception;

    public Map<String, Object> open(Open request) throws Exception {
        ttl = request.ttlMs();
        waits = request.option("wait", "user").equals("library");
        beside = request.option("beside", "no").equals("yes");
        registry = registry(request);
        Map<String, Object> abilities = new LinkedHashMap<>();
        abilities.put("lease", true);
        abilities.put("cancels", true);
        abilities.put("several", true);
        abilities.put("renew", renewal() != null);
        abilities.put("confirms", confirms());
        return loaded(abilities, "org.springframework.integration", artifact, registry.getClass());
    }

    /** Older versions begin without it. */
    static void start(Object bean) {
        if (bean instanceof Lifecycle both) both.start();
    }

    /** What renews a lock: null in versions that cannot. */
    private Method renewal() {
        try {
            return registry.getClass().getMethod("renewLock", Object.class);
        } catch (NoSuchMethodException e) {
            return null;
        }
    }

    private boolean comesAndGoes(String key, long timeoutMs) throws InterruptedException {
        Lock lock = (Lock) registry.obtain(key);
        if (!lock.tryLock(timeoutMs, TimeUnit.MILLISECONDS)) return false;
        lock.unlock();
        return true;
    }

    /**
     * Option wait. user: the library waits by trying again and again, as it does by default, and so does this, which thereby knows
     * when the try began that was granted. library: by tryLock with a time. Option beside: another thread of the process
     * asks for the lock as well, and gives it back at once.
     */
    public Grant acquire(String key, long timeoutMs, boolean shared) throws Exception {
        if (beside) beside(() -> comesAndGoes(key, timeoutMs));
        Lock lock = (Lock) registry.obtain(key);
        long end = System.nanoTime() + timeoutMs * 1_000_000;
        while (true) {
            long since = System.nanoTime();
            boolean got;
            try {
                got = waits ? lock.tryLock(timeoutMs, TimeUnit.MILLISECONDS) : lock.tryLock();
            } catch (RuntimeException e) { // it may have taken effect or not
                throw new Unknown(e.toString());
            }
            if (got) {
                held.put(key, lock);
                return new Grant(0, new Lease(ttl, since));
            }
            if (waits || System.nanoTime() >= end) return null;
            Thread.sleep(IDLE);
        }
    }

    public Lease renew(String key) throws Exception {
        if (!held.containsKey(key)) return null;
        long since = System.nanoTime();
        try {
            renewal().invoke(registry, key);
            return new Lease(ttl, since);
        } catch (InvocationTargetException e) {
            if (e.getCause() instanceof IllegalStateException) return null; // "Could not renew mutex"
            throw new Unknown(e.getCause().toString());
        }
    }

    public boolean release(String key) throws Unknown {
        if (!held.containsKey(key)) return false;
        try {
            held.get(key).unlock();
            return true;
        } catch (ConcurrentModificationException | IllegalStateException e) { // the latter in older versions
            return false;
        } catch (RuntimeException e) {
            throw new Unknown(e.toString());
        }
    }
}
