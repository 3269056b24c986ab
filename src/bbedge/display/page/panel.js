// One view of the page: the table, the drawings, the details of a model, the look back. What it shows comes from the
// certificate in the element "data".
const MOST_LISTED = 60; // per list beside a chosen model
const SIGNS = { under: ["\u25b2", "the selected model beats this one"], over: ["\u25bc", "the selected model loses to this one"], open: ["\u25cb", "open"] };

// Makes the view that is on the page interactive. What is listened to outside its elements ends with the signal.
function showPanel({ doc, data, panel, signal, compare, onKeep, onArranged }) {
  const facts = comparisonsOf({ doc, data, panel });
  const { size, names, labels, byPair, above, intervals, proof, doubt } = facts;
  const root = document.documentElement;
  let chosen = null, kept = null;
  const table = rankingTable({ data, panel, names, labels, byPair, onPage: () => stops(), onArranged });
  const marked = all("[data-model]"), joined = all("[data-a]");
  const byRow = (model) => table.rowOf(model);

  // The chosen model: pointed at, focused, or kept.
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
    title.append(make("bdi", byRow(model).querySelector("button").title));
    const mean = facts.mean(model) === null ? "" : ` \u00b7 mean ${said(".mean .value")}${panel.table.mean_of?.[model] ? ` (${panel.table.mean_of[model]})` : ""}`;
    about.replaceChildren(title, make("p", `rank ${said(".rank")} of ${size}${mean}`, "quiet"));
    if (compare) about.append(compareButton("Compare", `Compare ${labels[model]} with other models`, () => compare.toggle(names[model])));
    list(about, "above", `Beats ${groups.under.length}`, groups.under, (i) => proof(model, i), model);
    list(about, "below", `Loses to ${groups.over.length}`, groups.over, (i) => proof(i, model), model);
    list(about, "open", `Open against ${groups.open.length}`, groups.open, (i) => doubt(model, i), model);
    byId("detail").scrollTop = 0;
    byId("spoken").textContent =
      `${labels[model]}: rank ${rankText(intervals[model])}, beats ${groups.under.length}, ` +
      `loses to ${groups.over.length}, open against ${groups.open.length}.`;
  }

  function list(about, kind, title, models, words, model) {
    if (!models.length) return;
    about.append(make("h4", `${SIGNS[{ above: "under", below: "over", open: "open" }[kind]][0]} ${title}`, kind));
    const lines = make("ul");
    for (const i of models.slice(0, MOST_LISTED)) {
      const line = make("li");
      line.append(named(labels[i]), make("span", words(i)));
      if (compare) line.append(compareButton("Compare", `Compare ${labels[model]} and ${labels[i]}`, () => compare.set([names[model], names[i]], { move: true })));
      lines.append(line);
    }
    if (models.length > MOST_LISTED) lines.append(make("li", `and ${count(models.length - MOST_LISTED, "more model")}`));
    about.append(lines);
  }

  function compareButton(words, label, press) {
    const button = make("button", words, "where-button");
    button.type = "button";
    button.setAttribute("aria-label", label);
    button.addEventListener("click", press);
    return button;
  }

  const settle = () => choose(kept);
  const point = (model) => { if (kept === null) choose(model); }; // what is kept stays while the pointer moves on

  function keep(model, quiet) {
    const before = kept;
    kept = kept === model ? null : model;
    for (const i of [before, model]) {
      if (i !== null) byRow(i).querySelector("button").setAttribute("aria-pressed", String(i === kept));
    }
    root.classList.toggle("kept", kept !== null);
    chosen = undefined;
    choose(kept);
    if (kept === null) byId("about").replaceChildren(make("p", hint, "quiet"));
    else uncover(byRow(kept));
    if (!quiet) onKeep(kept === null ? null : names[kept]);
  }

  // On a small screen the details lie over the page: the row that they are about must not be under them.
  function uncover(row) {
    const panel = byId("detail").getBoundingClientRect(), place = row.querySelector(".model").getBoundingClientRect();
    const under = row.getBoundingClientRect().bottom - panel.top + 12;
    if (getComputedStyle(byId("detail")).position === "fixed" && place.right > panel.left && under > 0) scrollBy(0, under);
  }
  const hint = byId("about")?.textContent;

  // One stop for the Tab key among the rows and one in the graph; the arrow keys move on from there.
  function stop(elements) {
    elements.forEach((element, i) => {
      element.setAttribute("tabindex", i ? "-1" : "0");
      if (element.dataset.roves) return;
      element.dataset.roves = "yes";
      element.addEventListener("focus", () => {
        for (const other of siblings(element)) other.setAttribute("tabindex", "-1");
        element.setAttribute("tabindex", "0");
      });
      element.addEventListener("keydown", (event) => {
        const others = siblings(element), at = others.indexOf(element);
        const to = { ArrowDown: at + 1, ArrowRight: at + 1, ArrowUp: at - 1, ArrowLeft: at - 1, Home: 0, End: others.length - 1 }[event.key];
        if (to === undefined) return;
        event.preventDefault();
        others[to]?.focus();
      });
    });
  }
  const rowButtons = () => [...table.body.querySelectorAll("tr:not([hidden]) th button:not(.pin)")];
  const nodes = all(".node");
  const siblings = (element) => (element.classList.contains("node") ? nodes : rowButtons());
  function stops() {
    if (byPair && table) stop(rowButtons());
  }
  stops();
  stop(nodes);

  const touch = matchMedia("(hover: none)").matches;
  for (const element of byPair ? marked : []) {
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
      element.addEventListener("mouseenter", () => point(model));
      element.addEventListener("mouseleave", settle);
    }
    target.addEventListener("focus", () => { if (target.matches(":focus-visible")) choose(model); });
    target.addEventListener("blur", settle);
    element.addEventListener("click", (event) => { if (!event.target.closest("a")) keep(model); });
  }
  const release = () => { if (kept !== null) keep(kept); else if (byPair) choose(null); };
  byId("close")?.addEventListener("click", release);
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") release(); }, { signal });

  const band = comparisonMatrix({
    facts, point, settle, keep,
    onPair: (a, b) => compare?.set([names[a], names[b]]),
  });
  lookBack({ doc, facts });
  addEventListener("beforeprint", () => table?.everything(), { signal });
  addEventListener("afterprint", () => table?.fill(), { signal });

  const few = (doc.looks || []).length < 2;
  for (const element of all("[data-script]")) {
    const left = (element.classList.contains("then") && few)
      || (element.classList.contains("finder") && size < 12 && table && !table.filtered);
    if (!left) element.hidden = false;
  }

  return {
    facts,
    arrangement: () => table?.arrangement() ?? [],
    arrangeAs: (parts) => table?.arrangeAs(parts),
    // Follows a link to a model, by its name; none releases what is kept.
    select(name) {
      const model = name === null ? null : facts.place.get(name);
      if (model === undefined || !table) return;
      if (!byPair) {
        for (const row of all(".ranking tr.is-chosen")) row.classList.remove("is-chosen");
        if (model !== null) table.reveal(model).classList.add("is-chosen");
      } else if (model !== kept) keep(model ?? kept, true);
      if (model !== null) {
        table.reveal(model).scrollIntoView({ block: "center" });
        if (byPair) uncover(byRow(model));
      }
    },
  };
}
