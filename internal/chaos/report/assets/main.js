// Putting it together. What was drawn is noted on <html>, for the tests.

const lanesCanvas = document.getElementById("lanes");
let asked = 0;

// redraw draws with the next frame, once however often it is asked.
function redraw() {
  asked ||= requestAnimationFrame(draw);
}

function draw() {
  cancelAnimationFrame(asked);
  asked = 0;
  const began = performance.now();
  paintOverview(document.getElementById("overview"));
  paintAxis(document.getElementById("axis"));
  const counts = paintLanes(lanesCanvas);
  document.getElementById("range").textContent = written(seen.from) + " to " + written(seen.to) + ", " + lasting(seen.to - seen.from);
  for (const b of document.querySelectorAll("#locks button")) b.setAttribute("aria-pressed", b.dataset.lock === onlyLock);
  tellMoments(moments());
  note(counts, performance.now() - began);
}

function note(counts, took) {
  const told = document.documentElement.dataset;
  told.drawn = JSON.stringify(counts);
  told.lanes = lanes.length;
  told.took = took.toFixed(1);
  told.from = Math.round(seen.from);
  told.to = Math.round(seen.to);
  told.scheme = dark.matches ? "dark" : "light";
}

// The legend is drawn by the same painters as the lanes.
const legend = [
  ["waiting", "waits"], ["holding", "holds, with its token"], ["late", "lease over, not yet told"], ["wrong", "believes wrongly"],
  ["stopped", "process stopped"], ["dead", "process killed"],
  ["refused", "write refused"], ["unfenced", "wrong write, taken by the unguarded store"], ["unknown", "write unanswered"], ["wrote", "write"], ["read", "read"], ["told", "told that it is over"],
  ["up", "master up"], ["down", "down"], ["lost", "down, data lost"], ["frozen", "frozen"], ["clock", "clock off"], ["wiped", "wiped"], ["fault", "fault"],
];

function writeLegend(box) {
  for (const [kind, words] of legend) {
    const item = document.createElement("span"), canvas = document.createElement("canvas");
    item.append(canvas, words);
    box.append(item);
  }
  paintLegend(box);
}

function paintLegend(box) {
  [...box.querySelectorAll("canvas")].forEach((canvas, i) => {
    const { c, width, height } = fit(canvas, 16);
    const kind = legend[i][0];
    const lane = { top: 3, height: height - 3 };
    if (kind in markShapes) markShapes[kind](c, width / 2, height / 2 + ({ refused: 5, unfenced: -6 }[kind] ?? 0), height - 2);
    else if (kind === "up") paintUpSample(c, width, height);
    else painters[kind === "lost" ? "down" : kind](c, { left: 0, top: 0, width, height }, { token: "7", name: "", text: "", offset: 0, lost: kind === "lost" }, lane);
  });
}

function paintUpSample(c, width, height) {
  c.fillStyle = colors.up;
  c.fillRect(0, height / 2 - 1.5, width, 3);
}

offerLocks(document.getElementById("locks"));
writeLabels(document.getElementById("labels"));
writeLegend(document.getElementById("legend"));
steerByPointer(lanesCanvas);
steerByOverview(document.getElementById("overview"));
steerByKeys();
steerByButtons();
window.addEventListener("hashchange", (e) => readAddress(e.newURL));
dark.addEventListener("change", () => {
  colors = readColors();
  hatches = readHatches();
  paintLegend(document.getElementById("legend"));
  redraw();
});
new ResizeObserver(redraw).observe(lanesCanvas);
readAddress(location.href);
draw(); // at once, and not with the next frame
