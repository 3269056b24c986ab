// The table: sorted by any column, filtered, and with very many models page by page. Rows that the page does not open
// with are made from the same texts that the template would have written.
function rankingTable({ data, panel, names, labels, byPair, onPage, onArranged }) {
  const table = byId("ranking");
  if (!table) return null;
  const texts = panel.table, size = names.length, body = table.tBodies[0];
  const rows = new Array(size);
  [...body.rows].forEach((row, i) => { rows[i] = row; });
  const perPage = size > texts.open ? texts.open : size;
  const cuts = new Set(texts.cuts), retired = new Set(texts.retired), opening = new Set(texts.opens);
  const partial = new Set(texts.partial), withdrawn = new Set(texts.withdrawn), present = names.map((_, i) => i).filter((i) => !withdrawn.has(i));
  // What the user knows is in the order of the headline's document, which is not that of a view.
  const known = data.info.length ? names.map((name) => data.places.get(name)) : [];
  const ordinal = (number) => {
    const ending = [11, 12, 13].includes(number % 100) ? "th" : { 1: "st", 2: "nd", 3: "rd" }[number % 10] || "th";
    return `${number.toLocaleString("en")}${ending}`;
  };

  function cell(tag, kind, ...inside) {
    const made = make(tag, undefined, kind);
    made.setAttribute("role", tag === "th" ? "rowheader" : "cell");
    if (tag === "th") made.scope = "row";
    made.append(...inside);
    return made;
  }
  function withInterval(kind, value, interval, over) {
    const inside = [make("span", value, "value")];
    if (over) inside.push(" ", make("span", over, "over"));
    if (interval) inside.push(" ", make("span", interval, "interval"));
    return cell("td", kind, ...inside);
  }
  function infoCell(column, i) {
    const text = make("bdi", column.texts[known[i]]), link = column.links?.[known[i]];
    if (!link || !/^https?:\/\//i.test(link)) return cell("td", `info ${column.kind}`, text);
    const anchor = make("a");
    anchor.href = link;
    anchor.rel = "noopener noreferrer nofollow";
    anchor.target = "_blank";
    anchor.append(text);
    return cell("td", `info ${column.kind}`, anchor);
  }
  function pageLink(i) {
    if (!texts.pages) return [];
    const link = make("a", "page", "about");
    link.href = texts.pages[i];
    link.target = "_top";
    link.setAttribute("aria-label", `Page of ${labels[i]}`);
    return [link];
  }
  function rowOf(i) {
    if (rows[i]) return rows[i];
    const row = make("tr"), [best] = texts.ranks[i], opens = opening.has(i);
    row.setAttribute("role", "row");
    row.dataset.model = i;
    if (cuts.has(i) || opens) row.className = cuts.has(i) ? "cut" : "opens";
    const name = make("span");
    name.title = texts.full[i] ?? labels[i];
    name.append(named(labels[i]));
    row.append(
      cell("td", opens ? "group" : "group same", ordinal(best)),
      cell("td", "rank", rankText(texts.ranks[i])),
      ...(texts.new_ranks ? [cell("td", "also", texts.new_ranks[i])] : []),
      cell("th", "model", name, ...(retired.has(i) ? [make("span", "retired", "retired")] : []), ...pageLink(i)),
      cell("td", "bar", rankBar(texts.ranks[i], size, texts.mean_ranks[i])),
      withInterval("mean", texts.means[i], texts.mean_intervals?.[i], texts.mean_of?.[i]),
      withInterval("behind", texts.behind[i], texts.behind_intervals?.[i]),
      ...texts.counts[i].map((number) => cell("td", "counts", number.toLocaleString("en"))),
      ...data.info.map((column) => infoCell(column, i)),
    );
    rows[i] = row;
    return row;
  }

  // What each column is sorted by; what is not known comes last either way.
  const numeric = (text) => { const value = parseFloat(text); return Number.isNaN(value) ? null : value; };
  const keys = {
    group: (i) => texts.ranks[i][0],
    rank: (i) => texts.ranks[i][0] * (size + 1) + texts.ranks[i][1],
    worst: (i) => texts.ranks[i][1],
    new: (i) => {
      const [best, worst = best] = texts.new_ranks[i].split("-").map(Number);
      return texts.new_ranks[i] === "-" ? null : best * (size + 1) + worst;
    },
    model: (i) => names[i].toLowerCase(),
    mean: (i) => (partial.has(i) ? null : numeric(texts.means[i])),
    behind: (i) => (i ? numeric(texts.behind[i]) : 0),
    beats: (i) => texts.counts[i][0],
    loses: (i) => texts.counts[i][1],
  };
  data.info.forEach((column, number) => {
    keys[`info-${number}`] = (i) => {
      const key = column.keys[known[i]];
      return typeof key === "string" ? key.toLowerCase() : key;
    };
  });
  const compared = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : a < b ? -1 : a > b ? 1 : 0);

  const usual = { key: "rank", way: "ascending" };
  let sorted = usual, fitting = present, page = 0, inOrder = fitting;

  function arrange() {
    const { key, way } = sorted;
    const by = keys[key], sign = way === "ascending" ? 1 : -1;
    const isUsual = key === "rank" && way === "ascending";
    inOrder = [...fitting];
    if (!isUsual) {
      inOrder.sort((a, b) => {
        const one = by(a), other = by(b);
        if (one === null || other === null) return (one === null) - (other === null) || a - b;
        return sign * compared(one, other) || a - b;
      });
    }
    table.classList.toggle("resorted", !isUsual);
  }

  function fill() {
    const pages = Math.max(1, Math.ceil(inOrder.length / perPage));
    page = Math.min(page, pages - 1);
    body.replaceChildren(...inOrder.slice(page * perPage, (page + 1) * perPage).map(rowOf));
    if (byId("shown")) {
      const first = inOrder.length ? page * perPage + 1 : 0, last = Math.min(inOrder.length, (page + 1) * perPage);
      byId("shown").textContent = `${first.toLocaleString("en")} to ${last.toLocaleString("en")} of ${inOrder.length.toLocaleString("en")}`;
      byId("earlier").disabled = page === 0;
      byId("later").disabled = page >= pages - 1;
    }
    onPage();
  }

  function sortBy(key, way) {
    sorted = { key, way };
    for (const button of table.querySelectorAll("[data-sort]")) {
      const head = button.closest("th");
      if (button.dataset.sort === key) head.setAttribute("aria-sort", way);
      else head.removeAttribute("aria-sort");
    }
    page = 0;
    arrange();
    fill();
  }

  const buttons = [...table.querySelectorAll("[data-sort]")];
  for (const button of buttons) {
    button.disabled = false;
    button.addEventListener("click", () => {
      const { sort: key, first } = button.dataset;
      const other = sorted.way === "ascending" ? "descending" : "ascending";
      sortBy(key, sorted.key === key ? other : first);
      onArranged();
    });
  }
  const choice = byId("sort");
  for (const button of buttons) {
    if (["group", "worst"].includes(button.dataset.sort)) continue;
    const option = make("option", button.textContent);
    option.value = button.dataset.sort;
    option.selected = option.value === usual.key;
    choice.append(option);
  }
  choice.addEventListener("change", () => {
    sortBy(choice.value, buttons.find((button) => button.dataset.sort === choice.value).dataset.first);
    onArranged();
  });

  // Filters: a text in the name or in what the user knows, values of columns, and bounds of numbers.
  const haystack = (i) => [names[i], ...data.info.map((column) => column.texts[known[i]])].join("\n").toLowerCase();
  let searched = null;
  const controls = all(".finder [data-part]");
  // What a model must be for a filter; null of one that is empty or no number.
  function testOf(control) {
    const wanted = control.value.trim().toLowerCase(), column = data.info[Number(control.dataset.filter)];
    if (!wanted) return null;
    if (control.id === "find") {
      searched ??= names.map((_, i) => haystack(i));
      return (i) => searched[i].includes(wanted);
    }
    if (control.tagName === "SELECT") return (i) => column.texts[known[i]] === control.value;
    const bound = writtenNumber(wanted), sign = control.dataset.part.startsWith("from.") ? 1 : -1;
    return bound === null ? null : (i) => column.keys[known[i]] !== null && sign * (column.keys[known[i]] - bound) >= 0;
  }
  function filter() {
    const tests = [];
    for (const control of controls) {
      const test = testOf(control);
      if (test) tests.push(test);
      if (control.className === "bound") control.setAttribute("aria-invalid", String(!test && control.value.trim() !== ""));
    }
    fitting = present.filter((i) => tests.every((test) => test(i)));
    page = 0;
    arrange();
    fill();
    byId("found").textContent = tests.length ? `${count(fitting.length, "model")} of ${present.length.toLocaleString("en")}` : "";
  }
  for (const control of controls) {
    control.addEventListener("input", filter);
    control.addEventListener("change", onArranged);
  }
  byId("earlier")?.addEventListener("click", () => { page--; fill(); });
  byId("later")?.addEventListener("click", () => { page++; fill(); });

  // How the table is sorted and filtered, as parts of an address; none if it is as the page opens.
  function arrangement() {
    const parts = controls.filter((control) => control.value.trim()).map((control) => [control.dataset.part, control.value]);
    if (sorted.key !== usual.key || sorted.way !== usual.way) parts.unshift(["sort", `${sorted.key}.${sorted.way}`]);
    return parts.map((part) => part.map(encodeURIComponent).join("="));
  }
  function arrangeAs(parts) {
    if (parts.join("&") === arrangement().join("&")) return;
    const asked = new Map(parts.map((part) => part.split("=").map(spelled)));
    for (const control of controls) control.value = asked.get(control.dataset.part) ?? "";
    const [key, way] = (asked.get("sort") ?? "").split(".");
    const isKnown = buttons.some((button) => button.dataset.sort === key) && ["ascending", "descending"].includes(way);
    filter();
    sortBy(...(isKnown ? [key, way] : [usual.key, usual.way]));
  }

  // Shows the page with a model's row, without filters if they hide it; a withdrawn model has none to show.
  function reveal(model) {
    if (withdrawn.has(model)) return rowOf(model);
    if (!fitting.includes(model)) {
      for (const control of controls) control.value = "";
      filter();
    }
    const at = Math.floor(inOrder.indexOf(model) / perPage);
    if (at !== page) { page = at; fill(); }
    return rowOf(model);
  }

  // On paper there are no pages to turn.
  function everything() {
    if (size > perPage) body.replaceChildren(...inOrder.map(rowOf));
  }
  return { body, rowOf, reveal, fill, everything, byPair, filtered: controls.length > 1, arrangement, arrangeAs };
}
