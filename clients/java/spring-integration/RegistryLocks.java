import com.zaxxer.hikari.HikariDataSource;
import java.time.Duration;
import java.util.ConcurrentModificationException;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.locks.Lock;
import org.springframework.context.Lifecycle;
import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.integration.jdbc.lock.DefaultLockRepository;
import org.springframework.integration.jdbc.lock.JdbcLockRegistry;
import org.springframework.integration.jdbc.lock.LockRepository;
import org.springframework.integration.redis.util.RedisLockRegistry;
import org.springframework.integration.support.locks.LockRegistry;
import org.springframework.integration.support.locks.RenewableLockRegistry;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.support.JdbcTransactionManager;

/**
 * Spring Integration's lock registries, as shipped. The argument names one: redis by Lettuce, or jdbc on Postgres.
 *
 * Its documentation (7.1.2, https://docs.spring.io/spring-integration/reference/distributed-locks.html and the pages
 * of redis and jdbc) promises locks for one thread of one process at a time; that they expire after their time to live unless renewLock() prolongs them; and that an unlock of one that has
 * expired fails with a ConcurrentModificationException: what it protected may be compromised.
 * There is no signal for a lock that was lost.
 */
public class RegistryLocks extends Adapter implements AutoCloseable {
    private static final int IDLE = 100; // ms between two tries, as the library has it

    private final String type;
    private LockRegistry registry;
    private Runnable connections; // ends them
    private int ttl;
    private final Map<String, Lock> held = new HashMap<>();

    RegistryLocks(String type) { this.type = type; }

    public Map<String, Object> open(Open request) throws Exception {
        ttl = request.ttlMs();
        registry = type.equals("jdbc") ? jdbc(request) : redis(request);
        Map<String, Object> abilities = new LinkedHashMap<>();
        abilities.put("lease", true);
        abilities.put("renew", true);
        abilities.put("confirms", true); // an unlock compares the owner
        return loaded(abilities, "org.springframework.integration", "spring-integration-" + type, registry.getClass());
    }

    private LockRegistry redis(Open request) {
        String[] at = request.servers().get(0).split(":");
        LettuceConnectionFactory factory = new LettuceConnectionFactory(at[0], Integer.parseInt(at[1]));
        factory.afterPropertiesSet();
        start(factory);
        connections = factory::destroy;
        RedisConnection connection = factory.getConnection(); // an application has its connection before it asks for a lock
        connection.ping();
        connection.close();
        return new RedisLockRegistry(factory, "picklock", ttl);
    }

    /** On the table of the library's own schema. */
    private LockRegistry jdbc(Open request) throws ReflectiveOperationException {
        HikariDataSource source = new HikariDataSource();
        source.setJdbcUrl("jdbc:postgresql://" + request.servers().get(0) + "/postgres?user=postgres");
        source.setMaximumPoolSize(2);
        connections = source::close;
        // Clients that make the table at once get in each other's way: one at a time, until its
        // transaction is over: the statements of one call are one.
        new JdbcTemplate(source).execute("SELECT pg_advisory_xact_lock(7); CREATE TABLE IF NOT EXISTS INT_LOCK (LOCK_KEY CHAR(36) NOT NULL, REGION VARCHAR(100) NOT NULL,"
            + " CLIENT_ID CHAR(36), CREATED_DATE TIMESTAMP NOT NULL, EXPIRED_AFTER TIMESTAMP NOT NULL, constraint INT_LOCK_PK primary key (LOCK_KEY, REGION))");
        DefaultLockRepository repository = new DefaultLockRepository(source);
        repository.setTransactionManager(new JdbcTransactionManager(source));
        repository.afterPropertiesSet();
        repository.afterSingletonsInstantiated();
        start(repository);
        try { // older versions have the time to live in the repository
            return JdbcLockRegistry.class.getConstructor(LockRepository.class, Duration.class).newInstance(repository, Duration.ofMillis(ttl));
        } catch (NoSuchMethodException e) {
            DefaultLockRepository.class.getMethod("setTimeToLive", int.class).invoke(repository, ttl);
            return new JdbcLockRegistry(repository);
        }
    }

    /** Older versions begin without it. */
    private static void start(Object bean) {
        if (bean instanceof Lifecycle both) both.start();
    }

    /** The library waits by trying again and again: so does this, which thereby knows when the try began that was granted. */
    public Grant acquire(String key, long timeoutMs, boolean shared) throws Exception {
        Lock lock = (Lock) registry.obtain(key);
        long end = System.nanoTime() + timeoutMs * 1_000_000;
        while (true) {
            long since = System.nanoTime();
            boolean got;
            try {
                got = lock.tryLock();
            } catch (RuntimeException e) { // it may have taken effect or not
                throw new Unknown(e.toString());
            }
            if (got) {
                held.put(key, lock);
                return new Grant(0, new Lease(ttl, since));
            }
            if (System.nanoTime() >= end) return null;
            Thread.sleep(IDLE);
        }
    }

    public Lease renew(String key) throws Exception {
        if (!held.containsKey(key)) return null;
        long since = System.nanoTime();
        try {
            ((RenewableLockRegistry) registry).renewLock(key);
            return new Lease(ttl, since);
        } catch (IllegalStateException e) {
            return null; // "Could not renew mutex"
        } catch (RuntimeException e) {
            throw new Unknown(e.toString());
        }
    }

    public boolean release(String key) throws Unknown {
        if (!held.containsKey(key)) return false;
        try {
            held.get(key).unlock();
            return true;
        } catch (ConcurrentModificationException e) {
            return false;
        } catch (RuntimeException e) {
            throw new Unknown(e.toString());
        }
    }

    public void close() { connections.run(); }

    public static void main(String[] args) throws Exception { serve(() -> new RegistryLocks(args[0])); }
}
