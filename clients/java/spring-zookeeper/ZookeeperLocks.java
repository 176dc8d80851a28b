import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.retry.ExponentialBackoffRetry;
import org.springframework.integration.zookeeper.lock.ZookeeperLockRegistry;

/**
 * Spring Integration's ZookeeperLockRegistry, as shipped, on Curator's InterProcessMutex.
 *
 * Its documentation (https://docs.spring.io/spring-integration/reference/distributed-locks.html and the page of zookeeper)
 * promises locks for one thread of one process at a time, in a clustered environment. It says nothing of a session that ends,
 * and there is no signal for a lock that was lost. Version 6.5.1 is the newest that is served with all that it needs.
 */
public class ZookeeperLocks extends Adapter implements AutoCloseable {
    private CuratorFramework client;
    private ZookeeperLockRegistry registry;
    private final Map<String, Lock> held = new HashMap<>();

    public Map<String, Object> open(Open request) throws Exception {
        client = CuratorFrameworkFactory.builder()
            .connectString(String.join(",", request.servers()))
            .sessionTimeoutMs(request.ttlMs())
            .retryPolicy(new ExponentialBackoffRetry(1000, 3)) // that of Curator's documentation
            .build();
        client.start();
        client.blockUntilConnected(10, TimeUnit.SECONDS);
        registry = new ZookeeperLockRegistry(client, "/picklock");
        Map<String, Object> abilities = new LinkedHashMap<>();
        abilities.put("lease", false);
        abilities.put("cancels", true);
        abilities.put("several", true);
        return loaded(abilities, "org.springframework.integration", "spring-integration-zookeeper", registry.getClass());
    }

    public Grant acquire(String key, long timeoutMs, boolean shared) throws Exception {
        Lock lock = registry.obtain(key);
        try {
            // false: there is no connection, or the mutex has taken its node out of the line again.
            if (!lock.tryLock(timeoutMs, TimeUnit.MILLISECONDS)) return null;
        } catch (RuntimeException e) { // it may have taken effect or not
            throw new Unknown(e.toString());
        }
        held.put(key, lock);
        return new Grant(0, null);
    }

    /** Of a node that is gone, too, without a word. */
    public boolean release(String key) throws Unknown {
        if (!held.containsKey(key)) return false;
        try {
            held.get(key).unlock();
            return true;
        } catch (RuntimeException e) {
            if (e.getCause() instanceof IllegalMonitorStateException) return false; // "You do not own the lock"
            throw new Unknown(e.toString());
        }
    }

    public void close() {
        registry.destroy();
        client.close();
    }

    public static void main(String[] args) throws Exception { serve(ZookeeperLocks::new); }
}
