// One view of the page: the table, the graph, the details of a model, the look back. Everything that it shows comes from
// the certificate in the element "data". Every text is set as text, never as markup, because names may contain markup.
"use strict";

const SVG = "http://www.w3.org/2000/svg";
const MOST_THEN = 60; // with more models the look back shows counts only
const MOST_LISTED = 60; // per list beside a chosen model

const byId = (id) => document.getElementById(id);
const all = (selector) => [...document.querySelectorAll(selector)];

function make(tag, text, kind) {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
  if (kind) element.className = kind;
  return element;
}

function draw(tag, attributes) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

// Makes the view that is on the page interactive. What is listened to outside its elements ends with the signal.
function showPanel({ doc, data, panel, signal }) {
  const { decimals, step } = data;
  const { order, labels } = panel;
  const size = order.length;
  const byPair = Boolean(doc.edges); // with very many models there are counts only
  const names = order.map((i) => doc.models[i].name);
  const place = new Map(names.map((name, i) => [name, i]));
  const logE = (a, b) => doc.log_e[order[a]][order[b]];
  const margin = (a, b) => doc.margins[order[a]][order[b]];

  // Edges by place, and everything that follows from them.
  function closure(edges, models) {
    const reach = Array.from({ length: models }, () => new Uint8Array(models));
    for (const [a, b] of edges) reach[a][b] = 1;
    for (let via = 0; via < models; via++) {
      for (let a = 0; a < models; a++) {
        if (!reach[a][via]) continue;
        const from = reach[a], over = reach[via];
        for (let b = 0; b < models; b++) from[b] |= over[b];
      }
    }
    return reach;
  }
  const listed = ((data.shown === "current" ? doc.edges : doc.standing_edges) || [])
    .map((edge) => [place.get(edge.winner), place.get(edge.loser), edge]);
  const direct = new Map(listed.map(([a, b, edge]) => [a * size + b, edge]));
  const reach = byPair ? closure(listed, size) : [];
  const above = (a, b) => reach[a][b] && !reach[b][a];
  const prospects = new Map((doc.outlook || []).map((each) => {
    const a = place.get(each.ahead), b = place.get(each.behind);
    return [Math.min(a, b) * size + Math.max(a, b), each];
  }));

  // Numbers as in the tables: bounds are rounded outward.
  const scale = 10 ** decimals;
  const atLeast = (value) => (Math.floor(value * scale) / scale).toFixed(decimals);
  const signed = (text) => (text.startsWith("-") ? text : `+${text}`);
  const atMost = (value) => (Math.ceil(value * scale) / scale).toFixed(decimals);
  const rankText = ([best, worst]) => (best === worst ? `${best}` : `${best}-${worst}`);
  const count = (number, thing) => `${number.toLocaleString("en")} ${thing}${number === 1 ? "" : "s"}`;

  function ranks(reached) {
    return names.map((_, i) => {
      let over = 0, under = 0;
      for (let j = 0; j < size; j++) {
        if (reached[j][i] && !reached[i][j]) over++;
        if (reached[i][j] && !reached[j][i]) under++;
      }
      return [1 + over, size - under];
    });
  }
  const intervals = byPair ? ranks(reach) : [];

  // Edges on the longest way from a to b: each of them proves a difference above tau.
  const children = names.map(() => []);
  for (const [a, b] of listed) children[a].push(b);
  const lengths = new Map();
  function longest(a, b) {
    const key = a * size + b;
    if (!lengths.has(key)) {
      lengths.set(key, 1); // a cycle would ask again; it proves nothing, and counts as one edge
      const ways = children[a].map((via) => (via === b || !above(via, b) ? 1 : 1 + longest(via, b)));
      lengths.set(key, Math.max(1, ...ways));
    }
    return lengths.get(key);
  }

  function lead(a, b) {
    const known = step && !doc.contradictions.length ? longest(a, b) * step : step;
    const bound = margin(a, b);
    if (bound !== null && bound > known && atLeast(bound) !== atLeast(known)) return `\u2265 ${atLeast(bound)}`;
    return `> ${known ? atLeast(known) : 0}`;
  }

  function proof(a, b) {
    const edge = direct.get(a * size + b);
    const parts = [`better by ${lead(a, b)}`];
    if (logE(a, b) !== null) parts.push(`log\u00a0e\u00a0${logE(a, b).toFixed(2)}`);
    parts.push(edge ? `certified at replicate\u00a0${edge.first_certified}` : "follows from other comparisons");
    return parts.join(" \u00b7 ");
  }

  function doubt(a, b) {
    const tested = [logE(a, b), logE(b, a)].filter((value) => value !== null);
    if (!tested.length) return "not tested by this design";
    const parts = [];
    if (margin(a, b) !== null && margin(b, a) !== null) {
      parts.push(`difference ${signed(atLeast(margin(a, b)))} to ${signed(atMost(-margin(b, a)))}`);
    }
    const prospect = prospects.get(Math.min(a, b) * size + Math.max(a, b));
    if (doc.log_threshold) {
      const most = Math.max(0, ...tested), limit = prospect ? prospect.log_threshold : doc.log_threshold;
      const share = most ? Math.min(99, Math.round((100 * most) / limit)) : 0;
      parts.push(`evidence ${share} % of the threshold`);
    }
    return parts.join(" \u00b7 ");
  }

  // The chosen model: pointed at, focused, or kept.
  const root = document.documentElement;
  const marked = all("[data-model]"), joined = all("[data-a]");
  let chosen = null, kept = null;

  function choose(model) {
    if (model === chosen) return;
    chosen = model;
    root.classList.toggle("choosing", model !== null);
    const relation = (i) => (model === null || i === model ? null : above(model, i) ? "under" : above(i, model) ? "over" : "open");
    for (const element of marked) {
      const i = Number(element.dataset.model), is = relation(i);
      element.classList.toggle("is-chosen", i === model);
      element.classList.toggle("is-under", is === "under");
      element.classList.toggle("is-over", is === "over");
      if (element.tagName === "TR") mark(element, is);
    }
    for (const element of joined) {
      const a = Number(element.dataset.a), b = Number(element.dataset.b);
      element.classList.toggle("is-chosen", a === model || b === model);
      element.classList.toggle("is-under", model !== null && (a === model || above(model, a)) && above(model, b));
      element.classList.toggle("is-over", model !== null && above(a, model) && (b === model || above(b, model)));
    }
    band(model);
    tell(model);
  }

  const SIGNS = { under: ["\u25bc", "loses to the selected model"], over: ["\u25b2", "beats the selected model"], open: ["\u25cb", "open"] };
  function mark(row, is) {
    const [sign, words] = SIGNS[is] || ["", ""];
    const cell = row.querySelector(".sign");
    cell.textContent = sign;
    cell.title = words;
  }

  function tell(model) {
    const about = byId("about");
    if (model === null) return;
    const groups = { under: [], over: [], open: [] };
    for (let i = 0; i < size; i++) {
      if (i !== model) groups[above(model, i) ? "under" : above(i, model) ? "over" : "open"].push(i);
    }
    const said = (kind) => byRow(model).querySelector(kind).textContent; // as in the table, to the last digit
    const title = make("h3");
    const name = make("bdi", byRow(model).querySelector("button").title);
    title.append(name);
    const mean = doc.models[order[model]].mean === null ? "" : ` \u00b7 mean ${said(".mean")}`;
    about.replaceChildren(title, make("p", `rank ${said(".rank")} of ${size}${mean}`, "quiet"));
    list(about, "above", `Beats ${groups.under.length}`, groups.under, (i) => proof(model, i));
    list(about, "below", `Loses to ${groups.over.length}`, groups.over, (i) => proof(i, model));
    list(about, "open", `Open against ${groups.open.length}`, groups.open, (i) => doubt(model, i));
    byId("detail").scrollTop = 0;
    byId("spoken").textContent =
      `${labels[model]}: rank ${rankText(intervals[model])}, beats ${groups.under.length}, ` +
      `loses to ${groups.over.length}, open against ${groups.open.length}.`;
  }

  function list(about, kind, title, models, words) {
    if (!models.length) return;
    about.append(make("h4", `${SIGNS[{ above: "under", below: "over", open: "open" }[kind]][0]} ${title}`, kind));
    const lines = make("ul");
    for (const i of models.slice(0, MOST_LISTED)) {
      const line = make("li");
      line.append(make("bdi", labels[i]), make("span", words(i)));
      lines.append(line);
    }
    if (models.length > MOST_LISTED) lines.append(make("li", `and ${count(models.length - MOST_LISTED, "more model")}`));
    about.append(lines);
  }

  const rows = all(".ranking tbody tr");
  const byRow = (model) => rows[model];
  const settle = () => choose(kept);

  function keep(model) {
    const before = kept;
    kept = kept === model ? null : model;
    for (const i of [before, model]) {
      if (i !== null) byRow(i).querySelector("button").setAttribute("aria-pressed", String(i === kept));
    }
    chosen = undefined;
    choose(kept);
    if (kept === null) byId("about").replaceChildren(make("p", hint, "quiet"));
    else uncover(byRow(kept));
  }

  // On a small screen the details lie over the page: the row that they are about must not be under them.
  function uncover(row) {
    const panel = byId("detail").getBoundingClientRect(), under = row.getBoundingClientRect().bottom - panel.top + 12;
    if (getComputedStyle(byId("detail")).position === "fixed" && under > 0) scrollBy(0, under);
  }
  const hint = byId("about")?.textContent;

  // One stop for the Tab key in the table and one in the graph; the arrow keys move on from there.
  function rove(elements, step, from) {
    for (let i = from + step; elements[i]; i += step) {
      if (elements[i].closest("[hidden]")) continue;
      elements[i].focus();
      return;
    }
  }
  function stop(elements) {
    elements.forEach((element, i) => {
      element.setAttribute("tabindex", i ? "-1" : "0");
      element.addEventListener("focus", () => {
        for (const other of elements) other.setAttribute("tabindex", "-1");
        element.setAttribute("tabindex", "0");
      });
      element.addEventListener("keydown", (event) => {
        const steps = { ArrowDown: [1, i], ArrowRight: [1, i], ArrowUp: [-1, i], ArrowLeft: [-1, i], Home: [1, -1], End: [-1, elements.length] };
        if (!steps[event.key]) return;
        event.preventDefault();
        rove(elements, ...steps[event.key]);
      });
    });
  }
  if (byPair) stop(rows.map((row) => row.querySelector("button")));
  stop(marked.filter((element) => element.classList.contains("node")));

  const touch = matchMedia("(hover: none)").matches;
  for (const element of marked) {
    const model = Number(element.dataset.model);
    const target = element.tagName === "TR" ? element.querySelector("button") : element;
    if (element.tagName === "TR") {
      target.disabled = false;
      target.setAttribute("aria-pressed", "false");
    } else if (element.classList.contains("node")) {
      target.setAttribute("role", "button");
      target.setAttribute("aria-label", `${labels[model]}, rank ${rankText(intervals[model])}`);
      target.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        keep(model);
      });
    }
    if (!touch) {
      element.addEventListener("mouseenter", () => choose(model));
      element.addEventListener("mouseleave", settle);
    }
    target.addEventListener("focus", () => { if (target.matches(":focus-visible")) choose(model); });
    target.addEventListener("blur", settle);
    element.addEventListener("click", () => keep(model));
  }
  const release = () => { if (kept !== null) keep(kept); else choose(null); };
  byId("close")?.addEventListener("click", release);
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") release(); }, { signal });

  // The matrix: what a cell says, and where the chosen model is.
  const matrix = document.querySelector(".matrix");
  function band(model) {
    if (!matrix) return;
    for (const old of matrix.querySelectorAll(".band")) old.remove();
    if (model === null) return;
    matrix.append(
      draw("rect", { class: "band", x: 0, y: model, width: size, height: 1 }),
      draw("rect", { class: "band", x: model, y: 0, width: 1, height: size }),
    );
  }
  if (matrix) {
    const at = (event) => {
      const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix.getScreenCTM().inverse());
      const [row, column] = [Math.floor(point.y), Math.floor(point.x)];
      return row >= 0 && row < size && column >= 0 && column < size ? [row, column] : null;
    };
    matrix.addEventListener("mousemove", (event) => {
      const cell = at(event);
      if (!cell) return;
      const [a, b] = cell;
      const text = a === b ? labels[a]
        : above(a, b) ? `${labels[a]} beats ${labels[b]}: ${proof(a, b)}`
        : above(b, a) ? `${labels[b]} beats ${labels[a]}: ${proof(b, a)}`
        : `${labels[a]} and ${labels[b]}, open: ${doubt(a, b)}`;
      byId("cell").textContent = text;
      choose(a);
    });
    matrix.addEventListener("mouseleave", settle);
    matrix.addEventListener("click", (event) => { const cell = at(event); if (cell) keep(cell[0]); });
  }

  // Finding a model by its name.
  byId("find")?.addEventListener("input", (event) => {
    const wanted = event.target.value.trim().toLowerCase();
    let found = 0;
    rows.forEach((row, i) => {
      const fits = !wanted || names[i].toLowerCase().includes(wanted);
      row.hidden = !fits;
      found += fits;
    });
    if (wanted && byId("rest")) byId("rest").open = true;
    byId("found").textContent = wanted ? `${count(found, "model")} of ${size.toLocaleString("en")}` : "";
  });

  // Looking back: what had been certified after an earlier replicate.
  const slider = byId("look");
  if (slider) {
    const looks = doc.looks.map((look, i) => ({ replicate: look.replicate, edges: panel.looks[i][0], pairs: panel.looks[i][1] }));
    const history = doc.history;
    const pairs = (size * (size - 1)) / 2;
    slider.max = looks.length;
    slider.value = looks.length;
    const show = () => {
      const index = Number(slider.value) - 1;
      const look = looks[index];
      let words = `After replicate ${look.replicate} (look ${index + 1} of ${looks.length}): ` +
        `${look.pairs.toLocaleString("en")} of ${count(pairs, "pair")} certified, ${count(look.edges, "direct comparison")}`;
      const kept = history ? history.replicates.indexOf(look.replicate) : -1;
      if (kept >= 0) words += `; threshold of log ${history.log_w ? "wealth" : "e"}: ${history.log_thresholds[kept].toFixed(2)}`;
      byId("look-words").textContent = `${words}.`;
      slider.setAttribute("aria-valuetext", `after replicate ${look.replicate}`);
      cursor("pairs-chart", index);
      if (kept >= 0) cursor("evidence-chart", kept);
      if (size <= MOST_THEN) rankThen(look);
    };
    const cursor = (id, index) => {
      const chart = byId(id);
      if (!chart) return;
      chart.querySelector(".cursor")?.remove();
      const x = chart.dataset.places.split(" ")[index];
      chart.append(draw("line", { class: "cursor", x1: x, x2: x, y1: 12, y2: chart.dataset.foot }));
    };
    const rankThen = (look) => {
      // The certificate has neither the edges of each earlier look nor the look at which those of an added model appeared.
      const last = look === looks.at(-1);
      const edges = listed.filter(([, , edge]) => last || edge.first_certified <= look.replicate);
      const reached = closure(edges, size), then = ranks(reached);
      const decided = then.reduce((sum, interval) => sum + size - interval[1], 0);
      if (decided !== look.pairs || (data.shown === "current" && !last)) {
        byId("then-ranks").replaceChildren(make("p", "The certificate does not contain the ranks after this look.", "quiet"));
        return;
      }
      const cells = then.flatMap((interval, i) => {
        const bar = draw("svg", { width: "100%", height: 10, "aria-hidden": "true" });
        bar.append(
          draw("rect", { class: "rail", x: 0, y: 4, width: "100%", height: 2 }),
          draw("rect", {
            class: "span", y: 0, height: 10, rx: 3,
            x: `${(100 * (interval[0] - 1)) / size}%`, width: `${(100 * (interval[1] - interval[0] + 1)) / size}%`,
          }),
        );
        return [make("bdi", labels[i], "name"), make("span", rankText(interval), "rank"), bar];
      });
      byId("then-ranks").replaceChildren(...cells);
    };
    slider.addEventListener("input", show);
    slider.closest(".then").hidden = looks.length < 2;
    if (looks.length > 1) show();
  }

  const few = slider && doc.looks.length < 2;
  for (const element of all("[data-script]")) {
    if (!(element.classList.contains("then") && few) && !(element.classList.contains("finder") && size < 12)) element.hidden = false;
  }
}
