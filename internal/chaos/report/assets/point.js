// Pointing: what is under the pointer, and the box that tells about it.

const tip = document.getElementById("tip");

// under returns the lane and the item at a place on the lanes: a mark before a
// span, and what is painted over before what is under it.
function under(px, py, width) {
  const lane = lanes.find((l) => py >= l.top - 3 && py < l.top + l.height + 3);
  if (!lane) return null;
  const x = pixels(width);
  const row = Math.min(Math.max(Math.floor((py - lane.top) / lane.rowHeight), 0), lane.rows - 1);
  const crowded = minorMarksInSight() > minorMarksAtMost;
  for (const marks of crowded ? [lane.majors] : [lane.majors, lane.minors]) {
    const near = marks.filter((m) => (m.row ?? 0) === row && inSight(m) && Math.abs(x(m.at) - px) <= 7);
    if (near.length > 0) {
      const item = near.reduce((a, b) => Math.abs(x(b.at) - px) < Math.abs(x(a.at) - px) ? b : a);
      return { lane, item, more: near.length - 1 };
    }
  }
  for (const layer of lane.layers.toReversed()) {
    const ofLane = layer[0].kind === "stopped" || layer[0].kind === "dead";
    const item = layer.find((s) => (ofLane || (s.row ?? 0) === row) && inSight(s) && x(s.from) - 2 <= px && px <= x(s.to) + 2);
    if (item) return { lane, item, more: 0 };
  }
  return null;
}

function showTip(found, clientX, clientY) {
  if (!found) {
    tip.hidden = true;
    return;
  }
  const { title, pairs } = told(found.lane, found.item);
  const head = document.createElement("b"), spot = document.createElement("i"), list = document.createElement("dl");
  spot.style.background = colors[found.item.kind];
  head.append(spot, title);
  if (found.more > 0) pairs.push(["beside it", found.more + " more, zoom in"]);
  for (const [label, value] of pairs) {
    const dt = document.createElement("dt"), dd = document.createElement("dd");
    dt.textContent = label;
    dd.textContent = value;
    list.append(dt, dd);
  }
  tip.replaceChildren(head, list);
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  tip.style.left = Math.max(6, Math.min(clientX + 16, window.innerWidth - box.width - 8)) + "px";
  tip.style.top = Math.max(6, clientY + 18 + box.height > window.innerHeight ? clientY - box.height - 12 : clientY + 18) + "px";
}
