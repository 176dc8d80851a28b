import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.integration.redis.util.RedisLockRegistry;
import org.springframework.integration.support.locks.LockRegistry;

/**
 * The registry on Redis, by Lettuce. Option type. spin: the library's default, who waits tries again and again; pubsub: it is
 * notified of releases, in versions that can do that (5.5.13).
 */
public class RedisRegistry extends RegistryLocks {
    private LettuceConnectionFactory factory;
    private RedisLockRegistry registry;

    RedisRegistry() { super("spring-integration-redis"); }

    LockRegistry registry(Open request) throws ReflectiveOperationException {
        String[] at = request.servers().get(0).split(":");
        factory = new LettuceConnectionFactory(at[0], Integer.parseInt(at[1]));
        factory.afterPropertiesSet();
        start(factory);
        RedisConnection connection = factory.getConnection(); // an application has its connection before it asks for a lock
        connection.ping();
        connection.close();
        registry = new RedisLockRegistry(factory, "picklock", request.ttlMs());
        if (request.option("type", "spin").equals("pubsub")) notified(registry);
        return registry;
    }

    private static void notified(RedisLockRegistry registry) throws ReflectiveOperationException {
        for (Class<?> type : RedisLockRegistry.class.getClasses()) {
            if (!type.getSimpleName().equals("RedisLockType")) continue;
            RedisLockRegistry.class.getMethod("setRedisLockType", type).invoke(registry, type.getField("PUB_SUB_LOCK").get(null));
            return;
        }
        throw new NoSuchMethodException("this version has no option type=pubsub: it has no RedisLockType");
    }

    boolean confirms() { return true; }

    public void close() {
        registry.destroy();
        factory.destroy();
    }

    public static void main(String[] args) throws Exception { serve(RedisRegistry::new); }
}
