import com.hazelcast.client.HazelcastClient;
import com.hazelcast.client.config.ClientConfig;
import com.hazelcast.core.HazelcastException;
import com.hazelcast.core.HazelcastInstance;
import com.hazelcast.cp.exception.CPGroupDestroyedException;
import com.hazelcast.cp.lock.FencedLock;
import com.hazelcast.cp.lock.exception.LockOwnershipLostException;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * Hazelcast's FencedLock in the CP Subsystem, through a Hazelcast client.
 *
 * Its documentation (5.3, https://docs.hazelcast.org/docs/5.3.7/javadoc/com/hazelcast/cp/lock/FencedLock.html) promises a
 * linearizable lock on Raft, which a CP session holds: the client keeps it up with heartbeats, and the members close it once
 * its time to live is over without one. The same page says that no lock service can guarantee mutual exclusion in an
 * asynchronous network, and gives each new holder a greater fencing token. It has no signal for a lock that was lost: the next call
 * throws LockOwnershipLostException. So no lease is claimed and no loss reported.
 *
 * The lock is reentrant, and its owner is a thread: one thread does everything here. isLockedByCurrentThread asks the members.
 *
 * All defaults but how long a client waits for a member that is silent (10 s, not 60 s), and how long it tries a request again
 * (10 s, not 120 s).
 */
public class HazelcastLock extends Adapter implements AutoCloseable {
    private HazelcastInstance client;
    private final Map<String, FencedLock> locks = new HashMap<>(); // making a proxy is a request, and the library asks to keep it

    public Map<String, Object> open(Open request) throws Exception {
        System.setProperty("hazelcast.logging.type", "none");
        ClientConfig config = new ClientConfig().setClusterName("picklock").setInstanceName(null)
            .setProperty("hazelcast.client.heartbeat.interval", "1000")
            .setProperty("hazelcast.client.heartbeat.timeout", "10000")
            .setProperty("hazelcast.client.invocation.timeout.seconds", "10");
        config.getNetworkConfig().setAddresses(request.servers());
        client = HazelcastClient.newHazelcastClient(config);
        return loaded(Map.of("tokens", true, "lease", false, "confirms", true, "holds", true), "com.hazelcast", "hazelcast");
    }

    private FencedLock lock(String key) { return locks.computeIfAbsent(key, k -> client.getCPSubsystem().getLock(k)); }

    public Grant acquire(String key, long timeoutMs, boolean shared) throws Exception {
        try {
            long fence = lock(key).tryLockAndGetFence(timeoutMs, TimeUnit.MILLISECONDS);
            return fence == FencedLock.INVALID_FENCE ? null : new Grant(fence, null);
        } catch (LockOwnershipLostException e) {
            throw new NotSent(e.toString()); // a former lock of this thread went with its session; this call has taken none
        } catch (CPGroupDestroyedException e) {
            locks.remove(key);
            throw new NotSent(e.toString()); // whatever was in the group is gone
        } catch (HazelcastException e) {
            throw new Unknown(e.toString());
        }
    }

    public boolean release(String key) throws Exception {
        try {
            lock(key).unlock();
            return true;
        } catch (IllegalMonitorStateException e) { // "not owner", and so is LockOwnershipLostException
            return false;
        } catch (CPGroupDestroyedException e) {
            locks.remove(key);
            return false;
        } catch (HazelcastException e) {
            throw new Unknown(e.toString());
        }
    }

    public boolean holds(String key) throws Exception {
        try {
            return lock(key).isLockedByCurrentThread();
        } catch (LockOwnershipLostException e) {
            return false;
        }
    }

    public void close() { client.shutdown(); }

    public static void main(String[] args) throws Exception { serve(HazelcastLock::new); }
}
