"use strict";
// Shows the latest rows and events; data come as text and are never taken for markup.
const SHOWN = 300, STRIP = 52, SVG = "http://www.w3.org/2000/svg";
const byId = (id) => document.getElementById(id);
let plant, rows = [], events = [], next = [], alarm = null, maintenance = false, changed = true;
const last = new Map();

function element(name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

function cell(row, text, kind) {
  const made = document.createElement(kind === "th" ? "th" : "td");
  if (kind === "th") made.scope = "row";
  if (kind === "number") made.className = "number";
  made.textContent = text;
  row.append(made);
  return made;
}

const number = (x) => (x === null || x === undefined ? "–" : Number(x).toPrecision(4).replace(/\.?0+$/, (z) => (z.startsWith(".") ? "" : z)));

function take(record) {
  if (record.kind === "event") {
    events.push(record);
    follow(record);
    if (events.length > 200) events.shift();
  } else {
    rows.push(record);
    if (rows.length > SHOWN) rows.shift();
  }
  if (record.kind === "reading") {
    next = record.next;
    for (const [name, value] of Object.entries(record.values)) last.set(name, { value, step: record.step });
  }
  changed = true;
}

// What an event changes; how things stood before, the snapshot says.
function follow(e) {
  if (e.event === "raised") alarm = { ...e, acknowledged: false };
  else if (e.event === "repeated") alarm = { ...e, acknowledged: Boolean(alarm && alarm.acknowledged) };
  else if (e.event === "acknowledged" && alarm) alarm = { ...alarm, acknowledged: true };
  else if (e.event === "cleared") alarm = null;
  else if (e.event.startsWith("maintenance")) maintenance = e.event === "maintenance on";
}

function drawStatus(readings) {
  const row = readings[readings.length - 1];
  const at = row ? `row ${row.step}${row.time === null ? "" : `, time ${row.time}`}` : "no row yet";
  byId("status").textContent = `${maintenance ? "Maintenance: rows are not looked at" : "Watching"}; ${at}; ${alarm ? "there is an alarm" : "no alarm"}`;
  const words = alarm ? `Alarm ${alarm.alarm}${alarm.acknowledged ? " (acknowledged)" : ""}: ${alarm.detail}` : "";
  if (byId("alert").textContent !== words) byId("alert").textContent = words;
  document.querySelector("header").classList.toggle("alarm", Boolean(alarm));
  document.title = alarm ? `ALARM ${alarm.alarm}: Causal DQ` : "Causal DQ: watching";
}

function drawStatistic(readings) {
  const svg = byId("statistic");
  svg.replaceChildren();
  const known = readings.filter((r) => r.statistic !== null);
  if (!known.length) return;
  const low = Math.min(...known.map((r) => r.statistic), plant.limit), high = Math.max(...known.map((r) => r.statistic), plant.limit);
  const span = high - low || 1;
  // As wide as it is shown, or its words would shrink with it on a phone.
  const right = Math.max(svg.clientWidth, 300) - 20;
  svg.setAttribute("viewBox", `0 0 ${right + 20} 220`);
  const x = (k) => 60 + ((right - 60) * k) / Math.max(readings.length - 1, 1);
  const y = (v) => 190 - (165 * (v - low)) / span;
  for (const [v, anchor] of [[low, 194], [high, y(high) + 4]]) svg.append(element("text", { x: 52, y: anchor, "text-anchor": "end" }, number(v)));
  svg.append(element("line", { class: "axis", x1: 60, x2: right, y1: 192, y2: 192 }));
  svg.append(element("text", { x: 60, y: 212 }, `row ${readings[0].step}`));
  svg.append(element("text", { x: right, y: 212, "text-anchor": "end" }, `row ${readings[readings.length - 1].step}`));
  svg.append(element("line", { class: "limit", x1: 60, x2: right, y1: y(plant.limit), y2: y(plant.limit) }));
  svg.append(element("text", { x: 66, y: y(plant.limit) - 6 }, `limit ${number(plant.limit)}`));
  let path = "", pen = "M";
  readings.forEach((r, k) => {
    if (r.statistic === null) { pen = "M"; return; }
    path += `${pen}${x(k).toFixed(1)} ${y(r.statistic).toFixed(1)}`;
    pen = "L";
  });
  svg.append(element("path", { class: "curve", d: path }));
  readings.forEach((r, k) => {
    if (r.alarm) svg.append(element("circle", { class: "above", cx: x(k), cy: y(r.statistic), r: 3 }));
  });
  const end = known[known.length - 1];
  const words = `Statistic ${number(end.statistic)}, limit ${number(plant.limit)}: ${end.alarm ? "above the limit" : "below the limit"}.`;
  byId("statistic-text").textContent = words;
  svg.setAttribute("aria-label", `Statistic over the latest ${readings.length} rows. ${words}`);
}

function drawSensors(readings) {
  const body = byId("sensors").tBodies[0];
  const strip = readings.slice(-STRIP), now = readings.length ? readings[readings.length - 1].step : 0;
  body.replaceChildren(...plant.streams.map((name, i) => {
    const line = document.createElement("tr"), seen = last.get(name);
    cell(line, name, "th");
    cell(line, seen ? number(seen.value) : "–", "number");
    cell(line, seen ? `${((seen.value - plant.mean[i]) / plant.sd[i]).toFixed(1)} sd` : "–", "number");
    cell(line, seen ? String(now - seen.step) : "–", "number");
    const latest = readings[readings.length - 1];
    const state = !latest ? "" : latest.missing.includes(name) ? "missing" : latest.aside.includes(name) ? "put aside" : latest.read.includes(name) ? "read" : "";
    cell(line, [state, next.includes(name) ? "read next" : ""].filter(Boolean).join(", "));
    const svg = element("svg", { viewBox: `0 0 ${7 * STRIP} 16`, "aria-hidden": "true" });
    strip.forEach((r, k) => {
      const place = 7 * (STRIP - strip.length + k);
      if (r.missing.includes(name)) svg.append(element("path", { class: "missing", d: `M${place} 5l6 6m0 -6l-6 6` }));
      else svg.append(element("rect", { class: r.aside.includes(name) ? "aside" : r.read.includes(name) ? "read" : "idle", x: place, y: 4, width: 6, height: 8 }));
    });
    cell(line, "").append(svg);
    return line;
  }));
}

function layers(nodes, edges) {
  const depth = new Map(nodes.map((i) => [i, 0]));
  for (let round = 0; round < nodes.length; round++) {
    let moved = false;
    for (const [a, b] of edges) if (depth.get(b) < depth.get(a) + 1) { depth.set(b, depth.get(a) + 1); moved = true; }
    if (!moved) break;
  }
  return depth;
}

function drawGraph(causes) {
  const svg = byId("graph");
  svg.replaceChildren();
  const place = new Map(plant.streams.map((name, i) => [name, i]));
  const onPath = new Set(), reached = new Set(), begun = new Set(causes.map((c) => place.get(c.stream)));
  for (const cause of causes) for (const path of cause.paths) path.forEach((name, k) => {
    reached.add(place.get(name));
    if (k) onPath.add(`${place.get(path[k - 1])}-${place.get(name)}`);
  });
  const small = plant.streams.length <= 30;
  let edges = plant.edges.filter(([a, b]) => small || onPath.has(`${a}-${b}`));
  const nodes = [...new Set([...edges.flat(), ...begun])];
  if (!nodes.length) {
    svg.toggleAttribute("hidden", true);
    byId("graph-text").textContent = plant.edges.length ? "No alarm: no cause is suspected." : "This method weighs no root causes; at an alarm the strongest streams are listed.";
    return;
  }
  svg.toggleAttribute("hidden", false);
  byId("graph-text").textContent = "";
  const depth = layers(nodes, edges), wide = 9 * Math.max(...nodes.map((i) => plant.streams[i].length)) + 20;
  const counts = new Map(), at = new Map();
  for (const i of nodes) {
    const level = depth.get(i), k = counts.get(level) || 0;
    counts.set(level, k + 1);
    at.set(i, [10 + level * (wide + 80), k]);
  }
  const tall = Math.max(...counts.values());
  for (const [i, [x, k]] of at) at.set(i, [x, 12 + (k + 0.5) * (tall / counts.get(depth.get(i))) * 50 - 16]);
  const width = 20 + (Math.max(...depth.values()) + 1) * (wide + 80) - 80, height = tall * 50 + 16;
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("width", width);
  const heads = element("defs", {});
  for (const kind of ["", "path"]) {
    const marker = element("marker", { id: `head${kind}`, viewBox: "0 0 10 10", refX: 9, refY: 5, markerWidth: 11, markerHeight: 11, markerUnits: "userSpaceOnUse", orient: "auto" });
    marker.append(element("path", { class: `head ${kind}`, d: "M0 0L10 5L0 10Z" }));
    heads.append(marker);
  }
  svg.append(heads);
  edges = [...edges].sort((e, f) => onPath.has(e.join("-")) - onPath.has(f.join("-")));
  for (const [a, b] of edges) {
    const [x1, y1] = at.get(a), [x2, y2] = at.get(b), kind = onPath.has(`${a}-${b}`) ? "path" : "";
    const from = x1 + wide, bend = Math.max(30, (x2 - from) / 2);
    svg.append(element("path", { class: `edge ${kind}`, "marker-end": `url(#head${kind})`, d: `M${from} ${y1 + 16}C${from + bend} ${y1 + 16} ${x2 - bend} ${y2 + 16} ${x2 - 2} ${y2 + 16}` }));
  }
  for (const [i, [x, y]] of at) {
    const node = element("g", { class: `node ${begun.has(i) ? "cause" : reached.has(i) ? "reached" : ""}` });
    node.append(element("rect", { x, y, width: wide, height: 32, rx: 6 }));
    node.append(element("text", { x: x + wide / 2, y: y + 21, "text-anchor": "middle" }, plant.streams[i]));
    svg.append(node);
  }
  const paths = causes.flatMap((c) => c.paths.map((path) => path.join(" causes ")));
  svg.setAttribute("aria-label", causes.length ? `Suspected: ${causes.map((c) => c.stream).join(", ")}. ${paths.join("; ")}` : "What causes what; no alarm");
}

function drawCauses() {
  const causes = alarm && alarm.causes ? alarm.causes.filter((c) => c.probability >= 0.01) : [];
  const shown = causes.length
    ? causes.map((c) => `${c.stream}: ${(100 * c.probability).toFixed(0)}%, shifted by ${c.shift.toFixed(1)} sd${c.paths.length ? `, by ${c.paths.map((p) => p.join(" → ")).join("; ")}` : ""}`)
    : alarm ? Object.entries(alarm.streams || {}).map(([name, x]) => `${name}: ${number(x)}`) : [];
  byId("causes").replaceChildren(...shown.map((text) => Object.assign(document.createElement("li"), { textContent: text })));
  drawGraph(causes);
}

function drawEvents() {
  const body = byId("events").tBodies[0];
  body.replaceChildren(...[...events].reverse().map((e) => {
    const line = document.createElement("tr");
    line.className = e.event.replace(" ", "-");
    cell(line, String(e.step), "number");
    cell(line, e.time === null ? "–" : String(e.time));
    cell(line, e.event);
    cell(line, e.alarm ? String(e.alarm) : "");
    cell(line, e.detail);
    return line;
  }));
}

let drawnEvents = -1;
addEventListener("resize", () => { changed = true; });
function draw() {
  if (changed && plant) {
    changed = false;
    const readings = rows.filter((r) => r.kind === "reading");
    drawStatus(readings);
    byId("next").replaceChildren(...next.map((name) => Object.assign(document.createElement("li"), { textContent: name })));
    drawStatistic(readings);
    drawSensors(readings);
    const stamp = events.length ? events[events.length - 1].step * 1000 + events.length : 0;
    if (stamp !== drawnEvents) { drawnEvents = stamp; drawCauses(); drawEvents(); }
  }
  setTimeout(draw, 200);
}

async function begin() {
  let found;
  try { found = await (await fetch("snapshot")).json(); } catch { setTimeout(begin, 2000); return; }
  plant = found.plant;
  rows = []; events = []; drawnEvents = -1;
  last.clear();
  byId("method").textContent = `${plant.method}, ${plant.streams.length} streams`;
  byId("commands").hidden = !found.commands;
  for (const record of [...found.rows, ...found.events]) take(record);
  ({ next, alarm, maintenance } = found);
  const source = new EventSource(`events?after=${found.number}`);
  source.onmessage = (message) => take(JSON.parse(message.data));
  // Another process answers: what it showed before is not what this page has.
  source.addEventListener("again", () => { source.close(); begin(); });
  source.onerror = () => { byId("status").textContent = "The connection is lost; trying again …"; };
}

byId("form").addEventListener("submit", async (event) => {
  event.preventDefault();
  const answer = await fetch("command", {
    method: "POST",
    headers: { Authorization: `Bearer ${byId("token").value}`, "Content-Type": "application/json" },
    body: JSON.stringify({ command: byId("command").value }),
  });
  const said = await answer.json();
  byId("answer").textContent = answer.ok ? `${said.taken}: taken; see the alarm log` : said.error;
});
begin();
draw();
