import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Constructor;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

import org.junit.jupiter.api.Assertions;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolutionException;
import org.junit.jupiter.api.extension.ParameterResolver;

/**
 * Tests of a distributed lock in JUnit 5: picklock starts the servers, lets real clients fight over
 * your lock, does harm to them, and proves what held (https://github.com/picklock/picklock).
 * Copy this file to your tests, into any package:
 *
 * <pre>
 * {@literal @}ExtendWith(Picklock.Resolver.class)
 * class MyLockTest {
 *     static class Adapted implements Picklock.Lock {  // what one client holds, in a process of its own
 *         Adapted(Picklock.Client client) { ... }      // used again and again for client.key()
 *         ...
 *     }
 *
 *     {@literal @}Test
 *     void holds(Picklock picklock) throws Exception {
 *         picklock.run(Adapted.class, "--cluster=redis", "--faults=kill:client", "--duration=5s").holds();
 *     }
 * }
 * </pre>
 *
 * A test that does not ask what came of a run fails. PICKLOCK is the program (else it is looked for
 * on PATH); CI may not do without it, elsewhere the test is skipped. PICKLOCK_OUT is the folder
 * where the records of failed tests are kept (else the one for temporary files).
 */
public final class Picklock {
    private static final String NAMED = System.getenv().getOrDefault("PICKLOCK", ""), PROGRAM = NAMED.isEmpty() ? "picklock" : NAMED;
    private static final String MISSING = "there is no program " + PROGRAM + ": go install github.com/picklock/picklock/cmd/picklock@latest, or set PICKLOCK to the program";

    // ---- what a lock is -----------------------------------------------------------

    /** A lock; the interfaces below say what else it can do. */
    public interface Lock {
        /** True if it got the lock within that time. */
        boolean acquire(Duration timeout) throws Exception;

        /** False if the lock was no longer its own. */
        boolean release() throws Exception;

        /** Whether what was thrown certainly had no effect. All else counts as unknown: it may have. */
        default boolean definite(Exception e) { return false; }

        /** Ends what it has started. */
        default void close() throws Exception {}
    }

    /** The service promises each grant for a time. */
    public interface Leased extends Lock {
        Duration lease();

        /** System.nanoTime() right before the request that was granted. 0: unknown, so that a lease that was waited for proves little. */
        default long since() { return 0; }
    }

    /** Each grant has a fencing token, a number that rises. */
    public interface Fenced extends Lock {
        long token();
    }

    /** Its lease can begin anew. */
    public interface Renewing extends Lock {
        /** False if the lock was no longer its own. */
        boolean renew() throws Exception;
    }

    /** It renews its lease by itself until its release, and says so with {@link Client#renewed}. */
    public interface SelfRenewing extends Lock {}

    /** It promises to report a loss soon after its lease, even if it cannot reach the service, and does so with {@link Client#lost}. */
    public interface Notifying extends Lock {}

    /** The service compares the owner in release and renew: true is its word that the lock was still held. */
    public interface Confirming extends Lock {}

    /** For whom a lock is made: "host:port" of the servers, the lease to ask for, options (of --lock-option), and where the cluster has one, a directory that all share. */
    public record Client(List<String> servers, String name, Duration ttl, Map<String, String> options, String directory, String key) {
        /** To call when the lock has learnt by itself that it is no longer held. */
        public void lost() {
            tell("\"event\":\"lost\",\"key\":\"" + key + "\"");
        }

        /** To call when it has renewed its lease by itself: since is System.nanoTime() right before the request that was answered. */
        public void renewed(Duration lease, long since) {
            tell("\"event\":\"renewed\",\"key\":\"" + key + "\"" + leased(lease, since));
        }
    }

    // ---- in the test --------------------------------------------------------------

    /** Gives tests a Picklock, and looks afterwards whether they asked what came of each run. */
    public static final class Resolver implements ExecutionCondition, ParameterResolver, AfterEachCallback {
        private static final ExtensionContext.Namespace OURS = ExtensionContext.Namespace.create(Picklock.class);

        @Override
        public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext test) {
            boolean without = test.getTestMethod().isPresent() && find() == null && NAMED.isEmpty() && System.getenv("CI") == null;
            return without ? ConditionEvaluationResult.disabled(MISSING) : ConditionEvaluationResult.enabled("there is picklock");
        }

