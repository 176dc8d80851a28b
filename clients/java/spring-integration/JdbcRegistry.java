import com.zaxxer.hikari.HikariDataSource;
import java.time.Duration;
import javax.sql.DataSource;
import org.springframework.aop.framework.ProxyFactory;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.integration.jdbc.lock.DefaultLockRepository;
import org.springframework.integration.jdbc.lock.JdbcLockRegistry;
import org.springframework.integration.jdbc.lock.LockRepository;
import org.springframework.integration.support.locks.LockRegistry;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DataSourceTransactionManager;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.annotation.AnnotationTransactionAttributeSource;
import org.springframework.transaction.interceptor.TransactionInterceptor;

/** The registry on Postgres. */
public class JdbcRegistry extends RegistryLocks {
    private HikariDataSource source;

    JdbcRegistry() { super("spring-integration-jdbc"); }

    /** On the table of the library's own schema; versions before 7 do not fill EXPIRED_AFTER. */
    LockRegistry registry(Open request) throws ReflectiveOperationException {
        source = new HikariDataSource();
        source.setJdbcUrl("jdbc:postgresql://" + request.servers().get(0) + "/postgres?user=postgres");
        source.setMaximumPoolSize(2);
        // Clients that make the table at once get in each other's way: one at a time, until its
        // transaction is over: the statements of one call are one.
        new JdbcTemplate(source).execute("SELECT pg_advisory_xact_lock(7); CREATE TABLE IF NOT EXISTS INT_LOCK (LOCK_KEY CHAR(36) NOT NULL, REGION VARCHAR(100) NOT NULL,"
            + " CLIENT_ID CHAR(36), CREATED_DATE TIMESTAMP NOT NULL, EXPIRED_AFTER TIMESTAMP, constraint INT_LOCK_PK primary key (LOCK_KEY, REGION))");
        DefaultLockRepository repository = new DefaultLockRepository(source);
        LockRepository transactional = transactional(repository);
        repository.afterPropertiesSet();
        complete(repository);
        start(repository);
        try { // older versions have the time to live in the repository
            return JdbcLockRegistry.class.getConstructor(LockRepository.class, Duration.class).newInstance(transactional, Duration.ofMillis(request.ttlMs()));
        } catch (NoSuchMethodException e) {
            DefaultLockRepository.class.getMethod("setTimeToLive", int.class).invoke(repository, request.ttlMs());
            return new JdbcLockRegistry(transactional);
        }
    }

    /** Older versions are complete without it. */
    private static void complete(Object bean) {
        if (bean instanceof SmartInitializingSingleton singleton) singleton.afterSingletonsInstantiated();
    }

    /** Older versions leave their transactions to Spring, which makes them as their annotations say. */
    private LockRepository transactional(DefaultLockRepository repository) throws ReflectiveOperationException {
        PlatformTransactionManager manager = manager();
        try {
            DefaultLockRepository.class.getMethod("setTransactionManager", PlatformTransactionManager.class).invoke(repository, manager);
            return repository;
        } catch (NoSuchMethodException e) {
            TransactionInterceptor transactions = new TransactionInterceptor();
            transactions.setTransactionManager(manager);
            transactions.setTransactionAttributeSource(new AnnotationTransactionAttributeSource());
            ProxyFactory proxies = new ProxyFactory(repository);
            proxies.addAdvice(transactions);
            return (LockRepository) proxies.getProxy();
        }
    }

    /** Spring's own since 5.3, and what it was before. */
    private PlatformTransactionManager manager() throws ReflectiveOperationException {
        try {
            return (PlatformTransactionManager) Class.forName("org.springframework.jdbc.support.JdbcTransactionManager").getConstructor(DataSource.class).newInstance(source);
        } catch (ClassNotFoundException e) {
            return new DataSourceTransactionManager(source);
        }
    }

    /** It does since the repository says what it has deleted (6.4). */
    boolean confirms() throws NoSuchMethodException {
        return LockRepository.class.getMethod("delete", String.class).getReturnType() == boolean.class;
    }

    public void close() { source.close(); }

    public static void main(String[] args) throws Exception { serve(JdbcRegistry::new); }
}
