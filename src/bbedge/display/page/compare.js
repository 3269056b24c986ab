// Two to four models side by side: the interval of each pair in every view, and the items on which they differ.
const MOST_COMPARED = 4;
const KINDS = { beats: "above", "loses to": "below", open: "open" };
const MOST_WHERE = 15; // items, in each direction of two models; twice as many for more models

// "factsOf" gives the comparisons of a view, "onChange" hears of what the reader chose.
function compareModels({ data, factsOf, onChange }) {
  const section = byId("comparing");
  if (!section) return null;
  const selects = all("[data-compare]");
  const known = new Map(); // of each view, once it was asked for
  const viewNames = [...(byId("view")?.options ?? [])].map((option) => option.text);
  let facts = null, current = 0, chosen = [], isAsked = false, content = null, view = "";

  const of = (index) => {
    if (!known.has(index)) known.set(index, index === current ? facts : factsOf(index));
    return known.get(index);
  };
  const label = (name) => facts.labels[facts.place.get(name)];
  function text(tag, words, kind) {
    const element = make(tag, undefined, kind);
    element.append(named(words));
    return element;
  }

  // What is asked for: by the reader, or the first two models of the table.
  function set(names, { quiet = false, move = false } = {}) {
    chosen = [...new Set(names)].filter((name) => facts.place.has(name)).slice(0, MOST_COMPARED);
    isAsked = chosen.length > 0;
    section.classList.toggle("asked", isAsked);
    if (!isAsked) chosen = facts.names.slice(0, 2);
    show();
    if (!quiet) onChange();
    if (move) {
      section.scrollIntoView();
      byId("compare").focus({ preventScroll: true });
    }
  }
  function toggle(name) {
    const pinned = isAsked ? chosen : [];
    if (!pinned.includes(name) && pinned.length === MOST_COMPARED) {
      byId("compare-words").textContent = `${MOST_COMPARED} models are compared; take one out first.`;
      return;
    }
    set(pinned.includes(name) ? pinned.filter((each) => each !== name) : [...pinned, name]);
  }

  // The controls: a list for each of the models, and a pin in each row of the table.
  function fill() {
    selects.forEach((select, i) => {
      const options = facts.names.map((name, place) => {
        const option = make("option", facts.labels[place]);
        option.value = `=${name}`;
        return option;
      });
      const none = make("option", i < 2 ? "choose a model" : "none");
      none.value = "";
      select.replaceChildren(none, ...options);
    });
    for (const row of all(".ranking tbody tr[data-model]")) {
      const model = Number(row.dataset.model), pin = make("button", undefined, "pin");
      pin.type = "button";
      pin.tabIndex = model ? -1 : 0;
      pin.setAttribute("aria-label", `Compare ${facts.labels[model]}`);
      pin.title = "Compare";
      pin.addEventListener("click", (event) => { event.stopPropagation(); toggle(facts.names[model]); });
      // One stop for the Tab key among the pins: that of the row in which the keyboard is.
      row.addEventListener("focusin", () => {
        for (const other of all(".pin")) other.tabIndex = other === pin ? 0 : -1;
      });
      row.querySelector("th").append(pin);
    }
  }
  for (const select of selects) {
    select.addEventListener("change", () => {
      const names = selects.map((each) => each.value.slice(1)).filter(Boolean);
      if (names.length) set(names);
      else show();
    });
  }

  function show() {
    selects.forEach((select, i) => { select.value = i < chosen.length ? `=${chosen[i]}` : ""; });
    for (const pin of all(".pin")) {
      const name = facts.names[Number(pin.closest("tr").dataset.model)];
      pin.setAttribute("aria-pressed", String(isAsked && chosen.includes(name)));
    }
    const pairs = chosen.flatMap((a, i) => chosen.slice(i + 1).map((b) => [a, b]));
    byId("compare-words").textContent = pairs.length ? `${count(pairs.length, "pair")} compared.` : "Choose another model to compare.";
    const rows = pairs.map(([a, b]) => ({ a, b, lines: inViews(a, b) }));
    const ends = [0, ...rows.flatMap(({ lines }) => lines.flatMap(({ bounds }) => bounds)).filter((end) => end !== null)];
    const range = [Math.min(...ends), Math.max(10 ** -data.decimals, ...ends)];
    byId("compare-pairs").replaceChildren(...rows.map((row) => against(row, range)));
    if (data.items) items();
  }

  function inViews(a, b) {
    return data.panels.flatMap((panel, index) => {
      const there = of(index), [i, j] = [there.place.get(a), there.place.get(b)];
      if (!there.byPair) return [];
      const isTested = there.looked;
      return [{
        index,
        name: viewNames[index] ?? "",
        bounds: isTested ? there.bounds(i, j) : [null, null],
        observed: there.difference(i, j),
        difference: there.differenceText(i, j),
        interval: isTested ? there.interval(i, j) : "no look yet",
        result: there.above(i, j) ? "beats" : there.above(j, i) ? "loses to" : "open",
      }];
    });
  }

  // The interval as a line, the difference of the means as a dot, zero as a mark.
  const at = (value, [least, most]) => `${Math.max(0, Math.min(100, (100 * (value - least)) / (most - least)))}%`;
  function drawn({ bounds, observed, result }, range) {
    const chart = draw("svg", { class: "against", width: "100%", height: 16, "aria-hidden": "true" });
    chart.append(draw("line", { class: "zero", x1: at(0, range), x2: at(0, range), y1: 0, y2: 16 }));
    const [low, high] = bounds.map((end, i) => end ?? range[i]);
    if (bounds.some((end) => end !== null) && low <= high) {
      chart.append(draw("line", { class: KINDS[result], x1: at(low, range), x2: at(high, range), y1: 8, y2: 8 }));
      if (observed !== null) chart.append(draw("circle", { cx: at(observed, range), cy: 8, r: 3.2 }));
    }
    return chart;
  }

  function against({ a, b, lines }, range) {
    const block = make("div", undefined, "one-pair"), head = make("h3");
    head.append(text("span", label(a)), " against ", text("span", label(b)));
    const here = lines.find((line) => line.index === current), [i, j] = [a, b].map((name) => facts.place.get(name));
    const [one, other] = here?.result === "loses to" ? [j, i] : [i, j];
    const said = make("p", undefined, "small");
    said.append(make("bdi", facts.labels[one]), here?.result === "open" ? " and " : " beats ", make("bdi", facts.labels[other]),
      here?.result === "open" ? `, open: ${facts.doubt(i, j)}` : `: ${facts.proof(one, other)}`);
    const holder = make("div", undefined, lines.length > 12 ? "scroll tall" : "scroll");
    holder.tabIndex = 0;
    holder.setAttribute("role", "group");
    holder.setAttribute("aria-label", `${label(a)} against ${label(b)}, view by view`);
    const table = make("table", undefined, "against"), body = make("tbody"), heads = make("tr");
    const scale = make("span", undefined, "reach");
    scale.append(...facts.endTexts(range).map((end) => make("span", end)));
    for (const words of [lines.length > 1 ? "View" : "Result", "", "Difference"]) {
      const cell = make("th", words);
      cell.scope = "col";
      if (!words) cell.append(make("span", "Interval, drawn", "unseen"), scale);
      heads.append(cell);
    }
    for (const line of lines) {
      const row = make("tr", undefined, line.index === current && lines.length > 1 ? "is-current" : undefined), name = make("th");
      if (line.name) name.append(text("span", line.name), " ");
      name.append(make("span", line.result, `result ${KINDS[line.result]}`));
      name.scope = "row";
      const chart = make("td", undefined, "chart-of"), difference = make("td", undefined, "difference");
      chart.append(drawn(line, range));
      difference.append(make("span", line.difference, "value"), " ", make("span", line.interval, "interval"));
      row.append(name, chart, difference);
      body.append(row);
    }
    const top = make("thead");
    top.append(heads);
    table.append(top, body);
    holder.append(table);
    block.append(head, said, holder);
    return block;
  }

  // The items on which the mean scores of the models differ most, in the view that is shown.
  async function items() {
    content ??= await unpacked(data.items);
    const it = content, models = chosen.map((name) => it.models.indexOf(name));
    const heads = ["Item", ...chosen.map(label), ...(chosen.length === 2 ? ["Difference"] : []), ...(it.addresses ? ["Sample"] : [])];
    byId("where-heads").replaceChildren(...heads.map((words, i) => {
      const cell = text("th", words, i && words !== "Sample" ? "num" : undefined);
      cell.scope = "col";
      return cell;
    }));
    const lacking = chosen.filter((_, i) => models[i] < 0);
    if (chosen.length < 2 || lacking.length) {
      byId("where-words").textContent = lacking.length ? `This page has no item scores of ${lacking.map(label).join(", ")}.` : "Choose another model to compare.";
      byId("where-rows").replaceChildren();
      return;
    }
    const found = (it.views[view] ?? it.items.map((_, i) => i))
      .map((item) => ({ item, means: models.map((model) => it.means[model][item]) }))
      .filter(({ means }) => means.every((mean) => mean !== null))
      .map((each) => ({ ...each, spread: Math.max(...each.means) - Math.min(...each.means) }));
    const differing = found.filter(({ spread }) => spread > 0).sort((x, y) => y.spread - x.spread);
    let rows = differing.slice(0, 2 * MOST_WHERE), words = `Of ${count(found.length, "item")}, they differ on ${differing.length.toLocaleString("en")}.`;
    if (chosen.length === 2) {
      const ahead = differing.filter(({ means }) => means[0] > means[1]), behind = differing.filter(({ means }) => means[0] < means[1]);
      rows = [...ahead.slice(0, MOST_WHERE), ...behind.slice(0, MOST_WHERE).reverse()];
      words = `Of ${count(found.length, "item")}, ${label(chosen[0])} has the higher mean on ${ahead.length.toLocaleString("en")}, ` +
        `${label(chosen[1])} on ${behind.length.toLocaleString("en")}; ${(found.length - differing.length).toLocaleString("en")} are equal.`;
    }
    byId("where-words").textContent = words;
    byId("where-rows").replaceChildren(...rows.flatMap((each) => line(it, models, each)));
  }

  function place(address) {
    if (!/^https?:\/\//i.test(address)) return make("div", address);
    const link = make("a", address), holder = make("div");
    link.href = address;
    link.rel = "noopener noreferrer nofollow";
    link.target = "_blank";
    holder.append(link);
    return holder;
  }

  function line(it, models, { item, means }) {
    const two = means.length === 2, row = make("tr", undefined, two ? (means[0] > means[1] ? "first" : "second") : undefined);
    const name = text("th", it.items[item]);
    name.scope = "row";
    row.append(name, ...means.map((mean) => make("td", mean.toFixed(data.decimals), "num")));
    if (two) row.append(make("td", `${means[0] > means[1] ? "+" : ""}${(means[0] - means[1]).toFixed(data.decimals)}`, "num"));
    if (it.addresses) {
      const at = make("td", undefined, "at");
      at.append(...models.map((model) => place(it.addresses[model][item])));
      row.append(at);
    }
    const texts = it.texts?.[item];
    if (!texts) return [row];
    const [question, ...answers] = texts, below = make("tr", undefined, "texts"), cell = make("td"), fold = make("details"), list = make("dl");
    cell.colSpan = row.children.length;
    models.forEach((model) => {
      if (answers[model]) list.append(text("dt", label(it.models[model])), text("dd", answers[model]));
    });
    fold.append(make("summary", "Question and answers"));
    if (question) fold.append(text("p", question));
    fold.append(list);
    cell.append(fold);
    below.append(cell);
    return [row, below];
  }

  return {
    // The models of another view; what was chosen stays.
    enter(index, name, its) {
      current = index;
      view = name;
      facts = its;
      known.set(index, its);
      fill();
      set(isAsked ? chosen : [], { quiet: true });
    },
    get asked() { return isAsked ? chosen : []; },
    set,
    toggle,
  };
}
