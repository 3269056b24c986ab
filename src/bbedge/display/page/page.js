// The page: reads the certificate, shows the headline or another view, follows links, and hands the certificate out.
(async () => {
  function unpack(packed) {
    const rest = packed.views ? { ...packed.rest, views: packed.views.map(unpack) } : packed.rest;
    if (!packed.edges) return rest;
    const names = rest.models.map((model) => model.name);
    const edges = (flat) => {
      const list = [];
      for (let i = 0; i < flat.length; i += 5) {
        const [a, b, path, first, part] = flat.slice(i, i + 5);
        list.push({
          winner: names[a], loser: names[b], log_e: rest.log_e[a][b], margin: rest.margins[a][b],
          path_margin: path, first_certified: first, ...(part ? { first_part: part } : {}),
        });
      }
      return list;
    };
    const pairs = (flat) => {
      const list = [];
      for (let i = 0; i < flat.length; i += 2) list.push([names[flat[i]], names[flat[i + 1]]]);
      return list;
    };
    const sets = (places) => Object.fromEntries(
      Object.entries(places).map(([k, members]) => [k, members && members.map((i) => names[i])]));
    const lists = Object.fromEntries(Object.entries(packed.pairs).map(([key, flat]) => [key, pairs(flat)]));
    return { ...rest, ...lists, edges: edges(packed.edges), top_k: sets(packed.top_k) };
  }

  const data = JSON.parse(byId("data").textContent);
  // The certificate: as it is, or packed to a fraction of its size.
  const whole = data.document ?? unpack(await unpacked(data.packed));
  data.places = new Map(whole.models.map((model, i) => [model.name, i]));
  const root = document.documentElement;
  const PARTS = ["opening", "body", "more"];
  const part = (holder, name) => holder.querySelector(`[data-part="${name}"]`);

  // A view that is not shown is in a template, or was on the page when it opened: then it is kept as it was.
  const kept = document.createDocumentFragment();
  for (const name of PARTS) kept.append(part(document, name).cloneNode(true));
  const source = (index) => byId(`view-${index}`)?.content ?? kept;
  const where = whereModels(data);
  let current = data.opened, listening = new AbortController(), shown = null;

  const documentOf = (panel) => (panel.view === null ? whole : { ...whole, ...whole.views[panel.view] });
  // The same view of new items, where the page has both.
  function other() {
    const panel = data.panels[shown.panel.on_new_items];
    return panel && comparisonsOf({ doc: documentOf(panel), data, panel });
  }

  function start() {
    const panel = data.panels[current];
    const doc = documentOf(panel);
    shown = { panel, ...showPanel({ doc, data, panel, signal: listening.signal, where, onKeep: remember, onArranged: rearranged }) };
    where?.enter(panel.view === null ? "" : doc.name, shown.facts.names, shown.facts.labels);
    for (const link of all("[data-view]")) {
      if (Number(link.dataset.view) === current) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  }

  function show(index) {
    if (index === current) return;
    listening.abort();
    listening = new AbortController();
    current = index;
    root.classList.remove("choosing", "kept");
    for (const name of PARTS) part(document, name).replaceWith(part(source(index), name).cloneNode(true));
    start();
    choice.value = index;
    byId("viewing").textContent = `${choice.selectedOptions[0].text}: ${document.querySelector(".decided").textContent}`;
  }

  // The address names the view, the model, and how the table is sorted and filtered: a link leads to them, and the way
  // back works.
  const choice = byId("view");
  const links = data.panels.map((panel) => panel.link);
  const ARRANGES = /^(sort|find|(is|from|to)\.[^=]*)=/, EMBEDDED = "embed=table";
  const isEmbedded = location.hash.slice(1).split("&").includes(EMBEDDED);
  let named = null;
  function asked() {
    const parts = location.hash.slice(1).split("&");
    const model = parts.find((each) => each.startsWith("model=")), arrangement = parts.filter((each) => ARRANGES.test(each));
    const view = parts.filter((each) => ![EMBEDDED, model, ...arrangement].includes(each)).join("&");
    const index = view ? links.findIndex((link) => spelled(link.slice(1)) === spelled(view)) : data.opened;
    return { index, arrangement, model: model === undefined ? null : spelled(model.slice("model=".length)) };
  }
  function addressOf(name) {
    const parts = [isEmbedded ? EMBEDDED : "", current === data.opened ? "" : links[current].slice(1)];
    try {
      parts.push(...shown.arrangement(), name === null ? "" : `model=${encodeURIComponent(name)}`);
    } catch { /* an unpaired surrogate has no address */ }
    return `#${parts.filter(Boolean).join("&")}`;
  }
  function remember(name) {
    named = name;
    history.pushState(null, "", addressOf(name));
  }
  function rearranged() {
    history.replaceState(null, "", addressOf(named));
  }
  function follow() {
    const { index, arrangement, model } = asked();
    if (index < 0) return; // an address of something else on the page
    if (choice) show(index);
    shown.arrangeAs(arrangement);
    shown.select(model);
    named = model;
  }
  addEventListener("hashchange", follow);
  choice?.addEventListener("change", () => {
    const arrangement = shown.arrangement();
    show(Number(choice.value));
    shown.arrangeAs(arrangement);
    named = null;
    history.pushState(null, "", current === data.opened && !isEmbedded && !arrangement.length ? links[current] : addressOf(null));
  });
  start();
  if (location.hash) follow();

  byId("download").addEventListener("click", () => save(JSON.stringify(whole), "application/json", "certificate.json"));
  byId("download-table")?.addEventListener("click", () => save(tableCsv({ data, ...shown, other: other() }), "text/csv", "leaderboard.csv"));
  byId("download-pairs")?.addEventListener("click", () => save(pairsCsv({ ...shown, other: other() }), "text/csv", "pairs.csv"));
  byId("print").addEventListener("click", () => window.print());
  root.classList.toggle("embedded", isEmbedded);
  byId("whole").href = location.href.split("#")[0];
  root.classList.add("scripted");
})();
