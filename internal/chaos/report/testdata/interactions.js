// Plays the reader of the report, as a script at its end: it does what readers do
// with mouse, fingers and keys, and looks at what the page shows then. The test gets
// a line on the console for each scenario, and one at the end.

const root = document.documentElement;
const $ = (id) => document.getElementById(id);
const canvas = $("lanes"), overview = $("overview"), tip = $("tip"), copy = $("copy");
const run = JSON.parse($("timeline").textContent);

function check(right, what) {
  if (!right) throw new Error(what);
}

function near(got, want, within, what) {
  check(Math.abs(got - want) <= within, `${what}: ${got}, want ${want} within ${within}`);
}

const frame = () => new Promise(requestAnimationFrame);

async function until(what, holds) {
  for (const deadline = performance.now() + 5000; !holds(); await frame()) {
    check(performance.now() < deadline, `not in time: ${what}`);
  }
}

// What is drawn, is with the next frame: after two, nothing more is to come.
async function settled() {
  await frame();
  await frame();
}

// seen is the window as it was last drawn.
function seen() {
  const from = Number(root.dataset.from), to = Number(root.dataset.to);
  return { from, to, length: to - from };
}

const same = (a, b) => a.from === b.from && a.to === b.to;
const unlike = (was) => () => !same(seen(), was);
const drawn = () => Object.values(JSON.parse(root.dataset.drawn)).reduce((a, b) => a + b, 0);
const picture = () => canvas.toDataURL();

// goTo changes the address, as a reader may. It is never the one before, which the
// browser would not tell of.
let gone = 0;
async function goTo(from, to) {
  let heard = false;
  addEventListener("hashchange", () => { heard = true; }, { once: true });
  location.hash = `#from=${from / 1e6}&to=${to / 1e6}&gone=${++gone}`;
  await until("the new address", () => heard);
  await settled();
  near(seen().from, from, 1, "from of the address");
  near(seen().to, to, 1, "to of the address");
}

const someTime = () => goTo(run.end * 0.4, run.end * 0.4 + 4e6);

// place is the point of an element at a share of its width and height, and what
// is on top there.
function place(element, share, down = 0.5) {
  const height = down * element.clientHeight;
  scrollBy(0, element.getBoundingClientRect().top + height - innerHeight * 0.8); // the tools are above
  const box = element.getBoundingClientRect();
  const clientX = box.left + share * box.width, clientY = box.top + down * box.height;
  const top = document.elementFromPoint(clientX, clientY);
  check(top === element, `${element.id} is covered by ${top?.outerHTML.slice(0, 80)}`);
  return { clientX, clientY };
}

// fire dispatches an event as if it came from the user, and tells whether the page
// left it to the browser.
const fire = (target, event, type, detail) => target.dispatchEvent(new event(type, { bubbles: true, cancelable: true, ...detail }));
const wheel = (share, detail) => fire(canvas, WheelEvent, "wheel", { ...place(canvas, share), ...detail });
const press = (key, detail) => fire(document.activeElement, KeyboardEvent, "keydown", { key, ...detail });
const mouse = (element, type, point, buttons = 0, button = -1) =>
  fire(element, PointerEvent, type, { pointerId: 1, pointerType: "mouse", isPrimary: true, ...point, buttons, button });

// drag takes an element at a share of its width to another one, which may be out
// of it.
function drag(element, from, to, button = 0) {
  const point = place(element, from), width = element.clientWidth;
  const buttons = [1, 4, 2][button];
  mouse(element, "pointerdown", point, buttons, button);
  for (const part of [0.3, 0.7, 1]) {
    mouse(element, "pointermove", { ...point, clientX: point.clientX + part * (to - from) * width }, buttons);
  }
  return () => mouse(element, "pointerup", { ...point, clientX: point.clientX + (to - from) * width }, 0, button);
}

function click(button) {
  place(button, 0.5);
  button.click();
}

