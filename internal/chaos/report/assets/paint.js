// Painting the lanes and the axis above them.

// fit gives a canvas as many pixels as its place on the screen has, and returns
// it ready to be painted on, in CSS pixels.
function fit(canvas, height) {
  const scale = window.devicePixelRatio || 1;
  const width = canvas.clientWidth;
  canvas.style.height = height + "px";
  if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
  }
  const c = canvas.getContext("2d");
  c.setTransform(scale, 0, 0, scale, 0, 0);
  c.clearRect(0, 0, width, height);
  c.font = font;
  c.textBaseline = "middle";
  return { c, width, height };
}

// pixels returns the function from times to places in width.
function pixels(width) {
  const scale = width / (seen.to - seen.from);
  return (t) => (t - seen.from) * scale;
}

const minorMarksAtMost = 500;

// paintLanes paints what is in sight and returns how much that was, by kind.
function paintLanes(canvas) {
  const { c, width, height } = fit(canvas, lanesHeight);
  const x = pixels(width);
  const counts = {};
  paintPhases(c, x, width, height);
  paintGrid(c, x, width, height);
  const crowded = minorMarksInSight() > minorMarksAtMost;
  for (const lane of lanes) {
    if (lane.group === "masters") paintUp(c, lane, x);
    for (const layer of lane.layers) paintLayer(c, lane, layer, x, width, counts);
    if (!crowded) paintMarks(c, lane, lane.minors, x, counts);
  }
  for (const lane of lanes) paintMarks(c, lane, lane.majors, x, counts);
  return counts;
}

const inSight = (item) => (item.to ?? item.at) >= seen.from && (item.kind in markShapes ? item.at : item.from) <= seen.to && shown(item);

function minorMarksInSight() {
  let n = 0;
  for (const lane of lanes) for (const m of lane.minors) if (inSight(m)) n++;
  return n;
}

function paintPhases(c, x, width, height) {
  for (const p of timeline.phases) {
    const from = Math.max(x(p.from), 0), to = Math.min(x(p.to), width);
    if (to <= from) continue;
    c.fillStyle = phaseLook(p.name).back;
    c.fillRect(from, 0, to - from, height);
  }
}

function paintGrid(c, x, width, height) {
  c.fillStyle = colors.line;
  c.globalAlpha = 0.6;
  for (const t of ticks(width)) c.fillRect(Math.round(x(t)), 0, 1, height);
  c.globalAlpha = 1;
}

// ticks returns round times that are at least 90 pixels apart.
function ticks(width) {
  const least = (seen.to - seen.from) * 90 / Math.max(width, 90);
  const power = 10 ** Math.floor(Math.log10(least));
  const step = Math.max(1, power * [1, 2, 5, 10].find((m) => m * power >= least));
  const all = [];
  for (let t = Math.ceil(seen.from / step) * step; t <= seen.to; t += step) all.push(t);
  all.step = step;
  return all;
}

// paintUp is the line on which the other states of a master lie.
function paintUp(c, lane, x) {
  const from = Math.max(x(whole.from), 0), to = Math.min(x(whole.to), c.canvas.clientWidth);
  c.fillStyle = colors.up;
  c.fillRect(from, lane.top + lane.height / 2 - 1.5, to - from, 3);
}

// paintLayer paints all spans of one kind. Of those that are narrower than a
// pixel, only the first in each pixel is painted.
function paintLayer(c, lane, spans, x, width, counts) {
  const paint = painters[spans[0].kind];
  const painted = []; // by row, the last pixel
  let n = 0;
  for (const s of spans) {
    if (!inSight(s)) continue;
    n++;
    const from = x(s.from), to = x(s.to);
    const row = s.row ?? 0;
    if (to - from < 1) {
      if (painted[row] === Math.floor(from)) continue;
      painted[row] = Math.floor(from);
    }
    const left = Math.max(from, -20), right = Math.min(Math.max(to, from + 1), width + 20);
    const top = lane.top + row * lane.rowHeight;
    paint(c, { left, top, width: right - left, height: lane.rowHeight }, s, lane);
  }
  counts[spans[0].kind] = (counts[spans[0].kind] ?? 0) + n;
}

