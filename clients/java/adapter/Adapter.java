import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;

/**
 * Speaks picklock's exec protocol for a lock: one request or answer a line, as JSON
 * (https://github.com/picklock/picklock/blob/main/docs/reference/exec.md).
 *
 * A lock extends it with open, acquire and release, and with renew and holds if it can. serve does the rest. One that implements AutoCloseable can
 * be opened again in the same process: another object is opened then, and the former one is closed.
 */
public abstract class Adapter {
    /** Nobody knows whether the request took effect. */
    @SuppressWarnings("serial") // it is never written
    public static class Unknown extends Exception {
        public Unknown(String why) { super(why); }
    }

    /** The request certainly had no effect. */
    @SuppressWarnings("serial") // nor this one
    public static class NotSent extends Exception {
        public NotSent(String why) { super(why); }
    }

    /** since is System.nanoTime(), which is CLOCK_MONOTONIC, right before the request that was answered. */
    public record Lease(long leaseMs, long since) {}

    /**
     * What an acquire has got: a token of 0 and a lease of null are none. expired: by what the library tells its user, the
     * lock is over. unrenewed: the library does not renew this one, although it renews others.
     */
    public record Grant(long token, Lease lease, boolean expired, boolean unrenewed) {
        public Grant(long token, Lease lease) { this(token, lease, false, false); }
    }

    /** servers are the "host:port" of the Compose file's servers. */
    public record Open(List<String> servers, String client, int ttlMs, Map<String, String> options) {
        public String option(String name, String otherwise) { return options.getOrDefault(name, otherwise); }
    }

    /** Called once, first. Returns the abilities; "library" and "version" beside them name what is tested (see loaded). */
    public abstract Map<String, Object> open(Open request) throws Exception;

    /**
     * Returns null if the lock was not to be had in time. shared is only ever true for a lock of the kind "rw". The thread that calls it
     * is interrupted if the lock's user cancels it, of a lock that declares "cancels": any exception says then that its
     * user does not hold it.
     */
    public abstract Grant acquire(String key, long timeoutMs, boolean shared) throws Exception;

    /** Returns the lease that begins anew, or null if the lock was no longer ours. */
    public Lease renew(String key) throws Exception { throw new NotSent("unknown request renew"); }

    /** Returns false if the service says that the lock was no longer ours. */
    public abstract boolean release(String key) throws Exception;

    /** Makes a shared grant of the exclusive one: no other client has the lock exclusively in between. Returns null if the lock was no longer ours. */
    public Grant downgrade(String key) throws Exception { throw new NotSent("unknown request downgrade"); }

    /** Returns what the library says if its user asks whether it holds the lock. */
    public boolean holds(String key) throws Exception { throw new NotSent("unknown request holds"); }

    /** Called when the answer of an acquire has been written. A loss that is told before is taken for a former grant's. */
    protected void answered(String key) {}

    /**
     * Does something in another thread of the program, as applications have many: one that asks for a lock and gives it
     * back at once. What comes of it is not told to picklock.
     */
    protected static void beside(Callable<?> does) {
        Thread other = new Thread(() -> {
            try {
                does.call();
            } catch (Exception e) { // it asks no more
            }
        }, "beside");
        other.setDaemon(true);
        other.start();
    }

    /** To call when the lock has renewed its lease by itself. */
    protected void renewed(String key, Lease lease) {
        Map<String, Object> event = fields(lease);
        event.put("event", "renewed");
        event.put("key", key);
        tell(event);
    }

    /** To call when it has learnt by itself that it no longer holds the lock. */
    protected void lost(String key) { tell(Map.of("event", "lost", "key", key)); }

    /** Adds to the abilities which version of a library runs: the one that its own file names. */
    protected static Map<String, Object> loaded(Map<String, Object> abilities, String group, String artifact) throws IOException {
        Map<String, Object> all = new LinkedHashMap<>(abilities);
        try (InputStream in = Adapter.class.getResourceAsStream("/META-INF/maven/" + group + "/" + artifact + "/pom.properties")) {
            if (in == null) throw new IOException("no " + group + ":" + artifact + " on the class path");
            Properties of = new Properties();
            of.load(in);
            all.put("library", "maven:" + group + ":" + artifact);
            all.put("version", of.getProperty("version"));
        }
        return all;
    }

