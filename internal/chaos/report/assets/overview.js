// The overview: how much was held at each time of the run, where it was believed
// wrongly and refused, and the window in it.

function paintOverview(canvas) {
  const { c, width, height } = fit(canvas, 46);
  const x = (t) => (t / whole.to) * width;
  for (const p of timeline.phases) {
    c.fillStyle = phaseLook(p.name).back;
    c.fillRect(x(p.from), 0, x(p.to) - x(p.from), height);
  }
  const held = new Float64Array(Math.ceil(width) + 1);
  const wrong = new Uint8Array(held.length), refused = new Uint8Array(held.length);
  for (const lane of lanes) {
    for (const s of lane.spans) {
      if (!shown(s)) continue;
      const from = Math.floor(x(s.from)), to = Math.floor(x(s.to));
      if (s.kind === "holding") for (let i = from; i <= to; i++) held[i] += Math.min(x(s.to), i + 1) - Math.max(x(s.from), i);
      if (s.kind === "wrong") wrong.fill(1, from, to + 1);
      if (s.kind === "fault") {
        c.fillStyle = colors["fault-edge"];
        c.globalAlpha = 0.5;
        c.fillRect(x(s.from), height - 4, Math.max(1, x(s.to) - x(s.from)), 4);
        c.globalAlpha = 1;
      }
    }
    for (const m of lane.majors) if (shown(m)) refused[Math.floor(x(m.at))] = 1;
  }
  const most = held.reduce((a, b) => Math.max(a, b), 1e-9);
  for (let i = 0; i < held.length; i++) {
    const high = (held[i] / most) * (height - 18);
    c.fillStyle = colors.holding;
    c.fillRect(i, height - 5 - high, 1, high);
    if (wrong[i]) {
      c.fillStyle = colors.wrong;
      c.fillRect(i, 8, 1, 6);
    }
    if (refused[i]) {
      c.fillStyle = colors.refused;
      c.fillRect(i, 0, 1.5, 6);
    }
  }
  const from = x(seen.from), to = Math.max(x(seen.to), from + 2);
  c.fillStyle = colors.page;
  c.globalAlpha = 0.72;
  c.fillRect(0, 0, from, height);
  c.fillRect(to, 0, width - to, height);
  c.globalAlpha = 1;
  c.strokeStyle = colors.accent;
  c.lineWidth = 2;
  c.strokeRect(from + 1, 1, Math.max(to - from - 2, 1), height - 2);
}

// steerByOverview: a drag from inside the window moves it, one from outside makes
// a new one.
function steerByOverview(canvas) {
  const time = (e) => Math.min(Math.max(e.offsetX / canvas.clientWidth, 0), 1) * whole.to;
  let grip = null; // where in the window it was taken, or where a new one begins
  canvas.addEventListener("pointerdown", (e) => {
    if (e.button !== 0) return;
    canvas.setPointerCapture(e.pointerId);
    const t = time(e);
    const inside = t >= seen.from && t <= seen.to && seen.to - seen.from < whole.to * 0.98;
    grip = inside ? { by: t - seen.from } : { begin: t };
  });
  canvas.addEventListener("pointermove", (e) => {
    if (e.buttons === 0) grip = null; // it was let go where the page could not see it
    if (!grip) return;
    const t = time(e);
    if (grip.by !== undefined) move(t - grip.by - seen.from);
    else if (Math.abs(t - grip.begin) > whole.to / 500) look(Math.min(t, grip.begin), Math.max(t, grip.begin));
  });
  canvas.addEventListener("pointerup", () => { grip = null; });
  canvas.addEventListener("pointercancel", () => { grip = null; });
  canvas.addEventListener("dblclick", lookAtAll);
}
