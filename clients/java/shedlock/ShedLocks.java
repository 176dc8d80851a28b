import com.zaxxer.hikari.HikariDataSource;
import java.time.Duration;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import net.javacrumbs.shedlock.core.ClockProvider;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.provider.jdbctemplate.JdbcTemplateLockProvider;
import net.javacrumbs.shedlock.provider.redis.spring.RedisLockProvider;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.jdbc.core.JdbcTemplate;

/**
 * ShedLock's lock providers, as shipped. The argument names one: jdbc on Postgres, or redis by Spring's connections.
 *
 * Its README (7.10.1, https://github.com/lukas-krecan/ShedLock) promises that a task of one name is executed at
 * most once at a time, for lockAtMostFor at the longest; after that the behaviour "may be unpredictable". It assumes
 * that the clocks of the nodes are synchronized, and recommends usingDbTime() for JDBC. A lock does not wait: who wants it asks again. An
 * unlock does not tell whether the lock was still held.
 *
 * Options: dbtime=yes|no of jdbc, and safeupdate=no|yes of redis, the library's safeUpdate.
 */
public class ShedLocks extends Adapter implements AutoCloseable {
    private final String type;
    private LockProvider provider;
    private Runnable connections; // ends them
    private Duration most;
    private final Map<String, SimpleLock> held = new HashMap<>();

    ShedLocks(String type) { this.type = type; }

    public Map<String, Object> open(Open request) throws Exception {
        most = Duration.ofMillis(request.ttlMs());
        provider = type.equals("jdbc") ? jdbc(request) : redis(request);
        Map<String, Object> abilities = new LinkedHashMap<>();
        abilities.put("lease", true);
        abilities.put("renew", true);
        return loaded(abilities, "net.javacrumbs.shedlock", type.equals("jdbc") ? "shedlock-provider-jdbc-template" : "shedlock-provider-redis-spring");
    }

    private LockProvider redis(Open request) {
        String[] at = request.servers().get(0).split(":");
        LettuceConnectionFactory factory = new LettuceConnectionFactory(at[0], Integer.parseInt(at[1]));
        factory.afterPropertiesSet();
        factory.start();
        connections = factory::destroy;
        return new RedisLockProvider.Builder(factory).safeUpdate(request.option("safeupdate", "no").equals("yes")).build();
    }

    /** On the table that the README gives. Each node has a name of its own, as its host has. */
    private LockProvider jdbc(Open request) {
        HikariDataSource source = new HikariDataSource();
        source.setJdbcUrl("jdbc:postgresql://" + request.servers().get(0) + "/postgres?user=postgres");
        source.setMaximumPoolSize(2);
        connections = source::close;
        JdbcTemplate template = new JdbcTemplate(source);
        // Clients that make the table at once get in each other's way: one at a time, until its
        // transaction is over: the statements of one call are one.
        template.execute("SELECT pg_advisory_xact_lock(7); CREATE TABLE IF NOT EXISTS shedlock(name VARCHAR(64) NOT NULL, lock_until TIMESTAMP NOT NULL,"
            + " locked_at TIMESTAMP NOT NULL, locked_by VARCHAR(255) NOT NULL, PRIMARY KEY (name))");
        var configuration = JdbcTemplateLockProvider.Configuration.builder().withJdbcTemplate(template).withLockedByValue(request.client());
        return new JdbcTemplateLockProvider(request.option("dbtime", "yes").equals("yes") ? configuration.usingDbTime().build() : configuration.build());
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

    public void close() { connections.run(); }

    public static void main(String[] args) throws Exception { serve(() -> new ShedLocks(args[0])); }
}