    /** Likewise, of a library whose jar has no such file: the version in the name of the jar that a class of it is from. */
    protected static Map<String, Object> loaded(Map<String, Object> abilities, String group, String artifact, Class<?> of) throws IOException {
        String jar = Path.of(of.getProtectionDomain().getCodeSource().getLocation().getPath()).getFileName().toString();
        if (!jar.startsWith(artifact + "-") || !jar.endsWith(".jar")) throw new IOException(of + " is from " + jar + ", want " + artifact);
        Map<String, Object> all = new LinkedHashMap<>(abilities);
        all.put("library", "maven:" + group + ":" + artifact);
        all.put("version", jar.substring(artifact.length() + 1, jar.length() - ".jar".length()));
        return all;
    }

    // Only answers may be on standard output: what a library prints goes to standard error.
    private static final PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.out), false, StandardCharsets.UTF_8);

    /** Writes one line, whole: threads may call it at once. */
    private static synchronized void tell(Map<String, Object> fields) {
        out.print(json(fields) + "\n");
        out.flush();
    }

    private static Map<String, Object> failed(String error, boolean definite) {
        return new LinkedHashMap<>(Map.of("ok", false, "error", error, "definite", definite));
    }

    private static Map<String, Object> fields(Lease lease) {
        Map<String, Object> m = new LinkedHashMap<>();
        if (lease != null) {
            m.put("lease_ms", lease.leaseMs);
            m.put("since_ns", lease.since);
        }
        return m;
    }

    private Map<String, Object> answer(Map<String, Object> request) throws Exception {
        String key = (String) request.get("key");
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("ok", true);
        switch ((String) request.get("op")) {
            case "open" -> {
                answer.putAll(open(opening(request)));
                if (this instanceof AutoCloseable) answer.put("reopens", true);
            }
            case "acquire" -> {
                Grant grant = acquired(request);
                if (grant == null) return failed("timeout", true);
                if (grant.token != 0) answer.put("token", grant.token);
                if (grant.expired) answer.put("expired", true);
                if (grant.unrenewed) answer.put("watchdog", false);
                answer.putAll(fields(grant.lease));
            }
            case "renew" -> {
                Lease lease = renew(key);
                if (lease == null) return failed("not held", true);
                answer.putAll(fields(lease));
            }
            case "release" -> {
                if (!release(key)) return failed("not held", true);
            }
            case "holds" -> answer.put("held", holds(key));
            case "downgrade" -> {
                Grant grant = downgrade(key);
                if (grant == null) return failed("not held", true);
                answer.putAll(fields(grant.lease));
            }
            default -> {
                return failed("unknown request", true);
            }
        }
        return answer;
    }

    private Grant acquired(Map<String, Object> request) throws Exception {
        String key = (String) request.get("key");
        long timeout = request.get("timeout_ms") instanceof Number n ? n.longValue() : 60_000;
        boolean shared = "shared".equals(request.get("mode"));
        if (!(request.get("cancel_ms") instanceof Number after)) return acquire(key, timeout, shared);
        Interrupt interrupt = new Interrupt(after.longValue());
        try {
            Grant grant = acquire(key, timeout, shared);
            if (grant == null && interrupt.came()) throw new NotSent("cancelled");
            return grant;
        } catch (Exception e) { // some libraries wrap what comes of an interrupt
            if (interrupt.came()) throw new NotSent("cancelled");
            throw e;
        } finally {
            interrupt.over();
        }
    }

    /** Interrupts the thread that makes it after a time, if that is not over by then. */
    protected static final class Interrupt implements Runnable {
        private final Thread whom = Thread.currentThread();
        private final long afterMs;
        private boolean over, came;

        protected Interrupt(long afterMs) {
            this.afterMs = afterMs;
            Thread clock = new Thread(this);
            clock.setDaemon(true);
            clock.start();
        }

        @Override
        public synchronized void run() {
            try {
                for (long end = System.nanoTime() + afterMs * 1_000_000, left; !over && (left = end - System.nanoTime()) > 0; ) {
                    TimeUnit.NANOSECONDS.timedWait(this, left);
                }
            } catch (InterruptedException e) {
                return; // nobody interrupts it
            }
            came = !over;
            if (came) whom.interrupt();
        }

        protected synchronized boolean came() { return came; }

        /** No interrupt comes after this, and one that was not noticed is forgotten. */
        protected void over() {
            synchronized (this) {
                over = true;
                notifyAll();
            }
            Thread.interrupted();
        }
    }

    @SuppressWarnings("unchecked") // the protocol has these types
    private static Open opening(Map<String, Object> request) {
        Object servers = request.get("servers");
        return new Open(servers == null ? List.of() : (List<String>) servers, (String) request.get("client"),
            ((Number) request.get("ttl_ms")).intValue(), (Map<String, String>) request.get("options"));
    }

    /** How many locks may be on their way to being closed at once. */
    private static final int MOST_CLOSING = 2;
    private static final AtomicInteger closing = new AtomicInteger();

    /** Closes a lock, and does not wait for that: its connections may be those that a fault has harmed. */
    private static void closeAside(AutoCloseable lock) throws NotSent {
        if (closing.get() >= MOST_CLOSING) throw new NotSent("locks that were opened before are still being closed");
        closing.incrementAndGet();
        Thread aside = new Thread(() -> {
            try {
                lock.close();
            } catch (Exception e) {
                e.printStackTrace();
            }
            closing.decrementAndGet();
        });
        aside.setDaemon(true);
        aside.start();
    }

    /** Answers requests until the program is told to end, or its input does. make makes a lock that is not open yet. */
    @SuppressWarnings("unchecked") // a request is an object
    public static void serve(Supplier<? extends Adapter> make) throws IOException {
        Adapter lock = null;
        System.setOut(System.err);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = in.readLine()) != null; ) {
            Map<String, Object> request = (Map<String, Object>) new Parser(line).value();
            if ("close".equals(request.get("op"))) break;
            Map<String, Object> reply;
            try {
                if ("open".equals(request.get("op"))) {
                    if (lock != null) closeAside((AutoCloseable) lock);
                    lock = make.get();
                }
                reply = lock.answer(request);
            } catch (NotSent e) {
                reply = failed(String.valueOf(e.getMessage()), true);
            } catch (Unknown e) {
                reply = failed(String.valueOf(e.getMessage()), false);
            } catch (Exception e) { // whoever gets it does not know more either
                e.printStackTrace();
                reply = failed(e.toString(), false);
            }
            reply.put("id", request.get("id"));
            tell(reply);
            if ("acquire".equals(request.get("op"))) lock.answered((String) request.get("key"));
        }
        out.close(); // who waits for the end need not wait for the JVM, which gives threads in native code 300 ms
        Runtime.getRuntime().halt(0); // threads of the library may still run
    }

    private static String json(Object value) {
        if (value instanceof Map<?, ?> map) {
            List<String> fields = new ArrayList<>();
            map.forEach((name, of) -> fields.add(json(name) + ":" + json(of)));
            return "{" + String.join(",", fields) + "}";
        }
        if (!(value instanceof String text)) return String.valueOf(value);
        StringBuilder b = new StringBuilder("\"");
        for (char c : text.toCharArray()) {
            b.append(c == '"' || c == '\\' ? "\\" + c : c < ' ' ? String.format("\\u%04x", (int) c) : String.valueOf(c));
        }
        return b.append('"').toString();
    }

    /** Reads JSON, as far as a request has it: a Map, a List, a String, a Long, a Boolean or null. */
    private static final class Parser {
        private final String text;
        private int at;

        Parser(String text) { this.text = text; }

        private char next() {
            while (Character.isWhitespace(text.charAt(at))) at++;
            return text.charAt(at);
        }

        private boolean took(char c) {
            if (next() != c) return false;
            at++;
            return true;
        }

        Object value() {
            if (took('{')) {
                Map<String, Object> map = new LinkedHashMap<>();
                while (!took('}')) {
                    String name = (String) value();
                    took(':');
                    map.put(name, value());
                    took(',');
                }
                return map;
            }
            if (took('[')) {
                List<Object> list = new ArrayList<>();
                while (!took(']')) {
                    list.add(value());
                    took(',');
                }
                return list;
            }
            return took('"') ? string() : word();
        }

        private Object word() {
            int from = at;
            while (at < text.length() && ",]} \t".indexOf(text.charAt(at)) < 0) at++;
            String word = text.substring(from, at);
            return switch (word) {
                case "true" -> true;
                case "false" -> false;
                case "null" -> null;
                default -> Long.parseLong(word);
            };
        }

        private String string() {
            StringBuilder b = new StringBuilder();
            for (char c; (c = text.charAt(at++)) != '"'; ) {
                if (c != '\\') {
                    b.append(c);
                    continue;
                }
                c = text.charAt(at++);
                int escape = "nrtbf".indexOf(c);
                if (c == 'u') {
                    b.append((char) Integer.parseInt(text.substring(at, at += 4), 16));
                } else {
                    b.append(escape < 0 ? c : "\n\r\t\b\f".charAt(escape));
                }
            }
            return b.toString();
        }
    }
}
