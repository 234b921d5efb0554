// The explorer of single graphs. figures/report/explorer.py packs its data and says in which field.
"use strict";

(() => {
  const stage = document.getElementById("stage");
  if (!stage) return;
  const field = document.getElementById("choice").elements;
  const tracePanel = document.getElementById("trace");
  const section = document.getElementById("explorer");
  const link = document.getElementById("link");
  const DATASETS = all("script[id^='data-']").map((element) => element.id.slice("data-".length));
  const GROUPS = [
    ["As the published comparison ran it", ["released"]],
    ["To the letter", ["literal"]],
    ["As each paper defines it, RSGG-CE by score function", ["faithful"]],
    ["Beyond the papers", ["beyond"]],
    ["Search", ["search"]],
    ["Controls", ["control"]],
  ];
  const GROUPED = GROUPS.flatMap(([, variants]) => variants);
  const SVG = "http://www.w3.org/2000/svg";
  const MARGIN = 12;
  const LEAF = 24; // at most so far from its node is a leaf that was added
  const ROOM = 36; // around graphs with labels, for leaves
  const MOST_WORDS = 8; // edits that are said in words
  const BEAT = 500; // milliseconds between two steps that play
  const PIXELS = 464; // about the side of a matrix, in device pixels

  // What is seen. The address holds all of it (`#explorer?d=asd&i=2&…`).
  // Methods are null until some are chosen: then those are seen that a data set begins with.
  const state = { dataset: DATASETS[0], instance: null, methods: null, view: "both", safe: false, trace: "", step: 0 };
  const unpacked = {};
  let data = null; // of state.dataset
  const NO_EDITS = [[], [], []]; // of nodes: [node, new label], [node, label of its new leaf], dropped nodes

  // -- Unpacking -----------------------------------------------------------------------------------------------

  async function load(name) {
    if (unpacked[name]) return unpacked[name];
    unpacked[name] = unpack(await uncompressed(document.getElementById(`data-${name}`).textContent));
    return unpacked[name];
  }

  function unpack(buffer) {
    const length = new DataView(buffer).getUint32(0, true);
    const found = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
    const body = new Uint8Array(buffer, 4 + length);
    const { n, instances } = found;
    let at = 0;
    const number = () => {
      let [value, shift] = [0, 0];
      for (;;) {
        const byte = body[at++];
        value |= (byte & 127) << shift;
        if (byte < 128) return value;
        shift += 7;
      }
    };
    const list = () => Uint32Array.from({ length: number() }, number);
    const sorted = () => {
      let last = 0;
      return list().map((gap) => (last += gap));
    };
    const slice = (count) => body.subarray(at, (at += count));
    const layouts = Array.from({ length: found.one_layout ? 1 : instances.length }, () => slice(2 * n));
    found.pairs = pairsOf(n);
    found.layouts = layouts;
    found.edges = instances.map(sorted);
    for (const row of found.rows) {
      row.key = `${row.method}:${row.variant}`;
      row.edits = instances.map(sorted);
    }
    for (const trace of found.traces) {
      trace.key = `${trace.method}:${trace.variant}`;
      trace.scores = slice((n * (n - 1)) / 2);
      trace.removed = sorted();
      trace.checked = list();
    }
    found.folds = [...new Set(found.fold)].sort((a, b) => a - b);
    return found;
  }

  // Pairs u ≤ v in the order of their numbers.
  function pairsOf(n) {
    const pairs = [];
    for (let u = 0; u < n; u++) for (let v = u; v < n; v++) pairs.push([u, v]);
    return pairs;
  }

  // -- Drawing -------------------------------------------------------------------------------------------------

  const ends = (pair) => data.pairs[pair];

  // The rows that are seen: those chosen, unless they are of other data, else those that a data set begins with.
  function methods() {
    const chosen = state.methods;
    const here = chosen && (!chosen.size || data.rows.some((row) => chosen.has(row.key)));
    return here ? chosen : new Set(data.first);
  }

  // An input and what became of it: pairs [u, v] by what happened to them, and the edits of nodes. The leaves that were
  // added have the numbers after those of the nodes.
  function parts(position, edits, nodes = NO_EDITS) {
    const [before, changed] = [data.edges[position], new Set(edits)];
    const [, leaves, dropped] = nodes;
    const goes = (pair) => changed.has(pair) || ends(pair).some((node) => dropped.includes(node));
    const isEdge = new Set(before);
    return {
      kept: [...before].filter((pair) => !goes(pair)).map(ends),
      removed: [...before].filter(goes).map(ends),
      added: [...edits].filter((pair) => !isEdge.has(pair)).map(ends).concat(leaves.map(([node], i) => [node, data.nodes[position] + i])),
      nodes,
    };
  }

  function element(name, attributes = {}, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  }

  function graph(position, drawn, now = null) {
    const labelled = data.labels.length > 0;
    const size = data.nodes[position];
    const places = placesOf(position, drawn);
    const svg = document.createElementNS(SVG, "svg");
    const add = (name, attributes, text = "") => {
      const made = document.createElementNS(SVG, name);
      for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
      made.append(text);
      svg.append(made);
      return made;
    };
    const margin = data.real ? ROOM : MARGIN;
    const below = data.real ? places.slice(0, size).map(([, y]) => y) : [0, 255]; // wide graphs are shown without room above
    const [top, high] = [Math.min(...below) - margin, Math.max(...below) - Math.min(...below) + 2 * margin];
    svg.setAttribute("viewBox", `${-margin} ${top} ${255 + 2 * margin} ${high}`);
    svg.style.aspectRatio = `${255 + 2 * margin} / ${high}`;
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", `${drawn.kept.length} edges kept, ${drawn.added.length} added, ${drawn.removed.length} removed`);
    svg.classList.toggle("large", size > 60);
    svg.classList.toggle("crowded", size > 60 && drawn.added.length + drawn.removed.length > 300);
    if (labelled) bonds(position, drawn, places, add);
    for (const kind of ["kept", "removed", "added"]) {
      if (drawn[kind].length) add("path", { class: kind, d: drawn[kind].map((pair) => line(places, pair)).join("") });
    }
    if (now !== null) add("path", { class: `${now.kind} now`, d: line(places, ends(now.pair)) });
    const radius = labelled ? Math.max(3, Math.min(10.5, 0.36 * edgeLength(position))) : size > 60 ? 1.6 : 4;
    places.forEach(([x, y], node) => {
      const { name, colour, kind } = labelOf(position, drawn.nodes, node);
      const circle = add("circle", { cx: x, cy: y, r: radius, "data-node": node });
      if (kind) circle.classList.add(kind);
      if (colour) circle.style.fill = colour;
      const title = document.createElementNS(SVG, "title");
      title.textContent = `node ${node}${name && `, ${name}`}`;
      circle.append(title);
      if (name && radius > 4) add("text", { x, y, class: kind ? "atom edited" : "atom", "font-size": radius * (name.length > 1 ? 1.1 : 1.35) }, name);
    });
    return svg;
  }

  // The median length of the input's edges, as they are drawn.
  function edgeLength(position) {
    const layout = data.layouts[data.one_layout ? 0 : position];
    const lengths = [...data.edges[position]].map(ends).map(([u, v]) => Math.hypot(layout[2 * u] - layout[2 * v], layout[2 * u + 1] - layout[2 * v + 1]));
    return lengths.length ? lengths.sort((a, b) => a - b)[lengths.length >> 1] : LEAF;
  }

  // Where nodes are drawn, [x, y], then the leaves that were added: each in the widest gap between the neighbours of its node.
  function placesOf(position, drawn) {
    const layout = data.layouts[data.one_layout ? 0 : position];
    const places = Array.from({ length: data.nodes[position] }, (_, node) => [layout[2 * node], layout[2 * node + 1]]);
    const [, leaves] = drawn.nodes;
    const long = Math.min(LEAF, edgeLength(position));
    const beside = (node) => drawn.kept.flatMap(([u, v]) => (u === node ? [v] : v === node ? [u] : []));
    const around = new Map(leaves.map(([node]) => [node, beside(node).map((other) => Math.atan2(places[other][1] - places[node][1], places[other][0] - places[node][0]))]));
    for (const [node] of leaves) {
      const angles = around.get(node).sort((a, b) => a - b);
      const gaps = angles.map((angle, i) => (i + 1 < angles.length ? angles[i + 1] : angles[0] + 2 * Math.PI) - angle);
      const widest = Math.max(...gaps);
      const angle = angles.length ? angles[gaps.indexOf(widest)] + widest / 2 : 0;
      places.push([places[node][0] + long * Math.cos(angle), places[node][1] + long * Math.sin(angle)].map((x) => Math.round(10 * x) / 10));
      angles.push(Math.atan2(Math.sin(angle), Math.cos(angle)));
    }
    return places;
  }

  // The label of a node after the edits, the colour behind it, and what was done to the node.
  function labelOf(position, [relabelled, leaves, dropped], node) {
    const size = data.nodes[position];
    const changed = relabelled.find(([one]) => one === node);
    const kind = node >= size ? "leaf" : changed ? "relabelled" : dropped.includes(node) ? "dropped" : "";
    if (!data.labels.length) return { name: "", colour: "", kind };
    const label = node >= size ? leaves[node - size][1] : changed ? changed[1] : data.node_labels[position][node];
    return { name: data.labels[label], colour: data.colours[label], kind };
  }

  // The further lines of double, triple and aromatic bonds that are kept, on the side where their neighbours are.
  function bonds(position, drawn, places, add) {
    const orders = data.bonds[position];
    if (!orders || data.nodes[position] > 60) return;
    const kept = new Set(drawn.kept);
    const lines = { 2: [], 4: [] };
    [...data.edges[position]].map(ends).forEach((pair, i) => {
      if (orders[i] === "1" || !kept.has(pair)) return;
      const [[x1, y1], [x2, y2]] = pair.map((node) => places[node]);
      const long = Math.hypot(x2 - x1, y2 - y1) || 1;
      const [dx, dy] = [(y1 - y2) / long, (x2 - x1) / long];
      const others = drawn.kept.flatMap(([u, v]) => (pair.includes(u) === pair.includes(v) ? [] : [places[pair.includes(u) ? v : u]]));
      const side = others.reduce((sum, [x, y]) => sum + (x - x1) * dx + (y - y1) * dy, 0) < 0 ? -1 : 1;
      const shifted = (by) => `M${x1 + by * dx} ${y1 + by * dy}L${x2 + by * dx} ${y2 + by * dy}`;
      lines[orders[i] === "4" ? 4 : 2].push(shifted(3.5 * side), ...(orders[i] === "3" ? [shifted(-3.5 * side)] : []));
    });
    for (const [order, found] of Object.entries(lines)) {
      if (found.length) add("path", { class: order === "4" ? "order aromatic" : "order", d: found.join("") });
    }
  }

  // A straight line, or a ring above the node for a self loop.
  function line(places, [u, v]) {
    const [x, y] = places[u];
    return u === v ? `M${x} ${y}a5 5 0 1 1 .1 0` : `M${x} ${y}L${places[v][0]} ${places[v][1]}`;
  }

  function canvasOf(size, label) {
    const scale = Math.max(1, Math.round(PIXELS / size));
    const canvas = element("canvas", { width: size * scale, height: size * scale, role: "img", "aria-label": label });
    const pen = canvas.getContext("2d");
    const fill = ([u, v]) => {
      pen.fillRect(v * scale, u * scale, scale, scale);
      pen.fillRect(u * scale, v * scale, scale, scale);
    };
    return { canvas, pen, fill };
  }

  // As many rows and columns as the graph has nodes, leaves that were added included.
  function matrix(position, drawn) {
    const { canvas, pen, fill } = canvasOf(data.nodes[position] + drawn.nodes[1].length, "adjacency matrix");
    const colours = getComputedStyle(root);
    pen.fillStyle = colours.getPropertyValue("--blank");
    pen.fillRect(0, 0, canvas.width, canvas.height);
    for (const [kind, name] of [["kept", "--pixel"], ["added", "--added"], ["removed", "--removed"]]) {
      pen.fillStyle = colours.getPropertyValue(name);
      drawn[kind].forEach(fill);
    }
    return canvas;
  }

  // A_g: the darker, the more likely the generator deems the pair to be an edge.
  function heat(position, scores) {
    const size = data.nodes[position];
    const { canvas, pen, fill } = canvasOf(size, "edge scores of the generator");
    const [ground, ink] = ["--blank", "--pixel"].map((name) => getComputedStyle(root).getPropertyValue(name));
    pen.fillStyle = ground;
    pen.fillRect(0, 0, canvas.width, canvas.height);
    pen.fillStyle = ink;
    let at = 0;
    for (const [u, v] of data.pairs) {
      if (u === v) continue;
      pen.globalAlpha = scores[at++] / 255;
      if (v < size) fill([u, v]);
    }
    return canvas;
  }

  function pictures(position, drawn) {
    const shown = [];
    if (state.view !== "matrix") shown.push(graph(position, drawn));
    if (state.view === "edits") shown[0].classList.add("only-edits");
    if (["both", "matrix"].includes(state.view)) shown.push(matrix(position, drawn));
    return shown;
  }

  function facts(lines) {
    const list = element("dl");
    for (const [name, value] of lines) {
      if (value !== null) list.append(element("dt", {}, name), element("dd", {}, String(value)));
    }
    return list;
  }

  const className = (number) => `${number} (${data.classes[number]})`;
  const known = (number, shown = String) => (number < 0 ? null : shown(number));

  function inputCard(position) {
    const drawn = parts(position, []);
    const card = element("article", { class: "card", "data-row": "input", "data-instance": data.instances[position] });
    card.append(element("header", {}, element("h4", {}, "Input"), element("span", { class: "badge" }, `graph ${data.instances[position]}, fold ${data.fold[position]}`)));
    card.append(...pictures(position, drawn));
    card.append(facts([
      ["oracle’s class", className(data.predicted[position])],
      ["true class", className(data.truth[position])],
      ["nodes, edges", `${data.nodes[position]}, ${drawn.kept.length}`],
      ["fewest edits known", known(data.optimum[position])],
    ]));
    return card;
  }

  function milliseconds(microseconds) {
    return microseconds < 1000 ? `${(microseconds / 1000).toFixed(2)} ms` : microseconds < 1e6 ? `${(microseconds / 1000).toFixed(0)} ms` : `${(microseconds / 1e6).toFixed(1)} s`;
  }

  function rowCard(row, position) {
    const nodes = row.node_edits ? row.node_edits[position] : NO_EDITS;
    const drawn = parts(position, row.edits[position], nodes);
    const [before, after] = [data.predicted[position], row.predicted_cf[position]];
    const valid = row.found[position] === 1 && before !== after;
    const card = element("article", { class: "card", "data-row": row.key, "data-instance": data.instances[position], "data-valid": valid });
    const head = element("header", {}, element("h4", {}, row.label));
    card.append(head);
    if (after < 0) {
      head.append(element("span", { class: "badge" }, "not stored"));
      return card;
    }
    head.append(element("span", { class: `badge ${valid ? "good" : "bad"}` }, valid ? "counterfactual" : row.found[position] ? "class unchanged" : "none found"));
    card.append(...pictures(position, drawn));
    card.append(facts([
      ["oracle’s class", row.found[position] ? `${before} → ${after}` : `${before}`],
      ["GED", row.ged[position]],
      ["edges added, removed", `${drawn.added.length}, ${drawn.removed.length}`],
      ["plausibility", row.plausibility ? known(row.plausibility[position], (value) => value.toFixed(2)) : null],
      [rulesAsked(row, position), row.feasible ? known(row.feasible[position], (value) => (value ? "kept" : "broken")) : null],
      ["oracle calls", known(row.calls[position])],
      ["calls to fit the fold", known(row.fit_calls[position])],
      ["time to explain", known(row.microseconds[position], milliseconds)],
    ]));
    const said = inWords(position, drawn);
    if (said) card.append(element("p", { class: "note", "data-words": "" }, said));
    const reason = row.reasons[row.reason[position]];
    if (reason) card.append(element("p", { class: "note" }, sentence(reason)));
    return card;
  }

  // Of molecules, the rules have valences among them, unless the row edits atoms: that is not asked then.
  function rulesAsked(row, position) {
    const asked = row.sanitised && row.sanitised[position] >= 0;
    return data.atoms && !asked ? "rules, valences aside" : "rules of the domain";
  }

  // Few edits as a sentence, such as "Remove C3–C5; node 3 becomes N instead of C; a leaf Cl is added to node 4."
  function inWords(position, drawn) {
    const [relabelled, leaves, dropped] = drawn.nodes;
    const name = (label) => (data.labels.length ? ` ${data.labels[label]}` : "");
    const was = (node) => (data.labels.length ? data.labels[data.node_labels[position][node]] : "");
    const pairs = (list) => list.map((pair) => pair.map((node) => `${data.atoms ? was(node) : ""}${node}`).join("–")).join(", ");
    const isOld = ([u, v]) => Math.max(u, v) < data.nodes[position];
    const removed = drawn.removed.filter((pair) => !pair.some((node) => dropped.includes(node)));
    const added = drawn.added.filter(isOld);
    if (removed.length + added.length + relabelled.length + leaves.length + dropped.length > MOST_WORDS) return "";
    const said = [
      ...(removed.length ? [`remove ${pairs(removed)}`] : []),
      ...(added.length ? [`add ${pairs(added)}`] : []),
      ...relabelled.map(([node, label]) => `node ${node} becomes${name(label)} instead of ${was(node)}`),
      ...leaves.map(([node, label]) => `a leaf${name(label)} is added to node ${node}`),
      ...dropped.map((node) => `node ${node}${was(node) && ` (${was(node)})`} is dropped`),
    ].join("; ");
    return said && sentence(said);
  }

  function sentence(words) {
    return `${words[0].toUpperCase()}${words.slice(1)}.`;
  }

  // -- The sampling, step by step --------------------------------------------------------------------------------

  function showTrace(position) {
    const here = data.traces.filter((trace) => trace.instance === data.instances[position]);
    tracePanel.hidden = data.real; // of real data no sampling is traced
    tracePanel.replaceChildren(element("h3", {}, "RSGG-CE’s sampling, step by step"));
    if (!here.length) {
      tracePanel.append(noTrace());
      return;
    }
    const trace = here.find((one) => one.key === state.trace) || here[0];
    state.trace = trace.key;
    const last = trace.removed.length + trace.checked.length;
    state.step = Math.max(0, Math.min(state.step, last));
    const card = element("div", { class: "card", "data-step": state.step, "data-steps": last });
    card.append(traceControls(here, trace, last), element("output", {}, told(trace, state.step)));
    const drawn = stepped(trace, position, state.step);
    const views = element("div", { class: "views" });
    const captioned = (picture, text) => views.append(element("figure", {}, picture, element("figcaption", {}, text)));
    captioned(graph(position, drawn, edited(trace, state.step)), "the graph so far");
    captioned(matrix(position, drawn), "as a matrix");
    captioned(heat(position, trace.scores), "A_g, the generator’s edge scores: darker is likelier");
    card.append(views);
    tracePanel.append(card);
  }

  function noTrace() {
    const missing = element("p", { class: "note" }, "No trace of the sampling is stored for this graph. ");
    const other = data.traces[0];
    if (other) {
      const position = data.instances.indexOf(other.instance);
      const button = element("button", { type: "button", "data-go": other.instance }, `Fold ${data.fold[position]} has one`);
      button.addEventListener("click", () => go(position));
      missing.append(button);
    } else {
      missing.append(element("code", {}, `./reproduce.sh traces --datasets ${data.name} --folds 0`), " makes those of a fold.");
    }
    return missing;
  }

  function traceControls(here, trace, last) {
    const controls = element("div", { class: "steps" });
    const select = element("select", { "aria-label": "Which generator" });
    for (const one of here) {
      const row = data.rows.find((candidate) => candidate.key === one.key);
      const option = element("option", { value: one.key }, row ? row.label : one.key);
      option.selected = one === trace;
      select.append(option);
    }
    select.addEventListener("change", () => change({ trace: select.value, step: 0 }, "select"));
    const button = (sign, name, step) => {
      const made = element("button", { type: "button", "aria-label": name, "data-to": name }, sign);
      made.disabled = step < 0 || step > last || step === state.step;
      made.addEventListener("click", () => change({ step }, `[data-to="${name}"]`));
      return made;
    };
    const play = element("button", { type: "button", "data-to": "play", "aria-label": playing ? "pause" : "play" }, playing ? "❚❚" : "▶");
    play.addEventListener("click", () => (playing ? pause() : playOn(last)));
    const slider = element("input", { type: "range", min: 0, max: last, "aria-label": "Step" });
    slider.value = state.step;
    slider.addEventListener("input", () => change({ step: Number(slider.value) }, "input"));
    controls.append(select, play, button("«", "first step", 0), button("‹", "step back", state.step - 1), slider, button("›", "step on", state.step + 1), button("»", "last step", last));
    return controls;
  }

  // Steps follow each other until the last one, or until something else is chosen.
  let playing = 0;

  function playOn(last) {
    const first = state.step >= last ? 0 : state.step;
    playing = setInterval(() => (state.step < last ? change({ step: state.step + 1 }, '[data-to="play"]') : pause()), BEAT);
    change({ step: first }, '[data-to="play"]');
  }

  function pause() {
    clearInterval(playing);
    playing = 0;
    change({}, '[data-to="play"]');
  }

  // The pair that the last step dealt with.
  function edited(trace, step) {
    if (!step) return null;
    const left = trace.removed.length;
    return step <= left ? { kind: "removed", pair: trace.removed[step - 1] } : { kind: "added", pair: trace.checked[step - 1 - left] };
  }

  function stepped(trace, position, step) {
    const left = trace.removed.length;
    const out = new Set(trace.removed.slice(0, step));
    const into = new Set(trace.checked.slice(0, Math.max(0, step - left)));
    const edges = new Set(data.edges[position]);
    return {
      kept: [...edges].filter((pair) => !out.has(pair) || into.has(pair)).map(ends),
      removed: [...out].filter((pair) => !into.has(pair)).map(ends),
      added: [...into].filter((pair) => !edges.has(pair)).map(ends),
      nodes: NO_EDITS,
    };
  }

  function told(trace, step) {
    const [left, last] = [trace.removed.length, trace.removed.length + trace.checked.length];
    const count = `Step ${step} of ${last}. `;
    const ends = trace.found ? "the class has changed, and this graph is the counterfactual." : "the class is still the same: none was found.";
    if (!step) return `${count}The input. ${left} of its edges will not be drawn${trace.checked.length ? `, and ${trace.checked.length} pairs will be added` : ""}; ${trace.calls} oracle calls in all.${last ? "" : ` Every edge was drawn; ${ends}`}`;
    const { kind, pair } = edited(trace, step);
    const [u, v] = data.pairs[pair];
    const score = u === v ? "" : ` (score ${(trace.scores[pair - u - 1] / 255).toFixed(2)})`;
    if (kind === "removed") {
      const asked = step < left ? "" : trace.checked.length ? " All edges are visited; the oracle is asked, and the class is still the same." : ` All edges are visited; the oracle is asked: ${ends}`;
      return `${count}Edge ${u}–${v}${score} is not drawn and is left out, without a check.${asked}`;
    }
    return `${count}Pair ${u}–${v}${score} is drawn and added; the oracle is asked: ${step < last ? "the class is still the same." : ends}`;
  }

  // -- Choosing ------------------------------------------------------------------------------------------------

  const positionOf = (instance) => Math.max(0, data.instances.indexOf(instance));

  function go(position) {
    clearInterval(playing);
    playing = 0;
    return change({ instance: data.instances[position], step: 0 });
  }

  function move(graphs, folds) {
    const position = positionOf(state.instance);
    if (graphs) go((position + graphs + data.instances.length) % data.instances.length);
    if (folds) goToFold(data.folds[(data.folds.indexOf(data.fold[position]) + folds + data.folds.length) % data.folds.length]);
  }

  function goToFold(fold) {
    go(data.fold.indexOf(fold));
  }

  // Graphs that are worth a look, of the methods that are shown: those that some explain and others do not, those where
  // the edits of two differ most, and those where even the fewest are many. The most telling first.
  function worthALook(kind) {
    const shown = data.rows.filter((row) => methods().has(row.key));
    const explains = (row, i) => row.found[i] === 1 && row.predicted_cf[i] !== data.predicted[i];
    const telling = data.instances.map((_, i) => {
      const edits = shown.filter((row) => explains(row, i)).map((row) => row.ged[i]);
      const failed = shown.filter((row) => row.predicted_cf[i] >= 0).length - edits.length;
      if (kind === "split") return edits.length && failed ? Math.min(edits.length, failed) : 0;
      if (!edits.length) return 0;
      return kind === "gap" ? Math.max(...edits) - Math.min(...edits) : Math.min(...edits);
    });
    return [...telling.keys()].filter((i) => telling[i] > 0).sort((a, b) => telling[b] - telling[a] || a - b);
  }

  let jumped = ""; // what was looked for, and the graph that was found: from there it goes on, from elsewhere it begins anew

  async function jump() {
    const kind = field.telling.value;
    const found = worthALook(kind);
    const next = jumped === `${kind} ${state.instance}` ? (found.indexOf(positionOf(state.instance)) + 1) % found.length : 0;
    if (found.length) await go(found[next]);
    jumped = `${kind} ${state.instance}`;
    document.getElementById("which").textContent = found.length
      ? `${next + 1} of ${found.length} such graphs.` : "No graph is like that for the methods that are shown.";
  }

  // Change what is seen; `focus` is what in the panel of steps shall have the focus again after it was drawn anew.
  async function change(changes, focus = "") {
    Object.assign(state, changes);
    await show();
    history.replaceState(null, "", link.getAttribute("href"));
    if (focus && tracePanel.querySelector(focus)) tracePanel.querySelector(focus).focus();
  }

  async function show() {
    const wanted = state.dataset;
    data = await load(wanted);
    if (wanted !== state.dataset) return;
    if (!data.instances.includes(state.instance)) state.instance = data.instances[0];
    const position = positionOf(state.instance);
    root.classList.toggle("safe", state.safe);
    fillForm(position);
    const chosen = data.rows.filter((row) => methods().has(row.key));
    stage.replaceChildren(inputCard(position), ...chosen.map((row) => rowCard(row, position)));
    stage.dataset.instance = state.instance;
    showTrace(position);
    link.href = address();
  }

  function options(select, values, labels, chosen) {
    select.replaceChildren(...values.map((value, i) => element("option", { value }, labels[i])));
    select.value = chosen;
  }

  function fillForm(position) {
    const fold = data.fold[position];
    const inFold = data.instances.filter((_, i) => data.fold[i] === fold);
    const described = inFold.map((instance) => `${instance}, ${data.classes[data.predicted[positionOf(instance)]]}`);
    options(field.data, DATASETS, DATASETS.map((name) => document.getElementById(`data-${name}`).dataset.label), state.dataset);
    options(field.fold, data.folds, data.folds, fold);
    options(field.instance, inFold, described, state.instance);
    field.view.value = state.view;
    field.safe.checked = state.safe;
    document.getElementById("which").textContent = data.note;
    for (const key of all(".legend .of-nodes")) key.hidden = !data.rows.some((row) => row.node_edits);
    fillMethods();
  }

  function fillMethods() {
    const box = document.querySelector("#methods div");
    const count = data.rows.filter((row) => methods().has(row.key)).length;
    document.querySelector("#methods summary").textContent = `Methods: ${count} of ${data.rows.length} shown`;
    if (box.dataset.of !== data.name) {
      box.dataset.of = data.name;
      box.replaceChildren(...GROUPS.map(([title, variants]) => methodGroup(title, data.rows.filter((row) => variants.includes(row.variant)))));
      const others = data.rows.filter((row) => !GROUPED.includes(row.variant));
      if (others.length) box.append(methodGroup("From outside the project", others));
      if (data.missing.length) box.append(element("p", { class: "note" }, `Not stored: ${data.missing.join(", ")}.`));
    }
    for (const check of all("input", box)) check.checked = methods().has(check.value);
  }

  function methodGroup(title, rows) {
    const group = element("fieldset", {}, element("legend", {}, title));
    for (const row of rows) {
      const check = element("input", { type: "checkbox", value: row.key });
      check.addEventListener("change", () => toggle([row.key], check.checked));
      group.append(element("label", {}, check, row.label));
    }
    const every = element("button", { type: "button" }, "all / none");
    every.addEventListener("click", () => toggle(rows.map((row) => row.key), !rows.every((row) => methods().has(row.key))));
    group.append(every);
    return group;
  }

  function toggle(keys, shown) {
    const chosen = new Set(methods());
    keys.forEach((key) => (shown ? chosen.add(key) : chosen.delete(key)));
    change({ methods: chosen });
  }

  // -- The address ---------------------------------------------------------------------------------------------

  function address() {
    const shown = data.rows.map((row) => row.key).filter((key) => methods().has(key));
    const said = new URLSearchParams({ d: state.dataset, i: state.instance, v: state.view });
    if (state.methods) said.set("m", shown.join(" "));
    if (state.safe) said.set("c", "safe");
    if (state.trace && data.traces.length) said.set("t", state.trace);
    if (state.step) said.set("s", state.step);
    return `#explorer?${said}`;
  }

  function restore() {
    const said = new URLSearchParams(location.hash.split("?")[1] || "");
    if (DATASETS.includes(said.get("d"))) state.dataset = said.get("d");
    if (said.has("i")) state.instance = Number(said.get("i"));
    if (said.has("m")) state.methods = new Set(said.get("m").split(" ").filter(Boolean));
    if (["both", "graph", "edits", "matrix"].includes(said.get("v"))) state.view = said.get("v");
    state.safe = said.get("c") === "safe";
    state.trace = said.get("t") || "";
    state.step = Number(said.get("s")) || 0;
  }

  // -- Listening -----------------------------------------------------------------------------------------------

  field.data.addEventListener("change", () => change({ dataset: field.data.value, instance: null, step: 0 }));
  field.fold.addEventListener("change", () => goToFold(Number(field.fold.value)));
  field.instance.addEventListener("change", () => change({ instance: Number(field.instance.value), step: 0 }));
  field.view.addEventListener("change", () => change({ view: field.view.value }));
  field.safe.addEventListener("change", () => change({ safe: field.safe.checked }));
  field.previous.addEventListener("click", () => move(-1, 0));
  field.next.addEventListener("click", () => move(1, 0));
  field.jump.addEventListener("click", jump);

  const KEYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  const STEP_KEYS = { "[": -1, "]": 1 };

  section.addEventListener("keydown", (event) => {
    const busy = event.target.matches("select, input:not([type=checkbox])");
    if (!data || event.altKey || event.ctrlKey || event.metaKey) return;
    if (KEYS[event.key] && !busy) {
      event.preventDefault();
      move(...KEYS[event.key]);
    } else if (STEP_KEYS[event.key]) {
      change({ step: state.step + STEP_KEYS[event.key] });
    }
  });

  document.addEventListener("colours", () => data && show());
  const isOurs = () => location.hash.startsWith("#explorer?");
  addEventListener("hashchange", () => {
    if (!isOurs()) return;
    restore();
    show();
    section.scrollIntoView();
  });

  // Unpacked only when it comes into sight, so that the page is there at once.
  function start() {
    if (typeof DecompressionStream === "undefined") {
      stage.replaceChildren(element("p", { class: "note" }, "This browser cannot unpack the data; a newer one can."));
      return;
    }
    show().catch((error) => {
      stage.replaceChildren(element("p", { class: "note" }, `The data could not be unpacked: ${error.message}`));
    });
  }

  if (isOurs()) {
    restore();
    start();
    section.scrollIntoView();
  } else {
    const watch = new IntersectionObserver((seen) => {
      if (seen.some((one) => one.isIntersecting)) {
        watch.disconnect();
        start();
      }
    }, { rootMargin: "600px" });
    watch.observe(section);
  }
})();
