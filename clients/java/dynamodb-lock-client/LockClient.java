import com.amazonaws.services.dynamodbv2.AcquireLockOptions;
import com.amazonaws.services.dynamodbv2.AmazonDynamoDBLockClient;
import com.amazonaws.services.dynamodbv2.AmazonDynamoDBLockClientOptions;
import com.amazonaws.services.dynamodbv2.CreateDynamoDBTableOptions;
import com.amazonaws.services.dynamodbv2.LockItem;
import java.io.IOException;
import java.net.URI;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.core.SdkRequest;
import software.amazon.awssdk.core.exception.SdkException;
import software.amazon.awssdk.core.interceptor.Context;
import software.amazon.awssdk.core.interceptor.ExecutionAttribute;
import software.amazon.awssdk.core.interceptor.ExecutionAttributes;
import software.amazon.awssdk.core.interceptor.ExecutionInterceptor;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.dynamodb.DynamoDbClient;
import software.amazon.awssdk.services.dynamodb.model.ConditionalCheckFailedException;
import software.amazon.awssdk.services.dynamodb.model.ProvisionedThroughput;
import software.amazon.awssdk.services.dynamodb.model.PutItemRequest;
import software.amazon.awssdk.services.dynamodb.model.ResourceNotFoundException;
import software.amazon.awssdk.services.dynamodb.model.UpdateItemRequest;

/**
 * Amazon's lock client for DynamoDB, as shipped, with its heartbeats and its session monitor.
 *
 * Its README (1.4.0, https://github.com/awslabs/amazon-dynamodb-lock-client) promises: the background thread keeps
 * updating the record version number, so that "as long as your JVM is running, your locks will not expire"; a client
 * takes over only a lock whose record has not changed for a lease. With the session monitor (AcquireLockOptions)
 * its user is told before the lease is over. That callback is the loss here.
 *
 * A lease has four heartbeats, as by its defaults (20 s and 5 s). The danger zone is the last quarter of a lease. An
 * acquire waits in the library, and is interrupted when its time is over.
 */
public class LockClient extends Adapter implements AutoCloseable {
    private static final String TABLE = "locks";
    private static final int BEATS = 4;

    private DynamoDbClient dynamo;
    private AmazonDynamoDBLockClient client;
    private String owner;
    private long ttl;
    private final Map<String, Held> held = new HashMap<>(); // by key, what is held or asked for
    private final Map<String, Held> released = new HashMap<>();

    /** A grant, from before it was asked for. Its fields are guarded by the table's monitor. */
    private static final class Held {
        LockItem item;
        Lease lease; // the latest write that was answered began it
        boolean answered; // whoever waited for it knows
        boolean lost;
        boolean doubt; // of a write nobody knows whether it was carried out
    }

    public Map<String, Object> open(Open request) throws Exception {
        ttl = request.ttlMs();
        owner = request.client();
        dynamo = DynamoDbClient.builder().region(Region.US_EAST_1).endpointOverride(URI.create("http://" + request.servers().get(0)))
            .credentialsProvider(StaticCredentialsProvider.create(AwsBasicCredentials.create("picklock", "picklock"))) // the emulator checks none
            .overrideConfiguration(c -> c.addExecutionInterceptor(new Watch())).build();
        connect();
        Map<String, Object> abilities = new LinkedHashMap<>();
        for (String is : new String[] {"lease", "watchdog", "notifies", "confirms", "holds"}) abilities.put(is, true);
        return loaded(abilities, "com.amazonaws", "dynamodb-lock-client");
    }

    /** What a former client of the library still waits for cannot touch the locks of the new one. */
    private void connect() {
        client = new AmazonDynamoDBLockClient(AmazonDynamoDBLockClientOptions.builder(dynamo, TABLE).withOwnerName(owner)
            .withTimeUnit(TimeUnit.MILLISECONDS).withLeaseDuration(ttl).withHeartbeatPeriod(ttl / BEATS).withCreateHeartbeatBackgroundThread(true).build());
    }

    /** The table is there from the first acquire on. Another client may have been quicker: the next try tells. */
    private void create() {
        try {
            AmazonDynamoDBLockClient.createLockTableInDynamoDB(CreateDynamoDBTableOptions.builder(dynamo,
                ProvisionedThroughput.builder().readCapacityUnits(10L).writeCapacityUnits(10L).build(), TABLE).build());
        } catch (SdkException e) {
            System.err.println(e);
        }
    }

    /** What the library does not tell its user: when a write that was answered had been asked for. */
    private final class Watch implements ExecutionInterceptor {
        private static final ExecutionAttribute<Long> SINCE = new ExecutionAttribute<>("picklock.since");

        public void beforeExecution(Context.BeforeExecution of, ExecutionAttributes with) {
            with.putAttribute(SINCE, System.nanoTime());
        }

        public void afterExecution(Context.AfterExecution of, ExecutionAttributes with) {
            String key = written(of.request());
            if (key != null) leased(key, new Lease(ttl, with.getAttribute(SINCE)));
        }

