import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.retry.ExponentialBackoffRetry;

/**
 * Apache Curator's InterProcessMutex as shipped, for picklock: see curator_lock.sh.
 *
 * Option listener (--lock-option): on what a holder counts its lock as lost. suspended
 * (default): when the connection is down, as the library's documentation advises; lost:
 * when the session has ended; none: never, as of a program without a
 * ConnectionStateListener.
 */
public class CuratorLock {
    static final ObjectMapper json = new ObjectMapper();
    static final Map<String, InterProcessMutex> held = new ConcurrentHashMap<>();

    static synchronized void say(ObjectNode line) {
        System.out.println(line);
        System.out.flush();
    }

    static ObjectNode failure(String error, boolean definite) {
        return json.createObjectNode().put("ok", false).put("error", error).put("definite", definite);
    }

    static CuratorFramework open(JsonNode request) throws Exception {
        String listener = request.path("options").path("listener").asText("suspended");
        List<ConnectionState> losing = switch (listener) {
            case "none" -> List.of();
            case "lost" -> List.of(ConnectionState.LOST);
            case "suspended" -> List.of(ConnectionState.SUSPENDED, ConnectionState.LOST);
            default -> throw new IllegalArgumentException("option listener=" + listener + ": want suspended, lost or none");
        };
        StringBuilder servers = new StringBuilder();
        request.get("servers").forEach(s -> servers.append(servers.length() == 0 ? "" : ",").append(s.asText()));
        CuratorFramework client = CuratorFrameworkFactory.builder()
                .connectString(servers.toString())
                .sessionTimeoutMs(request.get("ttl_ms").asInt())
                .retryPolicy(new ExponentialBackoffRetry(1000, 3)) // that of the documentation's first example
                .build();
        client.getConnectionStateListenable().addListener((c, state) -> {
            if (losing.contains(state)) {
                held.keySet().forEach(key -> say(json.createObjectNode().put("event", "lost").put("key", key)));
            }
        });
        client.start();
        client.blockUntilConnected(10, TimeUnit.SECONDS);
        return client;
    }

    public static void main(String[] args) throws Exception {
        CuratorFramework client = null;
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JsonNode request = json.readTree(line);
            String key = request.path("key").asText();
            ObjectNode answer = json.createObjectNode().put("ok", true);
            try {
                switch (request.get("op").asText()) {
                    case "open" -> client = open(request);
                    case "acquire" -> {
                        InterProcessMutex lock = new InterProcessMutex(client, "/picklock/" + key);
                        // false: the library has taken its node out of the line again.
                        if (lock.acquire(request.path("timeout_ms").asLong(60_000), TimeUnit.MILLISECONDS)) {
                            held.put(key, lock);
                        } else {
                            answer = failure("timeout", true);
                        }
                    }
                    case "release" -> held.remove(key).release(); // of a node that is gone too, without a word
                    case "close" -> {
                        if (client != null) {
                            client.close();
                        }
                        return;
                    }
                    default -> answer = failure("unknown request", true);
                }
            } catch (Exception e) { // it may have taken effect or not
                answer = failure(e.toString(), false);
            }
            say(answer.put("id", request.get("id").asLong()));
        }
    }
}