// pairs is what the tip says, by label.
function pairs() {
  check(!tip.hidden, "no tip");
  const texts = (name) => [...tip.querySelectorAll(name)].map((e) => e.textContent);
  const values = texts("dd");
  return Object.fromEntries(texts("dt").map((label, i) => [label, values[i]]));
}

function tipInSight() {
  const box = tip.getBoundingClientRect();
  check(box.width > 0 && box.left >= 0 && box.top >= 0 && box.right <= innerWidth && box.bottom <= innerHeight, "the tip is out of sight: " + JSON.stringify(box));
}

// row is the place of a lane's row from top to bottom of the canvas, as its label
// beside it tells.
function row(lane, n) {
  const label = [...$("labels").children].find((l) => l.className === "" && l.title === lane.name).getBoundingClientRect();
  const box = canvas.getBoundingClientRect();
  return (label.top - box.top + ((n + 0.5) / lane.rows) * label.height) / box.height;
}

// hover moves the mouse to a time in a row.
async function hover(lane, n, time) {
  const share = (time - seen().from) / seen().length;
  mouse(canvas, "pointermove", place(canvas, share, row(lane, n)));
  await settled();
}

const hasRoom = (s) => s.from > run.end / 10 && s.to < (run.end * 9) / 10;

// lonely finds a span of a kind that is the only one in its row for some time, with
// room around it.
function lonely(kind, group) {
  for (const lane of run.lanes.filter((l) => l.group === group)) {
    for (const s of lane.spans ?? []) {
      const about = (from, to) => from <= s.to && to >= s.from;
      const others = lane.spans.filter((o) => o !== s && (o.row ?? 0) === (s.row ?? 0) && o.kind !== "waiting" && o.kind !== "leaving" && about(o.from, o.to));
      const inside = (lane.marks ?? []).filter((m) => m.at > s.from && m.at < s.from + (s.to - s.from) * 0.8);
      if (s.kind === kind && hasRoom(s) && s.to - s.from > 100e3 && others.length + inside.length === 0) return { lane, item: s };
    }
  }
  throw new Error(`no ${kind} stands alone`);
}