        /** A condition that fails at a repetition says nothing: the first one may have been carried out. */
        public void onExecutionFailure(Context.FailedExecution of, ExecutionAttributes with) {
            String key = written(of.request());
            boolean refused = of.exception() instanceof ConditionalCheckFailedException e && e.numAttempts() == 1;
            if (key == null || refused || of.exception() instanceof ResourceNotFoundException) return;
            synchronized (held) {
                if (held.get(key) != null) held.get(key).doubt = true;
            }
        }

        private static String written(SdkRequest request) {
            if (request instanceof PutItemRequest put) return put.item().get("key").s();
            return request instanceof UpdateItemRequest update ? update.key().get("key").s() : null;
        }
    }

    private void leased(String key, Lease lease) {
        synchronized (held) {
            Held h = held.get(key);
            if (h == null) return;
            h.lease = lease;
            if (h.answered) renewed(key, lease);
        }
    }

    /** The session monitor's callback. */
    private void danger(String key, Held h) {
        synchronized (held) {
            h.lost = true;
            if (h.answered && held.get(key) == h) lost(key);
        }
    }

    protected void answered(String key) {
        synchronized (held) {
            Held h = held.get(key);
            if (h == null || h.item == null) return;
            h.answered = true;
            if (h.lost) lost(key);
        }
    }

    public Grant acquire(String key, long timeoutMs, boolean shared) throws Exception {
        long end = System.nanoTime() + timeoutMs * 1_000_000;
        Held h = new Held();
        synchronized (held) { held.put(key, h); }
        Exception why = null;
        while (true) {
            long left = Math.max(0, (end - System.nanoTime()) / 1_000_000);
            Optional<LockItem> got = Optional.empty();
            try {
                got = attempt(key, h, left);
            } catch (ExecutionException e) {
                if (e.getCause() instanceof ResourceNotFoundException) create();
                else why = e;
            }
            synchronized (held) {
                if (got.isPresent()) {
                    h.item = got.get();
                    return new Grant(0, h.lease);
                }
                if (System.nanoTime() >= end) {
                    held.remove(key);
                    if (h.doubt) throw new Unknown("a write was not answered: " + why);
                    return null;
                }
            }
            Thread.sleep(Math.max(1, ttl / 50));
        }
    }

    /** One call of the library's, for so long. What it is granted later is given back. */
    private Optional<LockItem> attempt(String key, Held h, long leftMs) throws Exception {
        AcquireLockOptions options = AcquireLockOptions.builder(key).withTimeUnit(TimeUnit.MILLISECONDS).withRefreshPeriod(Math.max(1, ttl / 10))
            .withAdditionalTimeToWaitForLock(leftMs).withSessionMonitor(ttl * 3 / 4, Optional.of(() -> danger(key, h))).build();
        AmazonDynamoDBLockClient by = client;
        CompletableFuture<Optional<LockItem>> result = new CompletableFuture<>();
        Thread call = new Thread(() -> {
            try {
                Optional<LockItem> got = by.tryAcquireLock(options);
                if (!result.complete(got)) got.ifPresent(by::releaseLock);
            } catch (InterruptedException e) {
                result.complete(Optional.empty());
            } catch (Throwable e) {
                result.completeExceptionally(e);
            }
        });
        call.setDaemon(true);
        call.start();
        try {
            return result.get(leftMs + 1, TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            call.interrupt(); // it sleeps, or waits for an answer, which cannot be interrupted
        }
        try {
            return result.get(ttl / 10, TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            synchronized (held) { h.doubt = true; }
            if (!result.complete(Optional.empty())) return result.get();
            connect();
            return Optional.empty();
        }
    }

    /** It waits for a lease at most: the library waits for an answer without a limit of its own. */
    public boolean release(String key) throws Exception {
        Held now;
        synchronized (held) { now = held.remove(key); }
        Held h = now != null ? now : released.get(key);
        if (h == null) return false;
        released.put(key, h);
        AmazonDynamoDBLockClient by = client;
        CompletableFuture<Boolean> result = new CompletableFuture<>();
        Thread call = new Thread(() -> {
            try {
                result.complete(by.releaseLock(h.item));
            } catch (Throwable e) {
                result.completeExceptionally(e);
            }
        });
        call.setDaemon(true);
        call.start();
        try {
            boolean was = result.get(ttl, TimeUnit.MILLISECONDS);
            synchronized (held) {
                if (!was && h.doubt) throw new Unknown("a heartbeat was not answered, so that the record may be its own");
            }
            return was;
        } catch (ExecutionException | TimeoutException e) {
            connect();
            throw new Unknown(e.toString());
        }
    }

    public boolean holds(String key) {
        synchronized (held) {
            Held h = held.get(key);
            return h != null && !h.item.isExpired();
        }
    }

    public void close() throws IOException {
        client.close();
        dynamo.close();
    }

    public static void main(String[] args) throws Exception { serve(LockClient::new); }
}
