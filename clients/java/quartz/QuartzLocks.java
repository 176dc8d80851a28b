import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import org.quartz.impl.jdbcjobstore.DBSemaphore;
import org.quartz.impl.jdbcjobstore.LockException;
import org.quartz.impl.jdbcjobstore.StdRowLockSemaphore;
import org.quartz.impl.jdbcjobstore.UpdateLockRowSemaphore;

/**
 * The lock of Quartz's clustered job store, on Postgres: a row of the table QRTZ_LOCKS. Each acquire has a
 * connection of its own, and the transaction of that connection holds the lock until it ends.
 *
 * Its documentation (2.5.2, https://javadoc.io/doc/org.quartz-scheduler/quartz/2.5.2, the package
 * org.quartz.impl.jdbcjobstore) promises of Semaphore "an interface for providing thread/resource locking in order
 * to protect resources from being altered by multiple threads at the same time". It has no lease, and tells nobody of
 * a loss. The job store commits, and then calls releaseLock: so does this.
 *
 * The library waits without a limit, so that Postgres limits the wait (lock_timeout). Its further tries are useless in
 * a transaction that has failed, and StdRowLockSemaphore is told to have one.
 *
 * Option by: select is StdRowLockSemaphore, update is UpdateLockRowSemaphore.
 */
public class QuartzLocks extends Adapter implements AutoCloseable {
    /** Postgres has answered, and ended the transaction: a wait too long, a failed transaction, a row that is there. */
    private static final Set<String> ENDED = Set.of("55P03", "25P02", "23505");

    private String url;
    private DBSemaphore semaphore;
    private final Map<String, Connection> held = new HashMap<>();

    public Map<String, Object> open(Open request) throws Exception {
        url = "jdbc:postgresql://" + request.servers().get(0) + "/postgres?user=postgres";
        if (request.option("by", "select").equals("select")) {
            StdRowLockSemaphore select = new StdRowLockSemaphore();
            try {
                select.getClass().getMethod("setMaxRetry", int.class).invoke(select, 1);
            } catch (NoSuchMethodException e) { // older versions have two more tries
            }
            semaphore = select;
        } else {
            semaphore = new UpdateLockRowSemaphore();
        }
        semaphore.setTablePrefix("QRTZ_");
        semaphore.setSchedName("picklock");
        // Clients that make the table at once get in each other's way: one at a time, until its
        // transaction is over: the statements of one call are one.
        try (Connection connection = DriverManager.getConnection(url); Statement statement = connection.createStatement()) {
            statement.execute("SELECT pg_advisory_xact_lock(7); CREATE TABLE IF NOT EXISTS QRTZ_LOCKS (SCHED_NAME VARCHAR(120) NOT NULL,"
                + " LOCK_NAME VARCHAR(40) NOT NULL, PRIMARY KEY (SCHED_NAME, LOCK_NAME))");
        }
        Map<String, Object> abilities = new LinkedHashMap<>();
        abilities.put("lease", false);
        abilities.put("confirms", true); // a transaction that could be committed had its lock until then
        return loaded(abilities, "org.quartz-scheduler", "quartz");
    }

    /** A transaction of its own, in which no statement waits for longer than that. */
    private Connection begin(long waitMs) throws NotSent {
        try {
            Connection connection = DriverManager.getConnection(url);
            connection.setAutoCommit(false);
            try (Statement statement = connection.createStatement()) {
                statement.execute("SET LOCAL lock_timeout = " + Math.max(1, waitMs));
            }
            return connection;
        } catch (SQLException e) {
            throw new NotSent("no transaction: " + e);
        }
    }

    /** The first two transactions of a new lock both insert its row, of which one fails: it tries again. */
    public Grant acquire(String key, long timeoutMs, boolean shared) throws Exception {
        long end = System.nanoTime() + timeoutMs * 1_000_000;
        while (true) {
            Connection connection = begin((end - System.nanoTime()) / 1_000_000);
            try {
                semaphore.obtainLock(connection, key);
                held.put(key, connection);
                return new Grant(0, null);
            } catch (LockException e) {
                quietly(connection);
                if (!(e.getCause() instanceof SQLException cause && ENDED.contains(cause.getSQLState()))) throw new Unknown(e.toString());
            }
            if (System.nanoTime() >= end) return null;
        }
    }

    private static void quietly(Connection connection) {
        try {
            connection.close();
        } catch (SQLException e) {
            System.err.println(e);
        }
    }

    public boolean release(String key) throws Unknown {
        Connection connection = held.remove(key);
        if (connection == null) return false;
        try {
            connection.commit();
            return true;
        } catch (SQLException e) {
            throw new Unknown(e.toString());
        } finally {
            semaphore.releaseLock(key);
            quietly(connection);
        }
    }

    public void close() { held.values().forEach(QuartzLocks::quietly); }

    public static void main(String[] args) throws Exception { serve(QuartzLocks::new); }
}
