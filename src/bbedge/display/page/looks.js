// Looking back: what had been certified after an earlier run.
const MOST_THEN = 60; // with more models the look back shows counts only

function lookBack({ doc, facts }) {
  const slider = byId("look");
  if (!slider) return;
  const { size, labels, certified, closure, ranks } = facts;
  const looks = doc.looks.map((look) => ({ replicate: look.replicate, edges: look.edges, pairs: look.resolved_pairs }));
  const history = doc.history;
  const pairs = (size * (size - 1)) / 2;
  // On a board, what happened at each look, and when.
  const steps = (doc.board?.timeline ?? []).filter((step) => step.epoch === doc.board.epoch && step.edges !== undefined);
  const added = (step) => `, ${step.names.map((name) => labels[facts.place.get(name)]).join(", ")} added`;
  slider.max = looks.length;
  slider.value = looks.length;

  function cursor(id, index) {
    const chart = byId(id);
    if (!chart) return;
    chart.querySelector(".cursor")?.remove();
    const x = chart.dataset.places.split(" ")[index];
    chart.append(draw("line", { class: "cursor", x1: x, x2: x, y1: 12, y2: chart.dataset.foot }));
  }

  function rankThen(look) {
    // The certificate does not have the look at which the edges of an added model appeared.
    const last = look === looks.at(-1);
    const edges = certified.filter(([, , edge]) => last || edge.first_certified <= look.replicate);
    const then = ranks(closure(edges));
    const decided = then.reduce((sum, interval) => sum + size - interval[1], 0);
    if (decided !== look.pairs) {
      byId("then-ranks").replaceChildren(make("p", "The certificate does not contain the ranks after this look.", "quiet"));
      return;
    }
    byId("then-ranks").replaceChildren(...then.flatMap((interval, i) =>
      [make("bdi", labels[i], "name"), make("span", rankText(interval), "rank"), rankBar(interval, size)]));
  }

  function show() {
    const index = Number(slider.value) - 1;
    const look = looks[index];
    const step = steps.length === looks.length ? steps[index] : undefined;
    const when = step ? `${step.time.slice(0, 10)}${step.kind === "add-model" ? added(step) : ""}: after` : "After";
    let words = `${when} run ${look.replicate} (look ${index + 1} of ${looks.length}): ` +
      `${look.pairs.toLocaleString("en")} of ${count(pairs, "pair")} certified, ${count(look.edges, "direct comparison")}`;
    const kept = history ? history.replicates.indexOf(look.replicate) : -1;
    if (kept >= 0) words += `; threshold of log ${history.log_w ? "wealth" : "e"}: ${history.log_thresholds[kept].toFixed(2)}`;
    byId("look-words").textContent = `${words}.`;
    slider.setAttribute("aria-valuetext", `after run ${look.replicate}`);
    cursor("pairs-chart", index);
    if (kept >= 0) cursor("evidence-chart", kept);
    if (size <= MOST_THEN) rankThen(look);
  }
  slider.addEventListener("input", show);
  if (looks.length > 1) show();
}
