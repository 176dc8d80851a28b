import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.integration.redis.util.RedisLockRegistry;
import org.springframework.integration.support.locks.LockRegistry;

/** The registry on Redis, by Lettuce. */
public class RedisRegistry extends RegistryLocks {
    private LettuceConnectionFactory factory;

    RedisRegistry() { super("spring-integration-redis"); }

    LockRegistry registry(Open request) {
        String[] at = request.servers().get(0).split(":");
        factory = new LettuceConnectionFactory(at[0], Integer.parseInt(at[1]));
        factory.afterPropertiesSet();
        start(factory);
        RedisConnection connection = factory.getConnection(); // an application has its connection before it asks for a lock
        connection.ping();
        connection.close();
        return new RedisLockRegistry(factory, "picklock", request.ttlMs());
    }

    boolean confirms() { return true; }

    public void close() { factory.destroy(); }

    public static void main(String[] args) throws Exception { serve(RedisRegistry::new); }
}
