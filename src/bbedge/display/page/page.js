
// The page: reads the certificate, shows the headline or another view, and hands the certificate out.
(async () => {
  // The certificate: as it is, or packed to a fraction of its size.
  async function certificate(data) {
    if (data.document) return data.document;
    const bytes = Uint8Array.from(atob(data.packed), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return unpack(JSON.parse(await new Response(stream).text()));
  }

  function unpack(packed) {
    const rest = packed.views ? { ...packed.rest, views: packed.views.map(unpack) } : packed.rest;
    if (!packed.edges) return rest;
    const names = rest.models.map((model) => model.name);
    const edges = (flat) => {
      const list = [];
      for (let i = 0; i < flat.length; i += 4) {
        const [a, b, path, first] = flat.slice(i, i + 4);
        list.push({
          winner: names[a], loser: names[b], log_e: rest.log_e[a][b], margin: rest.margins[a][b],
          path_margin: path, first_certified: first,
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
    const each = (parts, put) => Object.fromEntries(Object.entries(parts).map(([key, part]) => [key, put(part)]));
    return { ...rest, ...each(packed.edges, edges), ...each(packed.pairs, pairs), ...each(packed.sets, sets) };
  }

  const data = JSON.parse(byId("data").textContent);
  const whole = await certificate(data);
  const root = document.documentElement;
  const PARTS = ["opening", "body", "more"];
  const part = (holder, name) => holder.querySelector(`[data-part="${name}"]`);

  // A view that is not shown is in a template, or was on the page when it opened: then it is kept as it was.
  const kept = document.createDocumentFragment();
  for (const name of PARTS) kept.append(part(document, name).cloneNode(true));
  const source = (index) => byId(`view-${index}`)?.content ?? kept;
  let current = data.opened, listening = new AbortController();

  function start() {
    const panel = data.panels[current];
    const doc = panel.view === null ? whole : { ...whole, ...whole.views[panel.view] };
    showPanel({ doc, data, panel, signal: listening.signal });
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
    root.classList.remove("choosing");
    for (const name of PARTS) part(document, name).replaceWith(part(source(index), name).cloneNode(true));
    start();
    choice.value = index;
    byId("viewing").textContent = `${choice.selectedOptions[0].text}: ${document.querySelector(".figures li").textContent}`;
  }

  // The address says which view is shown, so that a link leads to it and the way back works.
  const spelled = (link) => { try { return decodeURIComponent(link); } catch { return link; } };
  const asked = () => data.panels.findIndex((panel) => spelled(panel.link) === spelled(location.hash));
  const choice = byId("view");
  if (choice) {
    choice.addEventListener("change", () => {
      show(Number(choice.value));
      location.hash = data.panels[current].link;
    });
    addEventListener("hashchange", () => {
      if (asked() >= 0) show(asked());
      else if (!location.hash) show(data.opened); // back at the address that the page was opened with
    });
  }
  start();
  if (choice && asked() >= 0) show(asked());

  byId("download").addEventListener("click", () => {
    const link = make("a");
    link.href = URL.createObjectURL(new Blob([JSON.stringify(whole)], { type: "application/json" }));
    link.download = "certificate.json";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  });
  byId("print").addEventListener("click", () => window.print());
  root.classList.add("scripted");
})();