// write puts the longest of the texts that fits into a box, where it can be seen.
function write(c, box, color, ...texts) {
  const left = Math.max(box.left, 0) + 4, room = Math.min(box.left + box.width, c.canvas.clientWidth) - left - 3;
  if (room < 12) return;
  const text = texts.find((t) => t && c.measureText(t).width <= room);
  if (!text) return;
  c.fillStyle = color;
  c.fillText(text, left, box.top + box.height / 2 + 0.5);
}

function block(c, box, fill, inset) {
  c.fillStyle = fill;
  const top = box.top + inset, height = box.height - 2 * inset;
  if (box.width < 5) {
    c.fillRect(box.left, top, box.width, height);
    return;
  }
  c.beginPath();
  c.roundRect(box.left, top, box.width, height, 3);
  c.fill();
}

const entry = (s) => s.depth > 1 ? " ×" + s.depth : "";
// grip is what its holder has of a lock: its token, or none if it reads.
const grip = (s) => s.reads ? "reads" : "#" + s.token;

const painters = {
  fault(c, box, s) {
    block(c, box, colors.fault, 1.5);
    c.fillStyle = colors["fault-edge"];
    c.fillRect(box.left, box.top + 1.5, 2, box.height - 3);
    write(c, { ...box, left: box.left + 1 }, colors["on-fault"], s.text, s.text.split(" ").slice(0, 2).join(" ") + " …", s.text.split(" ")[0] + " …");
  },
  down(c, box, s) {
    block(c, box, s.lost ? hatches.lost : colors.down, 1);
    write(c, box, colors["on-down"], s.lost ? "down, data lost" : "down", s.lost ? "lost" : "");
  },
  frozen(c, box) {
    block(c, box, colors.frozen, 1);
    write(c, box, colors["on-frozen"], "frozen");
  },
  clock(c, box, s) {
    const half = { ...box, top: box.top + box.height / 2 - 6.5, height: 13 };
    c.globalAlpha = 0.92;
    block(c, half, colors.clock, 0);
    c.globalAlpha = 1;
    write(c, half, colors["on-clock"], "clock " + signed(s.offset), signed(s.offset));
  },
  waiting(c, box) {
    block(c, { ...box, top: box.top + box.height / 2 - 3, height: 6 }, colors.waiting, 0);
  },
  holding(c, box, s) {
    block(c, box, colors.holding, 1.5);
    write(c, box, colors["on-holding"], grip(s) + " " + s.name + entry(s), grip(s) + entry(s), grip(s));
  },
  late(c, box) {
    block(c, box, hatches.late, 1.5);
  },
  wrong(c, box, s) {
    block(c, box, box.width < 8 ? colors.wrong : hatches.wrong, 0.5);
    write(c, box, colors["on-wrong"], grip(s) + " " + s.name + ": believes wrongly", grip(s) + " wrongly", grip(s));
  },
  leaving(c, box) {
    block(c, box, colors.leaving, 4);
  },
  stopped(c, box, s, lane) { process(c, box, lane, colors.stopped, hatches.stopped); },
  dead(c, box, s, lane) { process(c, box, lane, colors.dead, hatches.dead); },
};

// process paints what is true of all rows of a lane, behind and above them.
function process(c, box, lane, color, fill) {
  c.globalAlpha = 0.35;
  c.fillStyle = fill;
  c.fillRect(box.left, lane.top, box.width, lane.height);
  c.globalAlpha = 1;
  c.fillStyle = color;
  c.fillRect(box.left, lane.top - 3, box.width, 3);
}

let hatches = readHatches();
function readHatches() {
  return {
    lost: hatch(colors.wiped, colors.down),
    late: hatch(colors.late),
    wrong: hatch("rgba(0, 0, 0, .18)", colors.wrong),
    stopped: hatch(colors.stopped),
    dead: hatch(colors.dead),
  };
}

