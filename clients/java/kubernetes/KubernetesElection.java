import io.kubernetes.client.extended.leaderelection.LeaderElectionConfig;
import io.kubernetes.client.extended.leaderelection.LeaderElector;
import io.kubernetes.client.extended.leaderelection.resourcelock.LeaseLock;
import io.kubernetes.client.openapi.ApiClient;
import io.kubernetes.client.util.ClientBuilder;
import io.kubernetes.client.util.credentials.AccessTokenAuthentication;
import java.time.Duration;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * The leader election of Kubernetes' official client for Java on a Lease, as shipped: one LeaderElector for each acquire,
 * with the durations of its example (10, 8 and 2 s) and its limit of a request (10 s) scaled to the lease, which counts in
 * whole seconds.
 *
 * Its documentation (25.0.0, https://github.com/kubernetes-client/java, LeaderElector) promises no more than its hooks
 * say: one is called when it starts leading, one when it stops. Whoever stops closes the elector, which frees the Lease then.
 * Renewals cannot be seen by its user, so that no lease is claimed.
 */
public class KubernetesElection extends Adapter implements AutoCloseable {
    private ApiClient api;
    private long seconds;
    private final Map<String, Election> elections = new HashMap<>();

    public Map<String, Object> open(Open request) throws Exception {
        seconds = Math.max(1, (request.ttlMs() + 999) / 1000);
        api = new ClientBuilder().setBasePath("https://" + request.servers().get(0)).setVerifyingSsl(false)
            .setAuthentication(new AccessTokenAuthentication("picklock")).build();
        int limit = (int) scaled(10).toMillis();
        api.setConnectTimeout(limit).setReadTimeout(limit).setWriteTimeout(limit);
        Map<String, Object> abilities = new LinkedHashMap<>();
        abilities.put("lease", false);
        abilities.put("watchdog", true);
        abilities.put("cancels", true);
        return loaded(abilities, "io.kubernetes", "client-java-extended", LeaderElector.class);
    }

    /** So many seconds of a lease of 10. */
    private Duration scaled(int ofTen) { return Duration.ofMillis(seconds * 1000 * ofTen / 10); }

    /** One elector, from its start to its end. */
    private final class Election {
        final String key;
        final CompletableFuture<Void> led = new CompletableFuture<>(); // somebody waited for it, and it leads, or did
        private final LeaderElector elector;
        private final Thread running;
        private boolean over; // nobody waits for it any more, it was released, or it is lost
        private boolean answered; // whoever waited for it knows

        Election(String key) {
            this.key = key;
            elector = new LeaderElector(new LeaderElectionConfig(
                new LeaseLock("default", key, UUID.randomUUID().toString(), api), scaled(10), scaled(8), scaled(2)));
            running = new Thread(() -> elector.run(this::starts, this::stops));
            running.setDaemon(true);
            running.start();
        }

        private synchronized void starts() {
            if (!over) led.complete(null);
        }

        /** It is told this, too, when it never led. */
        private synchronized void stops() {
            if (over) return;
            over = true;
            if (answered) lost(key);
        }

        synchronized void answered() {
            answered = true;
            if (over) lost(key);
        }

        /** Whether the library has not said that it is over. From then on it must not. */
        synchronized boolean released() {
            boolean was = over;
            over = true;
            return !was;
        }

        void end() throws InterruptedException {
            running.interrupt();
            running.join();
            elector.close();
        }
    }

    public Grant acquire(String key, long timeoutMs, boolean shared) throws Exception {
        Election former = elections.remove(key);
        if (former != null) former.end(); // one that was lost
        Election election = new Election(key);
        try {
            election.led.get(timeoutMs, TimeUnit.MILLISECONDS);
        } catch (TimeoutException | InterruptedException e) {
            election.released();
            Thread.interrupted();
            election.end();
            if (e instanceof InterruptedException) throw e;
            return null;
        }
        elections.put(key, election);
        return new Grant(0, null);
    }

    protected void answered(String key) {
        Election election = elections.get(key);
        if (election != null) election.answered();
    }

    /** Whether the Lease was freed, the library tells nobody. */
    public boolean release(String key) throws Exception {
        Election election = elections.remove(key);
        if (election == null) return false;
        boolean held = election.released();
        election.end();
        return held;
    }

    public void close() {
        elections.values().forEach(election -> {
            election.released();
            election.running.interrupt();
        });
    }

    public static void main(String[] args) throws Exception { serve(KubernetesElection::new); }
}
