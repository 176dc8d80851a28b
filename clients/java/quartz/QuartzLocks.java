import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import org.quartz.impl.jdbcjobstore.LockException;
import org.quartz.impl.jdbcjobstore.StdRowLockSemaphore;

/**
 * The lock with which the nodes of a Quartz cluster take turns: StdRowLockSemaphore, a row that a transaction locks until
 * its commit, in the table of Quartz's schema for Postgres.
 *
 * Quartz's documentation (2.5.2, http://www.quartz-scheduler.org/documentation/quartz-2.3.0/configuration/ConfigJDBCJobStoreClustering.html)
 * promises that only one node fires a job at each time. Its nodes do so by taking this lock. There is no lease: the lock is held by the
 * transaction, and nothing tells its holder that the transaction has ended.
 *
 * The library waits for the row as long as the database does, and tries three times. Here the database gives up after LOCK_TIMEOUT,
 * one try is one call, and the call is repeated until the wait is over.
 */
public class QuartzLocks extends Adapter implements AutoCloseable {
    private static final int LOCK_TIMEOUT = 200; // ms
    private static final String LOCK_NOT_AVAILABLE = "55P03"; // as Postgres calls it

    private final StdRowLockSemaphore semaphore = new StdRowLockSemaphore("qrtz_", "picklock", null);
    private String url;
    private final Map<String, Connection> held = new HashMap<>();

    public Map<String, Object> open(Open request) throws Exception {
        url = "jdbc:postgresql://" + request.servers().get(0) + "/postgres?user=postgres";
        semaphore.setMaxRetry(1);
        try (Connection connection = DriverManager.getConnection(url); Statement statement = connection.createStatement()) {
            // Clients that make the table at once get in each other's way: one at a time, until its
            // transaction is over: the statements of one call are one.
            statement.execute("SELECT pg_advisory_xact_lock(7); CREATE TABLE IF NOT EXISTS qrtz_locks (SCHED_NAME VARCHAR(120) NOT NULL,"
                + " LOCK_NAME VARCHAR(40) NOT NULL, PRIMARY KEY (SCHED_NAME, LOCK_NAME))");
        }
        Map<String, Object> abilities = new LinkedHashMap<>();
        abilities.put("lease", false);
        abilities.put("confirms", true); // a transaction that could be committed had its lock until then
        return loaded(abilities, "org.quartz-scheduler", "quartz");
    }

    public Grant acquire(String key, long timeoutMs, boolean shared) throws Exception {
        long end = System.nanoTime() + timeoutMs * 1_000_000;
        Connection connection;
        try {
            connection = DriverManager.getConnection(url);
            connection.setAutoCommit(false);
        } catch (SQLException e) {
            throw new NotSent(e.toString());
        }
        while (true) {
            try {
                try (Statement statement = connection.createStatement()) {
                    statement.execute("SET LOCAL lock_timeout = " + LOCK_TIMEOUT);
                }
                semaphore.obtainLock(connection, key);
                held.put(key, connection);
                return new Grant(0, null);
            } catch (LockException | SQLException e) {
                boolean refused = e.getCause() instanceof SQLException why && LOCK_NOT_AVAILABLE.equals(why.getSQLState());
                if (!refused) { // the server may have locked the row, until it learns that the connection is gone
                    discard(connection);
                    throw new Unknown(e.toString());
                }
            }
            if (System.nanoTime() >= end) {
                discard(connection);
                return null;
            }
        }
    }

    /** As the job store does it: the commit frees the row. */
    public boolean release(String key) throws Exception {
        Connection connection = held.remove(key);
        if (connection == null) return false;
        try {
            connection.commit();
            return true;
        } catch (SQLException e) {
            throw new Unknown(e.toString());
        } finally {
            semaphore.releaseLock(key);
            discard(connection);
        }
    }

    private static void discard(Connection connection) {
        try {
            connection.close();
        } catch (SQLException e) {
            System.err.println("close a connection: " + e);
        }
    }

    public void close() { held.values().forEach(QuartzLocks::discard); }

    public static void main(String[] args) throws Exception { serve(QuartzLocks::new); }
}
