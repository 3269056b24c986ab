// The matrix: what a cell says, and where the chosen model is. Beside it the graph, of few models.
function comparisonMatrix({ facts, point, settle, keep, onPair }) {
  const { size, labels, above, proof, doubt } = facts;
  const matrix = document.querySelector(".matrix");
  for (const button of all("[data-show]")) {
    button.addEventListener("click", () => {
      for (const other of all("[data-show]")) other.setAttribute("aria-pressed", String(other === button));
      for (const drawing of all("[data-drawing]")) drawing.hidden = drawing.dataset.drawing !== button.dataset.show;
    });
  }
  if (all("[data-show]").length) for (const graph of all('[data-drawing="graph"]')) graph.hidden = true;
  if (!matrix) return () => {};

  const at = (event) => {
    const spot = new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix.getScreenCTM().inverse());
    const [row, column] = [Math.floor(spot.y), Math.floor(spot.x)];
    return row >= 0 && row < size && column >= 0 && column < size ? [row, column] : null;
  };
  const words = ([a, b]) => (a === b ? labels[a]
    : above(a, b) ? `${labels[a]} beats ${labels[b]}: ${proof(a, b)}`
    : above(b, a) ? `${labels[b]} beats ${labels[a]}: ${proof(b, a)}`
    : `${labels[a]} and ${labels[b]}, open: ${doubt(a, b)}`);
  matrix.addEventListener("mousemove", (event) => {
    const cell = at(event);
    if (!cell) return;
    byId("cell").textContent = words(cell);
    point(cell[0]);
  });
  matrix.addEventListener("mouseleave", settle);
  matrix.addEventListener("click", (event) => {
    const cell = at(event);
    if (!cell) return;
    byId("cell").textContent = words(cell);
    keep(cell[0]);
    if (cell[0] !== cell[1]) onPair(cell[0], cell[1]);
  });
  return (model) => {
    for (const old of matrix.querySelectorAll(".band")) old.remove();
    if (model === null) return;
    matrix.append(
      draw("rect", { class: "band", x: 0, y: model, width: size, height: 1 }),
      draw("rect", { class: "band", x: model, y: 0, width: 1, height: size }),
    );
  };
}
