// The lanes: what there is to draw, and where from top to bottom.

const timeline = JSON.parse(document.getElementById("timeline").textContent);

// Kinds of spans in the order in which they are painted over each other.
const layers = ["dead", "stopped", "fault", "down", "frozen", "clock", "waiting", "leaving", "late", "holding", "wrong"];

// Marks that are always shown. The others are, when not too many are in sight.
const majorMarks = new Set(["refused", "unfenced", "wiped"]);

const rowHeight = { faults: 19, masters: 20, clients: 17 };
const laneGap = 7;
const groupGap = 24;

// placeLanes gives each lane its top, and each span its layer. It returns the
// height of all.
function placeLanes(lanes) {
  let y = 0, group = "";
  for (const lane of lanes) {
    lane.startsGroup = lane.group !== group;
    if (lane.startsGroup) {
      group = lane.group;
      y += groupGap;
    }
    lane.top = y;
    lane.rowHeight = rowHeight[lane.group];
    lane.height = lane.rows * lane.rowHeight;
    y += lane.height + laneGap;
    lane.marks ??= [];
    lane.spans ??= [];
    lane.layers = layers.map((kind) => lane.spans.filter((s) => s.kind === kind)).filter((l) => l.length > 0);
    lane.majors = lane.marks.filter((m) => majorMarks.has(m.kind));
    lane.minors = lane.marks.filter((m) => !majorMarks.has(m.kind));
  }
  return y + laneGap;
}

const lanes = timeline.lanes ?? [];
const lanesHeight = placeLanes(lanes);

// The filter by the name of a lock; empty: all. Names that no lock has are those
// of other resources, which are never filtered.
const locks = [...new Set(lanes.flatMap((l) => l.spans).map((s) => s.name).filter(Boolean))].sort();
const lockNames = new Set(locks);
let onlyLock = "";

function shown(item) {
  return onlyLock === "" || item.name === undefined || item.name === onlyLock || !lockNames.has(item.name);
}

// moments are what a reader looks for: wrong beliefs, and writes in them that were
// refused or went to the unguarded store, in the order of time.
function moments() {
  const all = [];
  for (const lane of lanes) {
    for (const s of lane.spans) if (s.kind === "wrong" && shown(s)) all.push({ lane, item: s, at: s.from });
    for (const m of lane.majors) if (m.kind !== "wiped" && shown(m)) all.push({ lane, item: m, at: m.at });
  }
  return all.sort((a, b) => a.at - b.at);
}

// writeLabels puts the names of lanes and groups to their left.
function writeLabels(box) {
  const label = (text, top, height, kind) => {
    const div = document.createElement("div"), span = document.createElement("span");
    span.textContent = text;
    div.title = text;
    div.className = kind;
    div.style.top = top + "px";
    div.style.height = height + "px";
    div.append(span);
    box.append(div);
    return div;
  };
  for (const lane of lanes) {
    if (lane.startsGroup) label(lane.group, lane.top - groupGap + 4, groupGap - 4, "group");
    if (lane.name !== lane.group) lane.label = label(lane.name, lane.top, lane.height, "");
  }
  box.style.height = lanesHeight + "px";
}
