import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.LeaderLatchListener;
import org.apache.curator.framework.recipes.leader.LeaderSelector;
import org.apache.curator.framework.recipes.leader.LeaderSelectorListenerAdapter;

/**
 * Apache Curator's leader elections on ZooKeeper, as shipped. The argument names the recipe: latch (LeaderLatch) or
 * selector (LeaderSelector). Who leads holds the lock.
 *
 * Its documentation (5.9.0, https://curator.apache.org/docs/recipes-leader-latch and
 * https://curator.apache.org/docs/recipes-leader-election) promises that there is one leader, and that its user is told
 * when the connection is in trouble: a latch calls notLeader by itself, and a selector interrupts takeLeadership if its
 * listener is the LeaderSelectorListenerAdapter, which the documentation strongly recommends. hasLeadership tells what
 * the client remembers, and is not asked.
 *
 * A participant that has lost its leadership stays in the election, as such a service does, and may lead again when its
 * user next waits for that. If it leads while nobody waits for it, it gives the leadership up. It leaves the election if its
 * user waited in vain. A release closes the latch, or returns from takeLeadership.
 */
public class CuratorElections extends Adapter implements AutoCloseable {
    private final String recipe;
    private CuratorFramework client;
    private final Map<String, Participant> participants = new ConcurrentHashMap<>();

    CuratorElections(String recipe) { this.recipe = recipe; }

    public Map<String, Object> open(Open request) throws Exception {
        client = CuratorLocks.connected(request, (c, state) -> {});
        Map<String, Object> abilities = new LinkedHashMap<>();
        abilities.put("lease", false);
        abilities.put("cancels", true);
        return loaded(abilities, "org.apache.curator", "curator-recipes");
    }

    /** A client's part in one election. */
    private abstract class Participant {
        final String key;
        private boolean wanted; // its user waits for the leadership, or has it
        private boolean granted; // its user has been told
        private boolean leads; // by what the library last said
        private boolean gone; // it leaves the election, and is of no use any more
        private int term; // how often its user has had enough of a leadership, or lost one

        Participant(String key) { this.key = key; }

        /** Sees to it that it takes part. It is called again and again while its user waits. */
        abstract void enter() throws Exception;

        abstract void leave() throws Exception;

        /** Ends its leadership, which its user has given up. */
        abstract void resign() throws Exception;

        /** Whether it leaves the election if it leads while nobody waits for that. */
        abstract boolean leavesUnwanted();

        /** Has it lead for its user from now on, unless it leaves the election. */
        synchronized boolean want() { return wanted = !gone; }

        /** Whether it leads before a time of System.nanoTime. If not, nobody wants it any more. */
        synchronized boolean await(long end) throws Exception {
            for (long left; !leads && (left = end - System.nanoTime()) > 0; ) {
                enter();
                TimeUnit.NANOSECONDS.timedWait(this, Math.min(left, RETRY_NS));
            }
            if (!leads) wanted = false;
            return leads;
        }

        synchronized void answered() {
            granted = wanted;
            if (granted && !leads) loses();
        }

        /** From the library: it leads. False if nobody waits for that. */
        synchronized boolean begins() {
            leads = true;
            gone = !wanted && leavesUnwanted();
            notifyAll();
            return wanted;
        }

        /** From the library: it leads no more. */
        synchronized void ends() {
            leads = false;
            if (granted) loses();
        }

        private void loses() {
            over();
            lost(key);
        }

        /** Whether it was granted, and not lost since. It is no more. */
        synchronized boolean gaveUp() {
            boolean was = granted;
            over();
            return was;
        }

        private void over() {
            wanted = granted = leads = false;
            term++;
            notifyAll();
        }

        synchronized int term() { return term; }
    }

    private static final long RETRY_NS = 20_000_000;

    private final class Latch extends Participant implements LeaderLatchListener {
        private final LeaderLatch latch;
        private final AtomicBoolean left = new AtomicBoolean();
        private boolean started;

        Latch(String key) {
            super(key);
            latch = new LeaderLatch(client, path(key));
            latch.addListener(this);
        }

        void enter() throws Exception {
            if (started) return;
            started = true;
            latch.start();
        }

        /** Its user and the library's thread may both want that. */
        void leave() throws Exception {
            participants.remove(key, this);
            if (!left.getAndSet(true)) latch.close();
        }

        void resign() throws Exception { leave(); }

        boolean leavesUnwanted() { return true; }

        @Override
        public void isLeader() {
            if (begins()) return;
            try {
                leave();
            } catch (Exception e) {
                e.printStackTrace();
            }
        }

        @Override
        public void notLeader() { ends(); }
    }

    private final class Selector extends Participant {
        private final LeaderSelector selector;
        private boolean started;

        Selector(String key) {
            super(key);
            selector = new LeaderSelector(client, path(key), new LeaderSelectorListenerAdapter() {
                @Override
                public void takeLeadership(CuratorFramework c) throws InterruptedException { lead(); }
            });
        }

        /** The leadership lasts until this returns. */
        private synchronized void lead() throws InterruptedException {
            int mine = term();
            try {
                for (boolean wanted = begins(); wanted && term() == mine; ) wait();
            } finally {
                ends();
            }
        }

        void enter() {
            if (started) {
                selector.requeue(); // without effect while it is in the line
            } else {
                started = true;
                selector.start();
            }
        }

        void leave() {
            participants.remove(key, this);
            selector.close();
        }

        void resign() {} // lead returns

        boolean leavesUnwanted() { return false; } // lead returns at once
    }

    private static String path(String key) { return "/picklock/" + key; }

    public Grant acquire(String key, long timeoutMs, boolean shared) throws Exception {
        long end = System.nanoTime() + timeoutMs * 1_000_000;
        Participant of;
        do {
            of = participants.computeIfAbsent(key, k -> recipe.equals("latch") ? new Latch(k) : new Selector(k));
        } while (!of.want());
        try {
            if (of.await(end)) return new Grant(0, null);
        } catch (Exception e) {
            of.gaveUp();
            of.leave();
            throw e;
        }
        of.gaveUp();
        of.leave();
        return null;
    }

    protected void answered(String key) {
        Participant of = participants.get(key);
        if (of != null) of.answered();
    }

    public boolean release(String key) throws Exception {
        Participant of = participants.get(key);
        if (of == null || !of.gaveUp()) return false;
        of.resign();
        return true;
    }

    public void close() { client.close(); }

    public static void main(String[] args) throws Exception { serve(() -> new CuratorElections(args[0])); }
}
