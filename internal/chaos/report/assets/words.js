// The words: how times are written, and what is told of a span or a mark.

function written(us) {
  return (us / 1e6).toFixed(seen.to - seen.from < 20e3 ? 6 : 3) + " s";
}

function lasting(us) {
  const size = Math.abs(us);
  if (size < 1000) return us.toFixed(0) + " µs";
  if (size < 1e6) return (us / 1e3).toFixed(size < 1e4 ? 2 : 1) + " ms";
  return (us / 1e6).toFixed(size < 1e7 ? 3 : 2) + " s";
}

const signed = (us) => (us > 0 ? "+" : "−") + lasting(Math.abs(us));

const titles = {
  fault: () => "Fault",
  down: (s) => s.lost ? "Down, its data is lost" : "Down, its data is kept",
  frozen: () => "Frozen: takes requests, does not answer",
  clock: (s) => "Its clock is off by " + signed(s.offset),
  waiting: (s) => s.waits ? "Waits for the lock" : "Tries the lock once",
  holding: (s) => s.depth > 1 ? "Holds the lock, entry " + s.depth : "Holds the lock",
  late: () => "Its lease is over and it does not know",
  wrong: (s) => s.rival ? "Believes wrongly: " + s.rival + " holds the lock" : "Believes wrongly: acts after its hold is over",
  leaving: () => "Gives the lock back",
  stopped: () => "Process stopped (SIGSTOP)",
  dead: () => "Process killed",
  wiped: () => "Wiped: it has forgotten everything",
  renewed: () => "Lease renewed",
  told: () => "Is told that the hold is over",
  read: () => "Read",
  wrote: () => "Write done",
  refused: () => "Write REFUSED by the guard",
  unknown: () => "Write without an answer: it may have been done",
  unfenced: () => "Write in a wrong belief, to the unguarded store: it takes everything",
};

// told is what is said of an item, as a title and pairs.
function told(lane, item) {
  const pairs = [];
  const say = (label, value) => { if (value !== undefined && value !== "") pairs.push([label, value]); };
  say(lane.group.slice(0, -1), lane.name === lane.group ? "" : lane.name);
  say("fault", item.text);
  say(item.store ? "resource" : "lock", item.name);
  say("token", item.token);
  say("for", item.reads ? "reading" : "");
  say("newer token", item.newer);
  say("store", item.store);
  if (item.store) say("value", item.value ?? 0);
  if (item.to !== undefined) {
    say("from", written(item.from));
    say("to", item.open ? "the end of the run" : written(item.to));
    say("lasts", lasting(item.to - item.from));
  } else {
    if (item.from !== undefined) {
      say("begun", written(item.from));
      say("took", lasting(item.at - item.from));
    }
    say("at", written(item.at));
  }
  if (item.until) say("lease until", written(item.until));
  say(item.kind === "holding" ? "ended by" : "error", item.err);
  return { title: titles[item.kind](item), pairs };
}
