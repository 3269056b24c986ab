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
  let current = data.opened, listening = new AbortController(), shown = null, model = null;

  const documentOf = (panel) => (panel.view === null ? whole : { ...whole, ...whole.views[panel.view] });
  // The same view of new items, where the page has both.
  function other() {
    const panel = data.panels[shown.panel.on_new_items];
    return panel && comparisonsOf({ doc: documentOf(panel), data, panel });
  }
  const factsOf = (index) => comparisonsOf({ doc: documentOf(data.panels[index]), data, panel: data.panels[index] });
  const compare = compareModels({ data, factsOf, onChange: () => remember(model) });

  function start() {
    const panel = data.panels[current];
    const doc = documentOf(panel);
    shown = { panel, ...showPanel({ doc, data, panel, signal: listening.signal, compare, onKeep: remember, onArranged: rearranged }) };
    compare?.enter(current, panel.view === null ? "" : doc.name, shown.facts);
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

  // The address names the view, the model, what is compared, and how the table is sorted and filtered: a link leads to
  // them, and the way back works.
  const choice = byId("view");
  const links = data.panels.map((panel) => panel.link);
  const ARRANGES = /^(sort|find|(is|from|to)\.[^=]*)=/, EMBEDDED = "embed=table";
  const isEmbedded = location.hash.slice(1).split("&").includes(EMBEDDED);
  function asked() {
    const parts = location.hash.slice(1).split("&"), arrangement = parts.filter((each) => ARRANGES.test(each));
    const [ofModel, ofPair] = ["model=", "compare="].map((key) => parts.find((each) => each.startsWith(key))?.slice(key.length));
    const view = parts.filter((each) => !/^(model|compare|embed)=/.test(each) && !arrangement.includes(each)).join("&");
    const index = view ? links.findIndex((link) => spelled(link.slice(1)) === spelled(view)) : data.opened;
    return { index, arrangement, name: ofModel === undefined ? null : spelled(ofModel), names: (ofPair ?? "").split(",").filter(Boolean).map(spelled) };
  }
  function addressOf(view) {
    const names = compare?.asked ?? [];
    const parts = [isEmbedded ? EMBEDDED : "", view];
    try {
      parts.push(
        ...shown.arrangement(),
        model === null ? "" : `model=${encodeURIComponent(model)}`,
        names.length ? `compare=${names.map(encodeURIComponent).join(",")}` : "",
      );
    } catch { /* an unpaired surrogate has no address */ }
    return `#${parts.filter(Boolean).join("&")}`;
  }
  const address = () => addressOf(current === data.opened ? "" : links[current].slice(1));
  function remember(name) {
    model = name;
    history.pushState(null, "", address());
  }
  function rearranged() {
    history.replaceState(null, "", address());
  }
  function follow() {
    const { index, arrangement, name, names } = asked();
    if (index < 0) return; // an address of something else on the page
    if (choice) show(index);
    model = name;
    shown.arrangeAs(arrangement);
    shown.select(name);
    compare?.set(names, { quiet: true, move: names.length > 0 && name === null });
  }
  addEventListener("hashchange", follow);
  choice?.addEventListener("change", () => {
    const arrangement = shown.arrangement();
    show(Number(choice.value));
    shown.arrangeAs(arrangement);
    model = null;
    history.pushState(null, "", addressOf(links[current].slice(1)));
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
