// The search box of every page: operators, surfaces, causes, findings, conventions and cases. The key "/" focuses it.
window.Report.withData(() => {
  "use strict";
  const { data, operators, surfaces, cases, resultsLink, caseLink, surfaceLink } = window.Report;
  const { useState, useRef } = preactHooks;
  const html = htm.bind(preact.h);
  const MOST = 12; // entries in the list
  const MOST_OF_A_KIND = 5;

  // Built when the box is first used, because there may be thousands of cases.
  const allEntries = () => [
    ...operators.map((name) => ({ kind: "operator", text: name, link: resultsLink({ operator: name }) })),
    ...surfaces.map(({ name }) => ({ kind: "surface", text: name, link: surfaceLink(name) })),
    ...data.causes.map(({ id, title, status }) => ({ kind: status === "known" ? "known" : "cause", text: title, link: `#${id}` })),
    ...[...document.querySelectorAll("#findings article")].map((one) => ({ kind: "finding", text: one.querySelector(".statement").textContent, link: `#${one.id}` })),
    ...[...new Set(data.conventions.map(({ question }) => question))].map((question) => ({ kind: "convention", text: question, link: `#convention-${question}` })),
    ...cases.map(({ id }) => ({ kind: "case", text: id, link: caseLink(id) })),
  ].map((one) => ({ ...one, lower: one.text.toLowerCase() }));
  let entries = null;

  // The best entries: those that start with the text come first, and at most a few of each kind.
  function found(text) {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    if (words.length === 0) return [];
    entries ??= allEntries();
    const counts = {};
    const matching = entries.filter((one) => words.every((word) => one.lower.includes(word)));
    const starts = (one) => (one.lower.startsWith(words[0]) ? 0 : 1);
    const ordered = matching.length > 2000 ? matching : [...matching].sort((one, other) => starts(one) - starts(other));
    const shown = ordered.filter((one) => (counts[one.kind] = (counts[one.kind] || 0) + 1) <= MOST_OF_A_KIND);
    return shown.slice(0, MOST);
  }

  function Search() {
    const [text, setText] = useState("");
    const [active, setActive] = useState(0);
    const field = useRef(null);
    const list = found(text);
    const open = text.trim() !== "";
    const close = () => setText("");
    const all = resultsLink({ text });
    const follow = (link) => {
      close();
      field.current.blur();
      location.hash = link;
    };
    const press = (event) => {
      const moves = { ArrowDown: 1, ArrowUp: -1 };
      if (event.key === "Escape") close();
      else if (event.key === "Enter" && open) follow(list[active]?.link || all);
      else if (moves[event.key] && list.length > 0) setActive((active + moves[event.key] + list.length) % list.length);
      else return;
      event.preventDefault();
    };
    const leave = (event) => event.currentTarget.contains(event.relatedTarget) || close();
    return html`<div class="search" role="search" onFocusOut=${leave}>
      <input ref=${field} type="search" name="search" value=${text} placeholder="Search  /" autocomplete="off" aria-label="Search the report" aria-keyshortcuts="/"
        role="combobox" aria-autocomplete="list" aria-expanded=${open && list.length > 0} aria-controls="search-list" aria-activedescendant=${open && list.length > 0 ? `search-${active}` : undefined}
        onInput=${(event) => { setText(event.target.value); setActive(0); }} onKeyDown=${press} />
      <div class="found-list" hidden=${!open}>
        <ul id="search-list" role="listbox" aria-label="Search results" hidden=${list.length === 0}>${list.map((one, number) => html`<li role="option" id=${`search-${number}`} aria-selected=${number === active}
          key=${one.kind + one.link} onMouseDown=${(event) => { event.preventDefault(); follow(one.link); }}><span class="kind">${one.kind}</span> ${one.text}</li>`)}</ul>
        <a href=${all} onClick=${close}>${list.length === 0 ? "Nothing found. " : ""}Search the text of all results</a>
      </div></div>`;
  }

  preact.render(html`<${Search} />`, document.getElementById("search"));
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.target.closest("input, select, textarea")) return;
    event.preventDefault();
    document.querySelector("input[name=search]").focus();
  });
});
