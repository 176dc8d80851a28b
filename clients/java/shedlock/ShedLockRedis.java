import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.provider.redis.spring.RedisLockProvider;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

/**
 * The provider for Redis, by Spring's connections.
 *
 * Option: safeupdate=no|yes, the library's safeUpdate, which older versions lack.
 */
public class ShedLockRedis extends ShedLocks {
    private LettuceConnectionFactory factory;

    ShedLockRedis() { super("shedlock-provider-redis-spring"); }

    LockProvider provider(Open request) throws ReflectiveOperationException {
        String[] at = request.servers().get(0).split(":");
        factory = new LettuceConnectionFactory(at[0], Integer.parseInt(at[1]));
        factory.afterPropertiesSet();
        factory.start();
        RedisLockProvider.Builder builder = new RedisLockProvider.Builder(factory);
        boolean safe = request.option("safeupdate", "no").equals("yes");
        try {
            builder.getClass().getMethod("safeUpdate", boolean.class).invoke(builder, safe);
        } catch (NoSuchMethodException e) {
            if (safe) throw new NoSuchMethodException("this version has no safeUpdate: leave out safeupdate=yes");
        }
        return builder.build();
    }

    public void close() { factory.destroy(); }

    public static void main(String[] args) throws Exception { serve(ShedLockRedis::new); }
}
