import java.io.BufferedReader;
import java.io.InputStreamReader;

/** Prints its wall clock in ms and its monotonic clock in ns for every line on stdin. */
class Clock {
    static volatile long sink;

    public static void main(String[] args) throws Exception {
        for (int i = 0; i < 3; i++) {
            Thread t = new Thread(() -> {
                long last = System.nanoTime();
                while (true) {
                    sink += System.currentTimeMillis();
                    long now = System.nanoTime();
                    if (now < last) {
                        System.err.println("nanoTime ran back");
                        Runtime.getRuntime().halt(3);
                    }
                    last = now;
                }
            });
            t.setDaemon(true);
            t.start();
        }
        System.out.println("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        while (in.readLine() != null) {
            System.out.println(System.currentTimeMillis() + " " + System.nanoTime());
        }
    }
}
