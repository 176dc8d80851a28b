import io.fabric8.kubernetes.client.ConfigBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.extended.leaderelection.LeaderCallbacks;
import io.fabric8.kubernetes.client.extended.leaderelection.LeaderElectionConfigBuilder;
import io.fabric8.kubernetes.client.extended.leaderelection.resourcelock.LeaderElectionRecord;
import io.fabric8.kubernetes.client.extended.leaderelection.resourcelock.LeaseLock;
import java.time.Duration;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * The leader election of fabric8's Kubernetes client on a Lease, as shipped: one LeaderElector for each acquire, with
 * the durations of its examples (15, 10 and 2 s) and its limit of a request (10 s) scaled to the lease, which counts
 * in whole seconds.
 *
 * Its documentation (8.0.0, https://javadoc.io/doc/io.fabric8/kubernetes-client-api/8.0.0, the package
 * io.fabric8.kubernetes.client.extended.leaderelection) promises no more than its callbacks say: onStartLeading,
 * onStopLeading. It names client-go as what it was made after, of which a Lease has one leader, who renews it.
 * Renewals cannot be seen by its user, so that no lease is claimed.
 *
 * Option identity: by what an elector is known. grant: each has a name of its own, as in the library's example;
 * client: all of a process have one, as with the name of a pod. Option release: releaseOnCancel, whether a leader that
 * stops frees the Lease; no: whoever waits for it waits until it has ended.
 */
public class LeaderElection extends Adapter implements AutoCloseable {
    private KubernetesClient kubernetes;
    private String client;
    private long seconds;
    private boolean anew, releases;
    private final Map<String, Election> elections = new HashMap<>();

    public Map<String, Object> open(Open request) throws Exception {
        seconds = Math.max(1, (request.ttlMs() + 999) / 1000);
        client = request.client();
        anew = request.option("identity", "grant").equals("grant");
        releases = request.option("release", "yes").equals("yes");
        kubernetes = new KubernetesClientBuilder().withConfig(new ConfigBuilder().withAutoConfigure(false)
            .withMasterUrl("https://" + request.servers().get(0)).withTrustCerts(true).withDisableHostnameVerification(true)
            .withOauthToken("picklock").withRequestTimeout((int) scaled(10).toMillis()).build()).build();
        Map<String, Object> abilities = new LinkedHashMap<>();
        abilities.put("lease", false);
        abilities.put("watchdog", true);
        abilities.put("cancels", true);
        abilities.put("lingers", !releases);
        return loaded(abilities, "io.fabric8", "kubernetes-client", KubernetesClient.class);
    }

    /** So many seconds of a lease of 15. */
    private Duration scaled(int ofFifteen) { return Duration.ofMillis(seconds * 1000 * ofFifteen / 15); }

    /** The library's lock on a Lease, which does what it does, and remembers what its user is not told. */
    private static final class Watched extends LeaseLock {
        private LeaderElectionRecord seen, base; // the latest read one, and the one that the latest write was to replace
        private RuntimeException open; // why it is unknown whether that write took effect
        private RuntimeException unread; // why the latest read failed
        private boolean freed; // the latest write that was answered freed the Lease

        Watched(String name, String identity) { super("default", name, identity); }

        synchronized RuntimeException open() { return open; }

        synchronized RuntimeException unread() { return unread; }

        synchronized boolean freed() { return freed; }

        public synchronized LeaderElectionRecord get(KubernetesClient of) {
            try {
                seen = super.get(of);
            } catch (RuntimeException e) {
                unread = e;
                throw e;
            }
            unread = null;
            // Another record than the one that the write was to replace: it came before that, or will be refused.
            if (seen != null && !seen.equals(base) && !identity().equals(seen.getHolderIdentity())) open = null;
            return seen;
        }

        public synchronized void create(KubernetesClient of, LeaderElectionRecord record) {
            wrote(() -> super.create(of, record), record);
        }

        public synchronized void update(KubernetesClient of, LeaderElectionRecord record) {
            wrote(() -> super.update(of, record), record);
        }

