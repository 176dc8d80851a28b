import java.io.IOException;
import java.time.Duration;

/** A lock on nothing, whose key says what comes of it. */
final class FakeLock implements Picklock.Leased, Picklock.Fenced, Picklock.Renewing, Picklock.Notifying {
    private final Picklock.Client client;

    FakeLock(Picklock.Client client) throws IOException {
        this.client = client;
        if (client.key().equals("unmade")) throw new IOException("unmade");
    }

    @Override
    public boolean acquire(Duration timeout) throws Exception {
        switch (client.key()) {
            case "told":
                throw new IOException(client.servers().get(0) + " " + client.name() + " " + client.ttl().toMillis() + " " + client.options().get("a") + " " + client.directory() + " " + timeout.toMillis());
            case "definite":
                throw new IllegalStateException("definite");
            case "events":
                client.renewed(Duration.ofSeconds(1), 43);
                client.lost();
                break;
            case "forever":
                Thread.sleep(3_600_000);
        }
        return !client.key().equals("busy");
    }

    @Override
    public boolean release() throws IOException {
        System.out.println("a word of the lock");
        if (client.key().equals("told")) throw new IOException("told");
        return !client.key().equals("gone");
    }

    @Override
    public boolean renew() { return !client.key().equals("gone"); }

    @Override
    public Duration lease() { return Duration.ofMillis(1250); }

    @Override
    public long since() { return client.key().equals("no since") ? 0 : 42; }

    @Override
    public long token() { return 7; }

    @Override
    public boolean definite(Exception e) { return e instanceof IllegalStateException; }

    @Override
    public void close() { System.out.println("closed " + client.key()); }
}
