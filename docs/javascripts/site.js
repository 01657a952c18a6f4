// What Material adds to a page while it runs, made plain to a screen reader and to the keyboard: the buttons of a block
// and the numbers of notes have a name, and what scrolls can be scrolled with keys.
(() => {
  let blocks = 0;
  const mend = (root) => {
    for (const buttons of root.querySelectorAll("nav.md-code__nav:not([aria-label])"))
      buttons.setAttribute("aria-label", `Buttons of block ${++blocks}`);
    for (const note of root.querySelectorAll("a.md-annotation__index:not([aria-label])"))
      note.setAttribute("aria-label", `Note ${note.querySelector("[data-md-annotation-id]")?.dataset.mdAnnotationId ?? ""}`);
    for (const box of root.querySelectorAll(".md-typeset__scrollwrap")) box.tabIndex = 0;
  };
  mend(document);
  new MutationObserver((changes) => {
    for (const change of changes)
      for (const node of change.addedNodes) if (node.parentElement) mend(node.parentElement);
  }).observe(document, { childList: true, subtree: true });
})();