        /** A conflict says nothing either: the library sends a request again whose answer is lost. */
        private void wrote(Runnable write, LeaderElectionRecord record) {
            base = seen;
            freed = false;
            try {
                write.run();
            } catch (RuntimeException e) {
                open = e;
                throw e;
            }
            open = null;
            freed = record.getHolderIdentity() == null || record.getHolderIdentity().isEmpty();
        }
    }

    /** One elector, from its start to its end. */
    private final class Election {
        final String key;
        final Watched lock;
        final CompletableFuture<Void> led = new CompletableFuture<>(); // somebody waited for it, and it leads, or did
        private final CompletableFuture<Void> stopped = new CompletableFuture<>(); // it leads no more
        private boolean over; // nobody waits for it any more, it was released, or it is lost
        private boolean answered; // whoever waited for it knows
        private boolean started;
        private CompletableFuture<?> running;
        private CompletableFuture<Void> ended;

        Election(String key) {
            this.key = key;
            lock = new Watched(key, anew ? UUID.randomUUID().toString() : client);
        }

        void start() {
            running = kubernetes.leaderElector().withConfig(new LeaderElectionConfigBuilder()
                .withName(key).withLock(lock).withReleaseOnCancel(releases)
                .withLeaseDuration(Duration.ofSeconds(seconds)).withRenewDeadline(scaled(10)).withRetryPeriod(scaled(2))
                .withLeaderCallbacks(new LeaderCallbacks(this::starts, this::stops, leader -> {})).build()).build().start();
        }

        private synchronized void starts() {
            started = true;
            if (!over) led.complete(null);
        }

        /** Whoever is told this without having asked for it ends the elector, which would try to lead again. */
        private synchronized void stops() {
            stopped.complete(null);
            if (over) return;
            over = true;
            if (answered) lost(key);
            end();
        }

        synchronized void answered() {
            answered = true;
            if (over) lost(key);
        }

        /** Whether it does not lead in time. From then on it must not. */
        synchronized boolean inVain() {
            if (!led.isDone()) over = true;
            return !led.isDone();
        }

        /** Whether the library has not said that it is over. */
        synchronized boolean released() {
            boolean was = over;
            over = true;
            return !was;
        }

        /** Completes when the library has done what it does at an end, which can be after its cancel returns. */
        synchronized CompletableFuture<Void> end() {
            if (ended == null) ended = CompletableFuture.runAsync(() -> {
                running.cancel(true); // waits for a request that is under way, unless it leads by now
                if (leads()) stopped.join();
            });
            return ended;
        }

        private synchronized boolean leads() { return started; }
    }

    public Grant acquire(String key, long timeoutMs, boolean shared) throws Exception {
        Election former = elections.remove(key);
        if (former != null) former.end().get();
        Election election = new Election(key);
        election.start();
        try {
            election.led.get(timeoutMs, TimeUnit.MILLISECONDS);
        } catch (TimeoutException | InterruptedException e) {
            if (election.inVain()) {
                election.end().get(); // if it leads in the last moment, it stops
                if (e instanceof InterruptedException) throw e;
                if (election.lock.open() != null) throw new Unknown(election.lock.open().toString());
                return null;
            }
        }
        elections.put(key, election);
        return new Grant(0, null);
    }

    protected void answered(String key) {
        Election election = elections.get(key);
        if (election != null) election.answered();
    }

    public boolean release(String key) throws Exception {
        Election election = elections.get(key);
        if (election == null || !election.released()) return false;
        election.end().get();
        if (!releases || election.lock.freed()) return true;
        if (election.lock.open() != null) throw new Unknown(election.lock.open().toString());
        if (election.lock.unread() != null) throw new NotSent(election.lock.unread().toString());
        return false; // the Lease is another's
    }

    public void close() {
        elections.values().forEach(election -> election.running.cancel(true));
        kubernetes.close();
    }

    public static void main(String[] args) throws Exception { serve(LeaderElection::new); }
}
