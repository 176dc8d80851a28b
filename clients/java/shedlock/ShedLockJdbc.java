import com.zaxxer.hikari.HikariDataSource;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.provider.jdbctemplate.JdbcTemplateLockProvider;
import org.springframework.jdbc.core.JdbcTemplate;

/**
 * The provider for Postgres, by Spring's JdbcTemplate.
 *
 * Option: dbtime=yes|no, the library's usingDbTime.
 */
public class ShedLockJdbc extends ShedLocks {
    private HikariDataSource source;

    ShedLockJdbc() { super("shedlock-provider-jdbc-template"); }

    /** On the table that the README gives. Each node has a name of its own, as its host has. */
    LockProvider provider(Open request) {
        source = new HikariDataSource();
        source.setJdbcUrl("jdbc:postgresql://" + request.servers().get(0) + "/postgres?user=postgres");
        source.setMaximumPoolSize(2);
        JdbcTemplate template = new JdbcTemplate(source);
        // Clients that make the table at once get in each other's way: one at a time, until its
        // transaction is over: the statements of one call are one.
        template.execute("SELECT pg_advisory_xact_lock(7); CREATE TABLE IF NOT EXISTS shedlock(name VARCHAR(64) NOT NULL, lock_until TIMESTAMP NOT NULL,"
            + " locked_at TIMESTAMP NOT NULL, locked_by VARCHAR(255) NOT NULL, PRIMARY KEY (name))");
        var configuration = JdbcTemplateLockProvider.Configuration.builder().withJdbcTemplate(template).withLockedByValue(request.client());
        return new JdbcTemplateLockProvider(request.option("dbtime", "yes").equals("yes") ? configuration.usingDbTime().build() : configuration.build());
    }

    public void close() { source.close(); }

    public static void main(String[] args) throws Exception { serve(ShedLockJdbc::new); }
}
