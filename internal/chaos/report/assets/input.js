// What the reader does: wheel, pointers, keys and buttons.

function steerByPointer(canvas) {
  const time = (px) => seen.from + (px / canvas.clientWidth) * (seen.to - seen.from);
  const down = new Map(); // pointers, by id
  const spread = () => {
    const [a, b] = [...down.values()];
    return { length: Math.max(Math.abs(a.x - b.x), 20), middle: (a.x + b.x) / 2 };
  };
  const up = (e) => {
    down.delete(e.pointerId);
    if (down.size === 0) canvas.classList.remove("dragged");
  };

  canvas.addEventListener("wheel", (e) => {
    e.preventDefault();
    const perPixel = (seen.to - seen.from) / canvas.clientWidth;
    const lines = e.deltaMode === 1 ? 16 : 1;
    if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) move((e.deltaX || e.deltaY) * lines * perPixel);
    else zoom(Math.exp(e.deltaY * lines * (e.ctrlKey ? 0.012 : 0.0022)), time(e.offsetX));
  }, { passive: false });

  canvas.addEventListener("pointerdown", (e) => {
    if (e.button !== 0) return;
    canvas.setPointerCapture(e.pointerId);
    down.set(e.pointerId, { x: e.offsetX, y: e.clientY });
    canvas.classList.add("dragged");
  });
  canvas.addEventListener("pointermove", (e) => {
    if (e.buttons === 0) up(e); // it was let go where the page could not see it
    const was = down.get(e.pointerId);
    if (!was) {
      showTip(under(e.offsetX, e.offsetY, canvas.clientWidth), e.clientX, e.clientY);
      return;
    }
    const before = down.size === 2 ? spread() : null;
    const by = was.x - e.offsetX;
    if (e.pointerType === "mouse") window.scrollBy(0, was.y - e.clientY); // lanes may be higher than the screen
    down.set(e.pointerId, { x: e.offsetX, y: e.clientY });
    if (before) {
      const after = spread();
      move(time(before.middle) - time(after.middle));
      zoom(before.length / after.length, time(after.middle));
      return;
    }
    move((by / canvas.clientWidth) * (seen.to - seen.from));
  });
  canvas.addEventListener("pointerup", up);
  canvas.addEventListener("pointercancel", up);
  canvas.addEventListener("pointerleave", () => showTip(null));
  canvas.addEventListener("dblclick", lookAtAll);
}

const center = () => (seen.from + seen.to) / 2;
const actions = {
  ArrowLeft: () => move((seen.from - seen.to) / 8),
  ArrowRight: () => move((seen.to - seen.from) / 8),
  "+": () => zoom(1 / 1.6, center()),
  "=": () => zoom(1 / 1.6, center()),
  "-": () => zoom(1.6, center()),
  0: lookAtAll,
  Home: lookAtAll,
  n: () => visit(1),
  p: () => visit(-1),
  Escape: () => showTip(null),
};

function steerByKeys() {
  document.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || !(e.key in actions)) return;
    e.preventDefault();
    actions[e.key]();
  });
}

// visit goes to the next or the previous of the moments, and tells of it.
let visited = -1;
function visit(step) {
  const all = moments();
  if (all.length === 0) return;
  visited = visited < 0 && step < 0 ? all.length - 1 : (visited + step + all.length) % all.length;
  const found = all[visited];
  lookNear(found.item);
  tellMoments(all);
  const { label } = found.lane; // lanes may be higher than the screen, and the tools stay above them
  label.style.scrollMarginTop = document.querySelector(".tools").offsetHeight + "px";
  label.scrollIntoView({ block: "nearest" });
  const box = lanesCanvas.getBoundingClientRect();
  showTip({ lane: found.lane, item: found.item, more: 0 }, box.left + pixels(box.width)(found.at), box.top + found.lane.top + found.lane.height);
}

function tellMoments(all) {
  document.getElementById("moments").textContent = all.length === 0 ? "nothing wrong" : (visited < 0 ? "" : visited + 1 + " of ") + all.length + (all.length === 1 ? " moment" : " moments");
}

// offerLocks makes a button for each lock, and one for all.
function offerLocks(box) {
  for (const name of ["", ...locks]) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = name || "all locks";
    button.title = button.textContent;
    button.dataset.lock = name;
    button.addEventListener("click", () => {
      onlyLock = name;
      visited = -1;
      redraw();
      keepAddress();
    });
    box.append(button);
  }
}

function steerByButtons() {
  const on = (id, act) => document.getElementById(id)?.addEventListener("click", act);
  on("previous", actions.p);
  on("next", actions.n);
  on("in", actions["+"]);
  on("out", actions["-"]);
  on("reset", lookAtAll);
  on("copy", async (e) => {
    const command = document.getElementById("command");
    getSelection().selectAllChildren(command); // what the reader can copy where we may not
    try {
      await navigator.clipboard.writeText(command.textContent);
      e.target.textContent = "copied";
    } catch { // there is none, or it refuses a page from the disk
      e.target.textContent = "selected, press Ctrl+C or ⌘C";
    }
  });
}