        @Override
        public boolean supportsParameter(ParameterContext parameter, ExtensionContext test) {
            return parameter.getParameter().getType() == Picklock.class;
        }

        @Override
        public Object resolveParameter(ParameterContext parameter, ExtensionContext test) {
            if (find() == null) throw new ParameterResolutionException(MISSING);
            return test.getStore(OURS).getOrComputeIfAbsent(Picklock.class, k -> new Picklock(find()), Picklock.class);
        }

        @Override
        public void afterEach(ExtensionContext test) throws IOException {
            Picklock picklock = test.getStore(OURS).remove(Picklock.class, Picklock.class);
            List<String> left = new ArrayList<>();
            for (Result r : picklock == null ? List.<Result>of() : picklock.results) {
                if (r.passed) remove(r.directory.getParent());
                if (!r.judged) left.add(r.what);
            }
            if (!left.isEmpty() && test.getExecutionException().isEmpty()) {
                Assertions.fail("nobody asked what came of picklock " + String.join(", ", left) + ": say .holds(), .breaks(...) or .asExpected()");
            }
        }
    }

    private final String program;
    private final List<Result> results = new ArrayList<>();

    private Picklock(String program) { this.program = program; }

    /** Real clients under faults that strike at random: picklock run. */
    public Result run(Class<? extends Lock> lock, String... flags) throws IOException, InterruptedException {
        return judge(List.of("run"), lock, flags);
    }

    /** A scenario of the catalogue (picklock list scenarios), or a file: "counterexample-1.yaml". */
    public Result scenario(String scenario, Class<? extends Lock> lock, String... flags) throws IOException, InterruptedException {
        return judge(List.of("scenario", "run", scenario), lock, flags);
    }

    /** A search for the least that breaks the lock: picklock hunt. --duration=1m is how long. */
    public Result hunt(Class<? extends Lock> lock, String... flags) throws IOException, InterruptedException {
        return judge(List.of("hunt", "--finish=30s"), lock, flags);
    }

    /** Fails unless the lock is adapted as it has to be: picklock lock check. */
    public void check(Class<? extends Lock> lock, String... flags) throws IOException, InterruptedException {
        Path out = folder();
        if (start(out, List.of("lock", "check", command(lock)), flags) != 0) {
            Assertions.fail(Files.readString(out.resolve("stdout")) + Files.readString(out.resolve("stderr")));
        }
        remove(out);
    }

    private Result judge(List<String> words, Class<? extends Lock> lock, String... flags) throws IOException, InterruptedException {
        Path out = folder();
        List<String> all = new ArrayList<>(words);
        all.addAll(List.of("--lock", "exec:" + command(lock), "--out", out.resolve("run").toString()));
        int code = start(out, all, flags);
        if (code < 0 || code > 2) {
            throw new IllegalStateException("picklock " + words.get(0) + " could not run (" + code + "):\n" + Files.readString(out.resolve("stderr")));
        }
        results.add(new Result(String.join(" ", words), out.resolve("run"), code, Files.readString(out.resolve("stdout"))));
        return results.get(results.size() - 1);
    }

    private int start(Path out, List<String> words, String... flags) throws IOException, InterruptedException {
        List<String> all = new ArrayList<>(List.of(program));
        all.addAll(words);
        all.addAll(List.of(flags));
        Process p = new ProcessBuilder(all).redirectInput(new File("/dev/null"))
            .redirectOutput(out.resolve("stdout").toFile()).redirectError(out.resolve("stderr").toFile()).start();
        try {
            return p.waitFor();
        } finally {
            p.destroy(); // a test whose time is over is interrupted
        }
    }

    private static String find() {
        for (String f : PROGRAM.contains("/") ? new String[] {""} : System.getenv("PATH").split(File.pathSeparator)) {
            File found = new File(f.isEmpty() ? null : f, PROGRAM);
            if (found.isFile() && found.canExecute()) return found.getAbsolutePath();
        }
        return null;
    }

    /** The command that serves lock to picklock: this class, in a small JVM of this kind. */
    private static String command(Class<? extends Lock> lock) {
        String classes = System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
        return Stream.of(Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-Xshare:auto",
                "-cp", classes, Picklock.class.getName(), lock.getName())
            .map(w -> "'" + w.replace("'", "'\\''") + "'").reduce((a, b) -> a + " " + b).orElseThrow();
    }

    private static Path folder() throws IOException {
        String kept = Stream.of("PICKLOCK_OUT", "TMPDIR").map(System::getenv).filter(d -> d != null).findFirst().orElse(System.getProperty("java.io.tmpdir"));
        return Files.createTempDirectory(Files.createDirectories(Path.of(kept).toAbsolutePath()), "picklock-");
    }

    private static void remove(Path directory) throws IOException {
        try (Stream<Path> all = Files.walk(directory)) {
            for (Path p : all.sorted(Comparator.reverseOrder()).toList()) Files.delete(p);
        }
    }

    /** What came of it. One of holds, breaks and asExpected has to be asked. */
    public static final class Result {
        public final Path directory;
        public final int code;
        public final String summary, outcome;
        public final TreeSet<String> anomalies = new TreeSet<>();
        private final String what;
        private boolean judged, passed;

        private Result(String what, Path directory, int code, String summary) throws IOException {
            this.what = what;
            this.directory = directory;
            this.code = code;
            this.summary = summary;
            boolean hunt = what.startsWith("hunt"), all = true;
            List<String> verdicts = new ArrayList<>();
            try (Stream<Path> files = Files.walk(directory)) {
                for (Path p : files.filter(f -> f.endsWith(hunt ? "hunt.json" : "verdict.json")).toList()) verdicts.add(Files.readString(p));
            }
            boolean unknown = code == 2 || verdicts.isEmpty();
            for (String v : verdicts) { // each begins with what it comes to
                if (hunt) each("\"anomalies\":\\s*\\[([^\\]{]*)\\]", v, list -> each("\"([^\"]+)\"", list, anomalies::add));
                else each("\"name\":\\s*\"([^\"]+)\",\\s*\"property\"", v, anomalies::add);
                String valid = hunt ? "" + (code == 0) : v.replaceFirst("(?s).*?\"valid\":\\s*\"?([a-z]+).*", "$1");
                unknown |= valid.equals("unknown");
                all &= valid.equals("true");
            }
            outcome = unknown ? "unknown" : all ? "holds" : "broken";
        }

        /** Nothing that the lock has to keep to was broken, and enough was tried to say so. */
        public Result holds() {
            return expect(outcome.equals("holds"), "hold");
        }

        /** The lock broke, with these anomalies among others (docs/reference/anomalies.md). */
        public Result breaks(String... names) {
            return expect(outcome.equals("broken") && anomalies.containsAll(List.of(names)), "break" + (names.length > 0 ? " with " : "") + String.join(" ", names));
        }

        /** What the scenario itself expects came of it. */
        public Result asExpected() {
            return expect(code == 0, "do as the scenario expects");
        }

        private Result expect(boolean met, String what) {
            judged = true;
            passed = met;
            if (!met) {
                String said = outcome.equals("holds") ? "it held" : outcome.equals("broken") ? "it broke: " + String.join(", ", anomalies) : "nothing was proved";
                Assertions.fail("picklock " + this.what + ": " + said + ". The lock was to " + what + ".\n" + summary + "kept: " + directory);
            }
            return this;
        }
    }

    private static void each(String pattern, String text, java.util.function.Consumer<String> take) {
        for (Matcher m = Pattern.compile(pattern).matcher(text); m.find(); ) take.accept(m.group(1));
    }

    // ---- in a client's process: the protocol (docs/reference/exec.md) ------------------------

    private static final PrintStream OUT = System.out;
    private static final String NOT_HELD = failed("not held", true);

    public static void main(String[] args) throws Exception {
        System.setOut(System.err); // what the lock prints must not come between the protocol's lines
        Class<? extends Lock> type = Class.forName(args[0]).asSubclass(Lock.class);
        Constructor<? extends Lock> make = type.getDeclaredConstructor(Client.class);
        make.setAccessible(true);
        BlockingQueue<String> requests = new LinkedBlockingQueue<>();
        Thread reader = new Thread(() -> read(requests));
        reader.setDaemon(true);
        reader.start();
        Map<String, Lock> locks = new HashMap<>();
        String open = "";
        for (String q; !(q = requests.take()).isEmpty(); ) {
            if (field(q, "op").equals("open")) open = q;
            tell("\"id\":" + field(q, "id") + "," + answer(q, open, type, make, locks));
        }
        for (Lock lock : locks.values()) lock.close();
        System.exit(0);
    }

    /** Reads requests to the end, or until close; the last one is empty. */
    private static void read(BlockingQueue<String> requests) {
        try {
            BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
            for (String line; (line = in.readLine()) != null && !field(line, "op").equals("close"); ) requests.add(line);
            requests.add("");
            Thread.sleep(500); // whatever the lock is waiting for
        } catch (IOException | InterruptedException e) {
            e.printStackTrace();
        }
        Runtime.getRuntime().halt(0);
    }

    private static String answer(String q, String open, Class<? extends Lock> type, Constructor<? extends Lock> make, Map<String, Lock> locks) {
        String op = field(q, "op"), key = field(q, "key");
        Lock lock = null;
        try {
            if (op.equals("open")) return "\"ok\":true,\"kind\":\"mutex\",\"tokens\":" + Fenced.class.isAssignableFrom(type) + ",\"lease\":" + Leased.class.isAssignableFrom(type)
                + ",\"renew\":" + Renewing.class.isAssignableFrom(type) + ",\"watchdog\":" + SelfRenewing.class.isAssignableFrom(type)
                + ",\"notifies\":" + Notifying.class.isAssignableFrom(type) + ",\"confirms\":" + Confirming.class.isAssignableFrom(type);
            if (!List.of("acquire", "renew", "release").contains(op) || !field(q, "mode").isEmpty()) return failed("unknown request", true);
            if (!locks.containsKey(key)) locks.put(key, make.newInstance(client(open, key)));
            lock = locks.get(key);
            long before = System.nanoTime(); // right before the request, if there is only one
            if (op.equals("release")) return lock.release() ? "\"ok\":true" : NOT_HELD;
            if (op.equals("renew")) return ((Renewing) lock).renew() ? "\"ok\":true" + (lock instanceof Leased l ? leased(l.lease(), before) : "") : NOT_HELD;
            String timeout = field(q, "timeout_ms");
            if (!lock.acquire(Duration.ofMillis(timeout.isEmpty() ? 60_000 : Long.parseLong(timeout)))) return failed("timeout", true);
            return "\"ok\":true" + (lock instanceof Fenced f ? ",\"token\":" + f.token() : "") + (lock instanceof Leased l ? leased(l.lease(), l.since() == 0 ? before : l.since()) : "");
        } catch (Exception e) {
            e.printStackTrace();
            return failed(e.toString().replaceAll("[^ -~]|[\"\\\\]", "?"), lock == null || lock.definite(e));
        }
    }

    private static String failed(String error, boolean definite) {
        return "\"ok\":false,\"error\":\"" + error + "\",\"definite\":" + definite;
    }

    private static String leased(Duration lease, long since) {
        return ",\"lease_ms\":" + lease.toMillis() + ",\"since_ns\":" + since;
    }

    private static Client client(String open, String key) {
        List<String> servers = new ArrayList<>();
        each("\"([^\"]*:\\d+)\"", field(open, "servers"), servers::add);
        Map<String, String> options = new HashMap<>();
        each("(\"[^\"]*\":\"[^\"]*\")", field(open, "options"), o -> options.put(o.split("\"")[1], o.replaceFirst(".*?\":\"(.*)\"", "$1")));
        return new Client(servers, field(open, "client"), Duration.ofMillis(Long.parseLong(field(open, "ttl_ms"))), options, field(open, "directory"), key);
    }

    /** A field of a request, "" if it is not there. What picklock writes needs no JSON library. */
    private static String field(String request, String name) {
        Matcher m = Pattern.compile("\"" + name + "\":(?:\"([^\"]*)\"|(\\[[^\\]]*\\]|\\{[^}]*\\}|[-\\d]+))").matcher(request);
        if (!m.find()) return "";
        return m.group(1) != null ? m.group(1) : m.group(2);
    }

    /** Writes one line, whole: threads may call it at once. */
    private static synchronized void tell(String fields) {
        OUT.print("{" + fields + "}\n");
        OUT.flush();
    }
}
