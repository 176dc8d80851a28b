import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.lease.LeaseKeepAliveResponse;
import io.etcd.jetcd.lock.LockResponse;
import io.etcd.jetcd.support.CloseableClient;
import io.grpc.stub.StreamObserver;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * jetcd's Lock (https://github.com/etcd-io/jetcd), which is the lock service of etcd, under a lease that the library
 * keeps alive, as shipped.
 *
 * Its documentation (0.8.7, https://javadoc.io/doc/io.etcd/jetcd-core/0.8.7/io/etcd/jetcd/Lock.html) promises a lock
 * that is held until it is unlocked or the lease ends, and, of Lease.keepAlive, a call of onError or onCompleted
 * when the lease can no longer be kept alive.
 */
public class JetcdLocks extends Adapter implements AutoCloseable {
    private record Held(long lease, ByteSequence key, CloseableClient alive) {}

    private final Set<Long> over = ConcurrentHashMap.newKeySet(); // leases that the library has given up

    private Client client;
    private long seconds;
    private final Map<String, Held> held = new ConcurrentHashMap<>();
    private final Map<String, Held> released = new ConcurrentHashMap<>();

    public Map<String, Object> open(Open request) throws Exception {
        seconds = Math.max(1, (request.ttlMs() + 999) / 1000); // it counts in whole ones
        client = Client.builder().endpoints(request.servers().stream().map(s -> "http://" + s).toArray(String[]::new)).build();
        Map<String, Object> abilities = new LinkedHashMap<>();
        abilities.put("lease", false);
        abilities.put("watchdog", true);
        abilities.put("cancels", true);
        abilities.put("several", true);
        return loaded(abilities, "io.etcd", "jetcd-core", Client.class);
    }

    private static ByteSequence bytes(String text) { return ByteSequence.from(text, StandardCharsets.UTF_8); }

    /** Tells of a lease that is over while its lock is held. */
    private StreamObserver<LeaseKeepAliveResponse> observer(String key, long lease) {
        return new StreamObserver<>() {
            public void onNext(LeaseKeepAliveResponse response) {}
            public void onError(Throwable t) { over(); }
            public void onCompleted() { over(); }
            private void over() {
                over.add(lease);
                Held now = held.get(key);
                if (now != null && now.lease == lease) lost(key);
            }
        };
    }

    public Grant acquire(String key, long timeoutMs, boolean shared) throws Exception {
        long end = System.nanoTime() + timeoutMs * 1_000_000;
        long lease;
        try {
            lease = client.getLeaseClient().grant(seconds).get(timeoutMs, TimeUnit.MILLISECONDS).getID();
        } catch (TimeoutException | ExecutionException e) {
            throw new NotSent("no lease: " + e);
        }
        CloseableClient alive = client.getLeaseClient().keepAlive(lease, observer(key, lease));
        CompletableFuture<LockResponse> asked = client.getLockClient().lock(bytes("picklock/" + key), lease);
        try {
            LockResponse got = asked.get(Math.max(1, end - System.nanoTime()), TimeUnit.NANOSECONDS);
            held.put(key, new Held(lease, got.getKey(), alive));
            return new Grant(0, null);
        } catch (TimeoutException | ExecutionException | InterruptedException e) { // it waits on at the server: without its lease it cannot
            asked.cancel(true);
            revoke(lease, alive);
            if (e instanceof ExecutionException) throw new Unknown(e.toString());
            if (e instanceof InterruptedException) throw e;
            return null;
        }
    }

    protected void answered(String key) {
        Held now = held.get(key);
        if (now != null && over.contains(now.lease)) lost(key); // before the grant was noted
    }

    private void revoke(long lease, CloseableClient alive) throws Unknown {
        alive.close();
        try {
            client.getLeaseClient().revoke(lease).get(1, TimeUnit.SECONDS);
        } catch (Exception e) {
            throw new Unknown("its lease could not be revoked: " + e);
        }
    }

    /** Of a lock that is gone too, without a word. */
    public boolean release(String key) throws Exception {
        Held now = held.remove(key);
        Held had = now != null ? now : released.get(key);
        if (had == null) return false;
        released.put(key, had);
        over.remove(had.lease);
        try {
            client.getLockClient().unlock(had.key).get();
        } catch (ExecutionException e) {
            throw new Unknown(e.toString());
        }
        if (now != null) revoke(had.lease, had.alive);
        return true;
    }

    public void close() { client.close(); }

    public static void main(String[] args) throws Exception { serve(JetcdLocks::new); }
}
