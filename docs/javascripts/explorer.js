// The phase explorer: looks answers up in the recorded table that the page carries. It knows nothing of any runner.
(() => {
  const RUNNERS = { ar: "AR", generation: "generation", v2: "V2, preprocess step" };
  const EMBEDDINGS = {
    preprocess: "the embedding that the hook returned",
    mtp: "the MTP embedding",
    buffer: "what the buffer held",
    other: "another request's embedding",
    mixed: "rows of several origins",
    nothing: "nothing",
  };
  const FIELDS = { true: "all three", wrong: "wrong values", none: "none" };

  const words = (answer) =>
    answer.error
      ? ["raises", `${answer.error} …`, "", "", ""]
      : [
          answer.phase ?? "no flag",
          answer.hook ?? "none",
          answer.mtp ? "yes" : "no",
          EMBEDDINGS[answer.embedding],
          FIELDS[answer.fields],
        ];

  // The number of a question: the last axis turns fastest.
  const numberOf = (axes, chosen) =>
    Object.entries(axes).reduce((at, [name, values]) => at * values.length + values.findIndex((v) => shown(v) === chosen[name]), 0);
  const shown = (value) => (value === true ? "yes" : value === false ? "no" : String(value));

  // Releases that follow one another and answer alike share a row.
  const linesOf = (table, at) => {
    const found = [];
    for (const target of table.targets) {
      const answer = table.cells[target.cells][at];
      const last = found.at(-1);
      if (last && last.runner === target.runner && last.answer === answer) last.oldest = target.vllm_omni;
      else found.push({ runner: target.runner, answer, newest: target.vllm_omni, oldest: target.vllm_omni });
    }
    return found.map(({ runner, answer, newest, oldest }) => [
      newest === oldest ? newest : `${oldest} to ${newest}`,
      RUNNERS[runner],
      ...words(table.answers[answer]),
    ]);
  };

  const start = () => {
    const form = document.getElementById("explorer");
    if (!form) return;
    const table = JSON.parse(form.dataset.table);
    form.hidden = false;
    document.getElementById("explorer-without")?.remove();
    const names = Object.keys(table.axes);
    const chosen = () => Object.fromEntries(names.map((name) => [name, form.elements[name].value]));

    const show = () => {
      const asked = chosen();
      const lines = linesOf(table, numberOf(table.axes, asked));
      document.querySelector("#explorer-answers tbody").replaceChildren(
        ...lines.map((line) => {
          const row = document.createElement("tr");
          row.append(...line.map((text) => Object.assign(document.createElement("td"), { textContent: text })));
          return row;
        }),
      );
      document.getElementById("explorer-question").textContent =
        `A row of ${asked.span} of a prompt of ${asked.prompt_len}, ${asked.computed} computed before, ${asked.company}:`;
      document.getElementById("explorer-command").textContent =
        `phase-contract row --prompt-len ${asked.prompt_len} --computed ${asked.computed} --span ${asked.span}` +
        (asked.hook === "scalar" ? "" : ` --hook ${asked.hook}`) +
        (asked.mtp === "yes" ? "" : " --no-mtp");
    };
    const keep = () => history.replaceState(history.state, "", `?${new URLSearchParams(chosen())}${location.hash}`);

    for (const [name, value] of new URLSearchParams(location.search))
      if (names.includes(name) && [...form.elements[name].options].some((option) => option.value === value))
        form.elements[name].value = value;
    form.addEventListener("change", () => (show(), keep()));
    form.addEventListener("submit", (event) => event.preventDefault());
    for (const button of form.querySelectorAll("button[data-row]"))
      button.addEventListener("click", () => {
        ["prompt_len", "computed", "span"].forEach((name, at) => (form.elements[name].value = button.dataset.row.split(",")[at]));
        show();
        keep();
      });
    show();
  };

  // Material and Zensical exchange the page without loading a document, and say so here.
  if (typeof document$ === "undefined") start();
  else document$.subscribe(start);
})();
