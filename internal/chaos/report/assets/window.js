// The window: the part of the run that is seen, and the address that keeps it.

const whole = { from: 0, to: Math.max(timeline.end, 1000) };
const shortest = 50; // microseconds
const seen = { from: whole.from, to: whole.to };

// look moves the window to from and to, as far as the run goes. What the tip told of
// is then elsewhere.
function look(from, to) {
  const length = Math.min(Math.max(to - from, shortest), whole.to - whole.from);
  const middle = (from + to) / 2;
  seen.from = Math.min(Math.max(middle - length / 2, whole.from), whole.to - length);
  seen.to = seen.from + length;
  showTip(null);
  redraw();
  keepAddress();
}

// zoom makes the window longer by factor, around a time that stays where it is.
function zoom(factor, around) {
  const length = seen.to - seen.from;
  const next = Math.min(Math.max(length * factor, shortest), whole.to - whole.from);
  const share = (around - seen.from) / length;
  look(around - next * share, around + next * (1 - share));
}

function move(by) { look(seen.from + by, seen.to + by); }
function lookAtAll() { look(whole.from, whole.to); }

// lookNear shows a span or a mark with what is around it.
function lookNear(item) {
  const from = item.from ?? item.at, to = item.to ?? item.at;
  const around = Math.max((to - from) * 1.5, 250e3);
  look(from - around, to + around);
}

// The address is #from=12.5&to=14&lock=NAME, in seconds.
let keeping = 0;
function keepAddress() {
  clearTimeout(keeping);
  keeping = setTimeout(() => {
    const hash = address();
    if (location.hash !== hash) history.replaceState(null, "", hash || "#");
  }, 300); // browsers refuse more than a few a second
}

function address() {
  const parts = new URLSearchParams();
  if (seen.from > whole.from || seen.to < whole.to) {
    parts.set("from", (seen.from / 1e6).toFixed(6));
    parts.set("to", (seen.to / 1e6).toFixed(6));
  }
  if (onlyLock) parts.set("lock", onlyLock);
  return parts.size > 0 ? "#" + parts : "";
}

// readAddress goes where an address says.
function readAddress(url) {
  const parts = new URLSearchParams(new URL(url).hash.slice(1));
  const lock = parts.get("lock") ?? "";
  onlyLock = lockNames.has(lock) ? lock : "";
  const from = Number(parts.get("from") ?? NaN) * 1e6, to = Number(parts.get("to") ?? NaN) * 1e6;
  if (from < to) look(from, to);
  else lookAtAll();
}
