package scenarios

// pauseWord stops processes: "pause: A", "pause: redis1, redis2".
var pauseWord = faultWord{name: "pause", kind: "pause", read: (*parser).nodes, requests: each(FaultRequest{Kind: "pause"})}
