"use strict";
document.documentElement.classList.add("scripted");

/* Tables: a click on a head sorts by its column. */
function cellKey(row, column) {
  const text = row.cells[column].textContent.trim();
  const number = parseFloat(text.replace(/,/g, ""));
  return Number.isNaN(number) || /^0x/.test(text) ? text : number;
}
function sortTable(table, column, head) {
  const body = table.tBodies[0];
  const down = head.getAttribute("aria-sort") === "ascending";
  const sign = down ? -1 : 1;
  const rows = Array.from(body.rows, (row, place) => [cellKey(row, column), place, row]);
  rows.sort(function (a, b) {
    const x = a[0], y = b[0];
    if (typeof x !== typeof y) return typeof x === "number" ? -1 : 1;
    if (x < y) return -sign;
    if (x > y) return sign;
    return a[1] - b[1];
  });
  for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  body.append(...rows.map((entry) => entry[2]));
}
for (const table of document.querySelectorAll("table.sortable")) {
  Array.from(table.tHead.rows[0].cells).forEach(function (head, column) {
    if (!head.textContent) return;
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => sortTable(table, column, head));
  });
}

/* Timelines: the window [low, high) of ticks is drawn anew from the data at every move. */
function unpack(flat) {
  const size = flat.length / 3;
  const level = { begin: new Float64Array(size), end: new Float64Array(size), kind: new Uint16Array(size) };
  let reached = 0;
  for (let i = 0; i < size; i++) {
    level.begin[i] = reached + flat[3 * i];
    level.end[i] = reached = level.begin[i] + flat[3 * i + 1];
    level.kind[i] = flat[3 * i + 2];
  }
  return level;
}
function firstAfter(ends, tick) {
  let low = 0, high = ends.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ends[middle] <= tick) low = middle + 1; else high = middle;
  }
  return low;
}
function lanePaths(lane, classes, low, high, pixel) {
  const drawn = new Map(), open = new Map();
  const put = function (kind, rect) {
    const wide = Math.max(rect[1] - rect[0], pixel);
    const from = Math.max(low, Math.min(rect[0], high - wide));
    drawn.set(kind, (drawn.get(kind) || "") + "M" + from + " " + rect[2] + "h" + wide + "v1h-" + wide);
  };
  lane.levels.forEach(function (level, depth) {
    open.clear();
    for (let i = firstAfter(level.end, low); i < level.begin.length && level.begin[i] < high; i++) {
      const kind = classes[level.kind[i]], rect = open.get(kind);
      const from = Math.max(level.begin[i], low), to = Math.min(level.end[i], high);
      if (rect && from < Math.max(rect[1], rect[0] + pixel) && to - from < pixel) { rect[1] = Math.max(rect[1], to); continue; }
      if (rect) put(kind, rect);
      open.set(kind, [from, to, depth]);
    }
    open.forEach((rect, kind) => put(kind, rect));
  });
  return drawn;
}
function makeTimeline(section) {
  const grid = section.querySelector(".timeline"), words = section.querySelector(".span-words");
  const shown = section.querySelector(".range"), marks = section.querySelectorAll(".mark");
  const pictures = Array.from(grid.querySelectorAll("svg.lane"));
  let data = null, low = 0, high = 1, waiting = false;
  function load() {
    if (data) return;
    data = JSON.parse(section.querySelector("script.spans").textContent);
    for (const lane of data.lanes) lane.levels = lane.levels.map(unpack);
    high = data.ticks;
    grid.classList.add("live");
  }
  const figure = (value) => Math.round(value).toLocaleString("en");
  function draw() {
    waiting = false;
    const pixel = (high - low) / Math.max(200, pictures[0].clientWidth || 900);
    data.lanes.forEach(function (lane, number) {
      const svg = pictures[number], drawn = lanePaths(lane, data.classes, low, high, pixel);
      const there = new Map(Array.from(svg.children, (path) => [path.getAttribute("class"), path]));
      svg.setAttribute("viewBox", low + " 0 " + (high - low) + " " + lane.levels.length);
      there.forEach((path, kind) => path.setAttribute("d", drawn.get(kind) || "M0 0"));
    });
    marks.forEach((mark, i) => { mark.textContent = figure(low + ((high - low) * i) / (marks.length - 1)); });
    shown.textContent = "ticks " + figure(low) + " to " + figure(high) + ", " +
      ((high - low) / data.mhz).toLocaleString("en", { maximumFractionDigits: 3 }) + " µs";
  }
  function view(from, to) {
    load();
    const wide = Math.min(Math.max(to - from, 4), data.ticks);
    low = Math.min(Math.max(0, from + (to - from - wide) / 2), data.ticks - wide);
    high = low + wide;
    if (!waiting) { waiting = true; requestAnimationFrame(draw); }
  }
  function zoom(factor, at) {
    load();
    const middle = at === undefined ? (low + high) / 2 : at;
    view(middle - (middle - low) * factor, middle + (high - middle) * factor);
  }
  function move(part) { load(); view(low + part * (high - low), high + part * (high - low)); }
  const acts = {
    in: () => zoom(0.5), out: () => zoom(2), left: () => move(-0.25), right: () => move(0.25),
    all: () => { load(); view(0, data.ticks); },
  };
  section.querySelectorAll("[data-act]").forEach((b) => b.addEventListener("click", () => acts[b.dataset.act]()));
  const keys = {
    "+": "in", "=": "in", "-": "out", ArrowLeft: "left", ArrowRight: "right", 0: "all",
  };
  grid.addEventListener("keydown", function (event) {
    const act = keys[event.key];
    if (event.key === "PageDown" || event.key === "PageUp") step(event.key === "PageDown" ? 1 : -1);
    else if (!act || event.ctrlKey || event.metaKey) return;
    else acts[act]();
    event.preventDefault();
  });
  function tickAt(event) {
    const box = pictures[0].getBoundingClientRect();
    return low + ((event.clientX - box.left) / box.width) * (high - low);
  }
  function say(number, depth, i) {
    const lane = data.lanes[number], level = lane.levels[depth], ticks = level.end[i] - level.begin[i];
    const about = depth === 0 && lane.words[i] ? "; " + lane.words[i] : "";
    words.textContent = lane.name + ": " + data.names[level.kind[i]] + ", ticks " + figure(level.begin[i]) + " to " +
      figure(level.end[i]) + ", " + figure(ticks) + " ticks = " + (ticks / data.mhz).toLocaleString("en") + " µs" + about;
  }
  let reader = [0, -1];
  function step(by) {
    load();
    let [number, i] = reader;
    const size = (n) => data.lanes[n].levels[0].begin.length;
    i += by;
    if (i < 0 && number > 0) { number -= 1; i = size(number) - 1; }
    else if (i >= size(number) && number + 1 < data.lanes.length) { number += 1; i = 0; }
    reader = [number, Math.min(Math.max(i, 0), size(number) - 1)];
    say(number, 0, reader[1]);
  }
  let drag = null;
  grid.addEventListener("pointerdown", function (event) {
    if (event.button !== 0 || !event.target.closest("svg.lane")) return;
    load();
    drag = { x: event.clientX, low: low, high: high, wide: pictures[0].getBoundingClientRect().width };
    grid.setPointerCapture(event.pointerId);
  });
  grid.addEventListener("pointerup", () => { drag = null; });
  grid.addEventListener("pointercancel", () => { drag = null; });
  grid.addEventListener("pointermove", function (event) {
    if (drag) {
      const by = ((drag.x - event.clientX) / drag.wide) * (drag.high - drag.low);
      view(drag.low + by, drag.high + by);
      return;
    }
    const svg = event.target.closest("svg.lane");
    if (!svg) return;
    load();
    const number = pictures.indexOf(svg), lane = data.lanes[number], box = svg.getBoundingClientRect();
    const deepest = Math.floor(((event.clientY - box.top) / box.height) * lane.levels.length), tick = tickAt(event);
    const near = (2 * (high - low)) / box.width; /* a span thinner than a pixel can be pointed at, too */
    for (const reach of [0, near]) {
      for (let depth = Math.min(Math.max(deepest, 0), lane.levels.length - 1); depth >= 0; depth--) {
        const level = lane.levels[depth], i = firstAfter(level.end, tick - reach);
        if (i < level.begin.length && level.begin[i] <= tick + reach) { reader = [number, i]; say(number, depth, i); return; }
      }
    }
    words.textContent = lane.name + ": nothing at tick " + figure(tick);
  });
  grid.addEventListener("wheel", function (event) {
    if (!event.ctrlKey) return;
    event.preventDefault();
    zoom(event.deltaY < 0 ? 0.8 : 1.25, tickAt(event));
  }, { passive: false });
  grid.addEventListener("dblclick", (event) => zoom(0.5, tickAt(event)));
}
for (const data of document.querySelectorAll("script.spans")) makeTimeline(data.parentNode);

/* On paper everything is open. */
window.addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((d) => { d.open = true; }));