// paintMarks paints marks that are at least some pixels apart from the one before
// of their kind in their row.
function paintMarks(c, lane, marks, x, counts) {
  const last = {};
  for (const m of marks) {
    if (!inSight(m)) continue;
    counts[m.kind] = (counts[m.kind] ?? 0) + 1;
    const at = x(m.at), row = m.row ?? 0, key = m.kind + row;
    if (at - last[key] < 5) continue;
    last[key] = at;
    markShapes[m.kind](c, at, lane.top + row * lane.rowHeight + lane.rowHeight / 2, lane.rowHeight);
  }
}

function dot(c, x, y, color, radius) {
  c.beginPath();
  c.arc(x, y, radius, 0, 2 * Math.PI);
  c.fillStyle = color;
  c.fill();
  c.strokeStyle = colors.card;
  c.lineWidth = 1;
  c.stroke();
}

const markShapes = {
  // A client that believed wrongly often wrote to a guarded store and to another at
  // about the same time: one mark stands above the other.
  refused(c, x, y) { // no entry
    y -= 5;
    dot(c, x, y, colors.refused, 6.5);
    c.fillStyle = colors.card;
    c.fillRect(x - 4, y - 1.25, 8, 2.5);
  },
  unfenced(c, x, y) { // a warning
    y += 6;
    c.beginPath();
    c.moveTo(x, y - 7);
    c.lineTo(x + 7, y + 6);
    c.lineTo(x - 7, y + 6);
    c.closePath();
    c.fillStyle = colors.unfenced;
    c.fill();
    c.strokeStyle = colors.card;
    c.lineWidth = 1.5;
    c.stroke();
    c.fillStyle = colors["on-wrong"];
    c.fillRect(x - 0.75, y - 3, 1.5, 5);
    c.fillRect(x - 0.75, y + 3, 1.5, 1.5);
  },
  wiped(c, x, y) { // a cross
    c.strokeStyle = colors.wiped;
    c.lineWidth = 2.5;
    c.beginPath();
    c.moveTo(x - 5, y - 5);
    c.lineTo(x + 5, y + 5);
    c.moveTo(x + 5, y - 5);
    c.lineTo(x - 5, y + 5);
    c.stroke();
  },
  unknown(c, x, y) { dot(c, x, y, colors.unknown, 4); },
  wrote(c, x, y) { dot(c, x, y, colors.wrote, 3.5); },
  read(c, x, y) { dot(c, x, y, colors.read, 2.5); },
  renewed(c, x, y, height) {
    c.fillStyle = colors.renewed;
    c.fillRect(x - 1, y + height / 2 - 6, 2, 4.5);
  },
  told(c, x, y, height) {
    c.fillStyle = colors.told;
    c.fillRect(x - 1, y - height / 2, 2, height);
    c.fillRect(x, y - height / 2, 6, 4);
  },
};

// paintAxis writes the phases and the times.
function paintAxis(canvas) {
  const { c, width, height } = fit(canvas, 42);
  const x = pixels(width);
  paintPhases(c, x, width, height);
  for (const p of timeline.phases) {
    const from = Math.max(x(p.from), 0), to = Math.min(x(p.to), width);
    const { ink } = phaseLook(p.name);
    c.fillStyle = ink;
    if (to > from) c.fillRect(from, 0, to - from - 1, 2);
    if (to > from) write(c, { left: from, top: 3, width: to - from, height: 16 }, ink, p.name);
  }
  const all = ticks(width);
  const digits = Math.max(0, Math.ceil(-Math.log10(all.step / 1e6) - 1e-9));
  for (const t of all) {
    const at = Math.round(x(t));
    c.fillStyle = colors.line;
    c.fillRect(at, height - 6, 1, 6);
    const text = (t / 1e6).toFixed(digits) + " s";
    const half = c.measureText(text).width / 2;
    c.fillStyle = colors.faint;
    c.fillText(text, Math.min(Math.max(at - half, 0), width - 2 * half), height - 14);
  }
}
