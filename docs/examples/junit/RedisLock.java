import java.io.BufferedInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.UUID;

/** A lock on one Redis, spoken to without a library, as a service of yours may have it. */
final class RedisLock implements AutoCloseable {
    // In one step, so that a later grant has a greater token.
    static final String ACQUIRE = "if redis.call('set',KEYS[1],ARGV[1],'NX','PX',ARGV[2]) then return redis.call('incr',KEYS[2]) else return false end";
    static final String RELEASE = "if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('del',KEYS[1]) else return 0 end";
    static final String RENEW = "if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('pexpire',KEYS[1],ARGV[2]) else return 0 end";

    /** The request certainly had no effect. */
    static final class NotSent extends IOException {
        NotSent(IOException why) { super(why); }
    }

    private final InetSocketAddress server;
    private final String key;
    private final Duration lease;
    private String owner = "";
    private long token, since;
    private Socket connection;
    private InputStream replies;

    RedisLock(String server, String key, Duration lease) {
        int colon = server.lastIndexOf(':');
        this.server = new InetSocketAddress(server.substring(0, colon), Integer.parseInt(server.substring(colon + 1)));
        this.key = key;
        this.lease = lease;
    }

    boolean acquire(Duration timeout) throws IOException, InterruptedException {
        String candidate = UUID.randomUUID().toString();
        for (long end = System.nanoTime() + timeout.toNanos(); System.nanoTime() < end; Thread.sleep(10)) {
            since = System.nanoTime(); // right before the request that may be granted
            Long granted = command("EVAL", ACQUIRE, "2", key, key + ":token", candidate, "" + lease.toMillis());
            if (granted != null) {
                token = granted;
                owner = candidate;
                return true;
            }
        }
        return false;
    }

    boolean release() throws IOException {
        return command("EVAL", RELEASE, "1", key, owner) == 1;
    }

    boolean renew() throws IOException {
        return command("EVAL", RENEW, "1", key, owner, "" + lease.toMillis()) == 1;
    }

    Duration lease() { return lease; }

    long token() { return token; }

    /** System.nanoTime() right before the request that was granted. */
    long since() { return since; }

    @Override
    public void close() throws IOException {
        if (connection != null) connection.close();
        connection = null;
    }

    /** Sends a command whose reply is a number, or nil: null. */
    private Long command(String... words) throws IOException {
        if (connection == null) connect();
        StringBuilder text = new StringBuilder("*" + words.length + "\r\n");
        for (String w : words) text.append("$").append(w.length()).append("\r\n").append(w).append("\r\n");
        try {
            connection.getOutputStream().write(text.toString().getBytes(StandardCharsets.US_ASCII));
            String reply = readLine();
            if (reply.equals("$-1")) return null;
            if (!reply.startsWith(":")) throw new IOException(reply);
            return Long.valueOf(reply.substring(1));
        } catch (IOException e) {
            close(); // what may come on it yet is the answer to an old command
            throw e;
        }
    }

    private void connect() throws NotSent {
        Socket s = new Socket();
        try {
            s.connect(server, (int) lease.toMillis());
            s.setSoTimeout((int) lease.toMillis());
            replies = new BufferedInputStream(s.getInputStream());
            connection = s;
        } catch (IOException e) {
            throw new NotSent(e);
        }
    }

    private String readLine() throws IOException {
        StringBuilder line = new StringBuilder();
        for (int b; (b = replies.read()) != '\n'; line.append((char) b)) {
            if (b < 0) throw new EOFException("connection closed: nobody knows what came of it");
        }
        return line.toString().stripTrailing();
    }
}
