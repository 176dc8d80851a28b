import com.hazelcast.config.Config;
import com.hazelcast.config.JoinConfig;
import com.hazelcast.config.NetworkConfig;
import com.hazelcast.config.RestApiConfig;
import com.hazelcast.config.RestEndpointGroup;
import com.hazelcast.config.cp.CPSubsystemConfig;
import com.hazelcast.cluster.Member;
import com.hazelcast.core.Hazelcast;
import com.hazelcast.core.HazelcastInstance;
import com.hazelcast.cp.CPMember;
import com.hazelcast.cp.CPSubsystemManagementService;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/**
 * A member of a Hazelcast cluster with a CP Subsystem. The arguments are its own HOST:PORT, and those of all members.
 *
 * Without the Enterprise edition the CP Subsystem is kept in memory only
 * (https://docs.hazelcast.com/hazelcast/5.3/cp-subsystem/persistence). A member that is started again is another one, and who runs
 * the cluster has to remove the former one and to promote it. It does so itself here. Where a majority was lost, nothing but a
 * reset helps, which loses all locks: the member that is left does that. It is certain that they are lost once others have taken
 * their addresses.
 */
public final class HazelcastMember {
    private final HazelcastInstance hazelcast;
    private final CPSubsystemManagementService cp;
    private final int count;
    private Set<UUID> known = Set.of(); // the last CP members that this one has heard of

    private HazelcastMember(HazelcastInstance hazelcast, int count) {
        this.hazelcast = hazelcast;
        this.cp = hazelcast.getCPSubsystem().getCPSubsystemManagementService();
        this.count = count;
    }

    private static Config config(String self, List<String> all) {
        int colon = self.lastIndexOf(':');
        Config c = new Config().setClusterName("picklock")
            .setProperty("hazelcast.phone.home.enabled", "false")
            .setProperty("hazelcast.shutdownhook.enabled", "false")
            .setProperty("hazelcast.socket.bind.any", "false")
            .setProperty("hazelcast.wait.seconds.before.join", "1") // not 5: all members are started at once
            .setProperty("hazelcast.operation.call.timeout.millis", "10000");
        NetworkConfig n = c.getNetworkConfig().setPort(Integer.parseInt(self.substring(colon + 1))).setPortAutoIncrement(false).setPublicAddress(self);
        n.setRestApiConfig(new RestApiConfig().setEnabled(true).enableGroups(RestEndpointGroup.CP));
        JoinConfig join = n.getJoin();
        join.getAutoDetectionConfig().setEnabled(false);
        join.getMulticastConfig().setEnabled(false);
        join.getTcpIpConfig().setEnabled(true).setMembers(all);
        // The shortest session that whole seconds allow; a leader that is silent is replaced in about two seconds.
        CPSubsystemConfig cp = c.getCPSubsystemConfig().setCPMemberCount(all.size()).setGroupSize(all.size())
            .setSessionTimeToLiveSeconds(2).setSessionHeartbeatIntervalSeconds(1);
        cp.getRaftAlgorithmConfig().setLeaderElectionTimeoutInMillis(500).setLeaderHeartbeatPeriodInMillis(500).setMaxMissedLeaderHeartbeatCount(4);
        return c;
    }

    private void keep() throws Exception {
        Set<Member> there = hazelcast.getCluster().getMembers();
        if (there.size() < count || !cp.isDiscoveryCompleted()) return;
        Set<UUID> alive = there.stream().map(Member::getUuid).collect(Collectors.toSet());
        long left = known.stream().filter(alive::contains).count();
        if (!known.isEmpty() && left <= known.size() / 2 && there.iterator().next().localMember()) {
            System.err.println("a majority of the CP members was started again: reset the CP Subsystem");
            known = Set.of();
            cp.reset().toCompletableFuture().get(30, TimeUnit.SECONDS);
            return;
        }
        var members = cp.getCPMembers().toCompletableFuture().get(5, TimeUnit.SECONDS);
        known = members.stream().map(CPMember::getUuid).collect(Collectors.toSet());
        if (cp.getLocalCPMember() != null) return;
        Member self = hazelcast.getCluster().getLocalMember();
        for (CPMember m : members) {
            if (m.getAddress().equals(self.getAddress()) && !alive.contains(m.getUuid())) {
                System.err.println("remove the CP member that was here before");
                cp.removeCPMember(m.getUuid()).toCompletableFuture().get(10, TimeUnit.SECONDS);
            }
        }
        System.err.println("become a CP member");
        cp.promoteToCPMember().toCompletableFuture().get(10, TimeUnit.SECONDS);
    }

    public static void main(String[] args) throws Exception {
        List<String> all = List.of(args).subList(1, args.length);
        System.setProperty("hazelcast.logging.type", "jdk");
        System.setProperty("hazelcast.local.localAddress", args[0].substring(0, args[0].lastIndexOf(':'))); // whatever addresses the machine has
        HazelcastMember member = new HazelcastMember(Hazelcast.newHazelcastInstance(config(args[0], all)), all.size());
        for (;;) {
            try {
                member.keep();
            } catch (Exception e) {
                System.err.println("look after the CP Subsystem: " + e);
            }
            Thread.sleep(500);
        }
    }
}
