// The colours, read from the style sheet, so that they are named in one place and
// follow the scheme of the reader's system.

const dark = window.matchMedia("(prefers-color-scheme: dark)");
let colors = readColors();

function readColors() {
  const style = getComputedStyle(document.documentElement);
  return new Proxy({}, {
    get(known, name) {
      known[name] ??= style.getPropertyValue("--" + name).trim();
      return known[name];
    },
  });
}

const font = "11px system-ui, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif";

// phaseLook is the background and the ink of a phase.
function phaseLook(name) {
  const kind = { "in-model": "in", "out-of-model": "out", healed: "healed" }[name] ?? "healed";
  return { back: colors["phase-" + kind], ink: colors["phase-ink-" + kind] };
}

// hatch returns a fill of stripes.
function hatch(color, back) {
  const tile = document.createElement("canvas");
  tile.width = tile.height = 6;
  const c = tile.getContext("2d");
  if (back) {
    c.fillStyle = back;
    c.fillRect(0, 0, 6, 6);
  }
  c.strokeStyle = color;
  c.lineWidth = 1.5;
  c.beginPath();
  for (const x of [-6, 0, 6]) {
    c.moveTo(x, 6);
    c.lineTo(x + 6, 0);
  }
  c.stroke();
  return c.createPattern(tile, "repeat");
}