const scenarios = {
  async opens() {
    await frame();
    const opened = performance.now();
    check(root.dataset.drawn && drawn() > 0, "nothing is drawn");
    check(seen().from === 0 && seen().to === run.end, "not all of the run is seen");
    const empty = document.createElement("canvas");
    empty.width = canvas.width;
    empty.height = canvas.height;
    check(picture() !== empty.toDataURL(), "the picture is empty");
    return { opened, draw: Number(root.dataset.took) };
  },

  async "wheel zooms around the pointer"() {
    press("0");
    await settled();
    const zooms = [];
    for (const share of [0.3, 0.8, 0.5]) {
      const was = seen(), before = picture(), many = drawn();
      const began = performance.now();
      check(!wheel(share, { deltaY: -300 }), "the wheel is left to the browser");
      await until("zoomed in", unlike(was));
      zooms.push(performance.now() - began);
      near(seen().from + share * seen().length, was.from + share * was.length, was.length / 1000, "time under the pointer");
      near(seen().length / was.length, Math.exp(-0.66), 0.01, "zoomed by");
      check(picture() !== before && drawn() < many, "the picture is the one before");
      const range = $("range").textContent;
      check(range.startsWith((seen().from / 1e6).toFixed(3) + " s to " + (seen().to / 1e6).toFixed(3) + " s"), "range: " + range);
    }
    const was = seen();
    wheel(0.25, { deltaY: 100 });
    await until("zoomed out", unlike(was));
    near(seen().length / was.length, Math.exp(0.22), 0.01, "zoomed out by");
    near(seen().from + 0.25 * seen().length, was.from + 0.25 * was.length, was.length / 1000, "time under the pointer");
    for (let i = 0; i < 9; i++) wheel(0.5, { deltaY: 500 });
    await until("all of the run", () => seen().from === 0 && seen().to === run.end);
    return { zoom: zooms.sort((a, b) => a - b)[1] };
  },

  async "wheel pinches, and turns by lines"() {
    await someTime();
    let was = seen();
    wheel(0.5, { deltaY: -20, ctrlKey: true });
    await until("pinched", unlike(was));
    near(seen().length / was.length, Math.exp(-0.24), 0.01, "pinched by");
    was = seen();
    wheel(0.5, { deltaY: -3, deltaMode: WheelEvent.DOM_DELTA_LINE });
    await until("zoomed", unlike(was));
    near(seen().length / was.length, Math.exp(-0.1056), 0.01, "zoomed by");
  },

  async "zoom ends at its shortest"() {
    await someTime();
    for (let i = 0; i < 40; i++) wheel(0.5, { deltaY: -500 });
    await until("the shortest window", () => seen().length === 50);
    check($("range").textContent.endsWith(" 50 µs"), $("range").textContent);
    const was = seen();
    wheel(0.2, { deltaY: -500 });
    await settled();
    check(same(seen(), was), "the window moves when it can not be shorter");
    location.hash = "#from=7&to=7.00001";
    await until("the shortest window of an address", () => Math.abs(seen().from - 7e6) < 50 && seen().length === 50);
  },

  async "wheel moves sideways"() {
    for (const [detail, by] of [[{ deltaX: 120 }, 120], [{ deltaX: -90, deltaY: 10 }, -90], [{ deltaY: 70, shiftKey: true }, 70]]) {
      await someTime();
      const was = seen(), perPixel = was.length / canvas.clientWidth;
      wheel(0.5, detail);
      await until("moved", unlike(was));
      near(seen().from - was.from, by * perPixel, 2, "moved by");
      near(seen().length, was.length, 2, "length");
    }
  },

  async "dragging moves"() {
    await someTime();
    const was = seen(), before = picture();
    const up = drag(canvas, 0.6, 0.35);
    check(getComputedStyle(canvas).cursor === "grabbing", "the cursor does not grab");
    await until("moved", unlike(was));
    near(seen().from - was.from, 0.25 * was.length, was.length / 500, "moved by");
    near(seen().length, was.length, 2, "length");
    check(picture() !== before, "the picture is the one before");
    up();
    check(getComputedStyle(canvas).cursor === "grab", "the cursor still grabs");
    const left = seen();
    mouse(canvas, "pointermove", place(canvas, 0.7));
    await settled();
    check(same(seen(), left), "it is dragged after the button was let go");
  },

  async "dragging scrolls the page"() {
    await someTime();
    const point = place(canvas, 0.5), before = scrollY, was = seen();
    const by = before >= 40 ? 40 : -40;
    mouse(canvas, "pointerdown", point, 1, 0);
    mouse(canvas, "pointermove", { ...point, clientY: point.clientY + by }, 1);
    mouse(canvas, "pointerup", { ...point, clientY: point.clientY + by }, 0, 0);
    near(scrollY - before, -by, 1, "scrolled by");
    await settled();
    check(same(seen(), was), "the window moved");
  },

  async "only the main button drags"() {
    await someTime();
    const was = seen();
    for (const element of [canvas, overview]) {
      for (const button of [1, 2]) {
        const up = drag(element, 0.6, 0.35, button);
        await settled();
        check(same(seen(), was), `button ${button} drags ${element.id}`);
        up();
      }
    }
  },

  // The menu of the browser may take the end of a drag.
  async "a drag ends without a button"() {
    await someTime();
    for (const element of [canvas, overview]) {
      drag(element, 0.6, 0.5);
      await settled();
      const was = seen();
      mouse(element, "pointermove", place(element, 0.3));
      await settled();
      check(same(seen(), was), `${element.id} is dragged without a button`);
    }
    check(!canvas.classList.contains("dragged"), "the cursor still grabs");
  },

  async "two fingers zoom"() {
    await someTime();
    const was = seen();
    const capture = Element.prototype.setPointerCapture; // refuses fingers that are not there
    Element.prototype.setPointerCapture = () => {};
    try {
      const finger = (id, type, share) => fire(canvas, PointerEvent, type, { pointerId: id, pointerType: "touch", ...place(canvas, share), buttons: 1, button: 0 });
      finger(11, "pointerdown", 0.4);
      finger(12, "pointerdown", 0.6);
      finger(11, "pointermove", 0.3);
      finger(12, "pointermove", 0.7);
      await until("zoomed", unlike(was));
      near(seen().length / was.length, 0.5, 0.01, "zoomed by");
      near(seen().from + seen().length / 2, was.from + was.length / 2, was.length / 100, "time between the fingers");
      for (const id of [11, 12]) finger(id, "pointerup", 0.5);
    } finally {
      Element.prototype.setPointerCapture = capture;
    }
  },

  async "a double click shows all"() {
    for (const element of [canvas, overview]) {
      await someTime();
      fire(element, MouseEvent, "dblclick", place(element, 0.5));
      await until("all of the run", () => seen().from === 0 && seen().to === run.end);
    }
  },

  async "the overview takes a window"() {
    press("0");
    await settled();
    const all = seen().length;
    drag(overview, 0.2, 0.4)();
    await until("a new window", () => seen().length < all);
    near(seen().from, 0.2 * all, all / 500, "from");
    near(seen().to, 0.4 * all, all / 500, "to");
    const was = seen();
    drag(overview, 0.3, 0.6)();
    await until("moved", unlike(was));
    near(seen().from, 0.5 * all, all / 500, "moved from");
    near(seen().length, was.length, 2, "length");
    drag(overview, 0.9, 1.1)();
    await until("the window at the end", () => seen().to === run.end);
    near(seen().from, 0.9 * all, all / 500, "from, of a drag that leaves the overview");
  },

  async "hovering tells of a hold"() {
    const { lane, item } = lonely("holding", "clients");
    const length = item.to - item.from;
    await goTo(item.from - length, item.to + length);
    await hover(lane, item.row ?? 0, item.from + length / 3);
    const said = pairs();
    check(tip.querySelector("b").textContent === "Holds the lock", tip.textContent);
    check(said.token === item.token && said.lock === item.name && said.client === lane.name, "the tip of another: " + tip.textContent);
    near(parseFloat(said.from) * 1e6, item.from, 1000, "from");
    near(parseFloat(said["lease until"]) * 1e6, item.until, 1000, "lease until");
    tipInSight();
    mouse(canvas, "pointermove", place(canvas, 0.5, 0.001)); // above all lanes
    check(tip.hidden, "the tip stays where there is nothing");
    await hover(lane, item.row ?? 0, item.from + length / 3);
    check(!tip.hidden, "no tip");
    mouse(canvas, "pointerleave", {});
    check(tip.hidden, "the tip stays when the mouse leaves");
  },

  async "hovering tells of a refused write and a master"() {
    const lane = run.lanes.find((l) => (l.marks ?? []).some((m) => m.kind === "refused"));
    const mark = lane.marks.find((m) => m.kind === "refused");
    await goTo(mark.at - 1e3, mark.at + 1e3);
    await hover(lane, mark.row ?? 0, mark.at);
    check(tip.querySelector("b").textContent === "Write REFUSED by the guard", tip.textContent);
    check(pairs().token === mark.token && pairs().store === mark.store, tip.textContent);
    const down = lonely("down", "masters");
    await goTo(down.item.from - 1e6, down.item.to + 1e6);
    await hover(down.lane, 0, (down.item.from + down.item.to) / 2);
    check(tip.querySelector("b").textContent.startsWith("Down, ") && pairs().master === down.lane.name, tip.textContent);
  },

  // At both edges of the page the tip stays on it.
  async "the tip stays on the screen"() {
    const { lane, item } = lonely("holding", "clients");
    const length = item.to - item.from;
    for (const [before, after] of [[0.01, 20], [20, 0.01]]) {
      await goTo(item.from - before * length, item.to + after * length);
      await hover(lane, item.row ?? 0, item.from + length / 2);
      check(pairs().token === item.token, tip.textContent);
      tipInSight();
    }
  },

  // Not squeezed between the edge and where a narrower one was before.
  async "the tip is as wide at the edge"() {
    const { lane, item } = lonely("holding", "clients");
    const wrong = run.lanes.flatMap((l) => (l.spans ?? []).filter((s) => s.kind === "wrong" && hasRoom(s)).map((s) => ({ lane: l, item: s })))[0];
    const widths = [];
    for (const [before, after] of [[0.01, 5], [5, 0.01]]) {
      for (const shown of [{ lane, item }, wrong]) {
        const { from, to, row } = shown.item;
        await goTo(from - before * (to - from), to + after * (to - from));
        await hover(shown.lane, row ?? 0, (from + to) / 2);
      }
      check(tip.textContent.startsWith("Believes wrongly"), tip.textContent);
      widths.push(tip.offsetWidth);
    }
    check(widths[0] === widths[1], `widths: ${widths}`);
  },

  // A tip is about what is under the pointer, or it is away.
  async "the tip leaves with what it tells of"() {
    const { lane, item } = lonely("holding", "clients");
    const length = item.to - item.from;
    for (const [what, act] of Object.entries({
      key: () => press("ArrowRight"),
      wheel: () => wheel(0.5, { deltaY: -200 }),
      button: () => $("in").click(),
      drag: () => drag(canvas, 0.5, 0.6)(),
      Escape: () => press("Escape"),
    })) {
      await goTo(item.from - length, item.to + length);
      await hover(lane, item.row ?? 0, item.from + length / 3);
      check(!tip.hidden, "no tip");
      act();
      check(tip.hidden, `the tip stays after ${what}`);
    }
  },

  async "keys move and zoom"() {
    const middleOf = (w) => w.from + w.length / 2;
    for (const [key, by, factor] of [["ArrowRight", 1 / 8, 1], ["ArrowLeft", -1 / 8, 1], ["+", 0, 1 / 1.6], ["=", 0, 1 / 1.6], ["-", 0, 1.6]]) {
      await someTime();
      canvas.focus();
      const was = seen();
      check(!press(key), `${key} is left to the browser`);
      await until(`${key} did something`, unlike(was));
      near(middleOf(seen()) - middleOf(was), by * was.length, 2, `${key} moved by`);
      near(seen().length / was.length, factor, 0.001, `${key} zoomed by`);
    }
    for (const key of ["0", "Home"]) {
      await someTime();
      press(key);
      await until(`${key} shows all`, () => seen().from === 0 && seen().to === run.end);
    }
    await someTime();
    const was = seen();
    for (const taken of [{ ctrlKey: true }, { metaKey: true }, { altKey: true }]) check(press("+", taken), "a key of the browser is taken");
    check(press("x"), "x is taken");
    await settled();
    check(same(seen(), was), "keys of the browser zoom");
  },

  async "keys go to what matters"() {
    const all = [];
    for (const lane of run.lanes) {
      for (const s of lane.spans ?? []) if (s.kind === "wrong") all.push({ lane, at: s.from, token: s.token });
      for (const m of lane.marks ?? []) if (m.kind === "refused" || m.kind === "unfenced") all.push({ lane, at: m.at, token: m.token });
    }
    all.sort((a, b) => a.at - b.at);
    const at = async (n, key) => {
      press(key);
      await until(`moment ${n}`, () => $("moments").textContent === `${n} of ${all.length} moments`);
      await settled();
      const { lane, at, token } = all[n - 1];
      check(seen().from <= at && at <= seen().to, `moment ${n} is out of the window`);
      check(pairs().token === token && pairs().client === lane.name, `moment ${n}: ${tip.textContent}`);
      tipInSight();
    };
    await at(1, "n");
    await at(2, "n");
    await at(1, "p");
    await at(all.length, "p");
    press("Escape");
    check(tip.hidden, "Escape leaves the tip");
  },

  // Lanes may be many more than fit on the screen.
  async "what matters is scrolled to"() {
    const tools = document.querySelector(".tools");
    for (let i = 0; i < 30; i++) {
      press("n");
      await settled();
      const label = [...$("labels").children].find((l) => l.className === "" && l.title === pairs().client).getBoundingClientRect();
      check(label.top >= tools.getBoundingClientRect().bottom && label.bottom < innerHeight + 1, `moment ${i + 1}: ${pairs().client} is at ${label.top} to ${label.bottom} of ${innerHeight}`);
      tipInSight();
    }
  },

  async "buttons zoom and choose"() {
    await someTime();
    for (const [id, factor] of [["in", 1 / 1.6], ["out", 1.6]]) {
      const was = seen();
      click($(id));
      await until(`zoomed ${id}`, unlike(was));
      near(seen().length / was.length, factor, 0.001, `zoomed ${id} by`);
    }
    click($("reset"));
    await until("all of the run", () => seen().from === 0 && seen().to === run.end);
    click($("next"));
    await until("a moment", () => seen().length < run.end);
    click($("previous"));
    click($("reset"));
    await settled();
    const many = drawn();
    const [every, one] = document.querySelectorAll("#locks button");
    click(one);
    await until("one lock", () => one.getAttribute("aria-pressed") === "true" && drawn() < many);
    click(every);
    await until("all locks", () => every.getAttribute("aria-pressed") === "true" && drawn() === many);
  },

  // The address follows the window. That must not come back to the page as if the
  // reader had changed it: it would undo what was done meanwhile.
  async "the address keeps the window"() {
    await someTime();
    let heard = 0;
    const count = () => { heard++; };
    addEventListener("hashchange", count);
    const was = location.hash;
    wheel(0.5, { deltaY: -200 });
    await until("another address", () => location.hash !== was);
    const kept = new URLSearchParams(location.hash.slice(1));
    near(Number(kept.get("from")) * 1e6, seen().from, 1, "from");
    near(Number(kept.get("to")) * 1e6, seen().to, 1, "to");
    press("0");
    await until("no window in the address", () => location.hash === "");
    await settled();
    removeEventListener("hashchange", count);
    check(heard === 0, `${heard} changes of the address were heard`);
  },

  async "the clipboard refuses"() {
    let refused;
    await navigator.clipboard.writeText("").catch((e) => { refused = e.name; });
    check(refused === "NotAllowedError", `the browser does not refuse: ${refused}`);
    await copies("selected, press Ctrl+C or ⌘C");
  },

  async "there is no clipboard"() {
    await withClipboard(undefined, () => copies("selected, press Ctrl+C or ⌘C"));
  },

  async "the clipboard takes the command"() {
    const got = [];
    await withClipboard({ writeText: async (text) => { got.push(text); } }, () => copies("copied"));
    check(got.length === 1 && got[0] === $("command").textContent, `copied ${JSON.stringify(got)}`);
  },
};

async function withClipboard(value, act) {
  Object.defineProperty(navigator, "clipboard", { value, configurable: true });
  try {
    await act();
  } finally {
    delete navigator.clipboard;
  }
}

// copies presses the button, which says what the reader has then. The command is
// selected in any case.
async function copies(said) {
  copy.textContent = "copy";
  getSelection().removeAllRanges();
  click(copy);
  await until("the button says something", () => copy.textContent !== "copy");
  check(copy.textContent === said, `the button says ${copy.textContent}`);
  check(getSelection().toString() === $("command").textContent, `selected: ${getSelection()}`);
}

const failures = [];
addEventListener("error", (e) => failures.push(e.message));
addEventListener("unhandledrejection", (e) => failures.push(String(e.reason)));

await until("the window has its size", () => innerWidth === windowWidth);
await settled();
for (const name of wanted.length > 0 ? wanted : Object.keys(scenarios)) {
  const result = { name };
  try {
    result.figures = await scenarios[name]();
  } catch (e) {
    failures.push(e.message);
  }
  result.failures = failures.splice(0);
  console.log("interactions: " + JSON.stringify(result));
}
console.log("interactions: " + JSON.stringify({ done: true }));
