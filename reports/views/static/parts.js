// Components and helpers that several views share.
window.Report.withData(() => {
  "use strict";
  const { useState } = preactHooks;
  const html = htm.bind(preact.h);
  const COPIED_FOR = 1500; // milliseconds

  const query = (filters) => {
    const given = Object.entries(filters).filter(([, value]) => value || value === 0);
    return given.map(([key, value]) => `${key}=${encodeURIComponent(value)}`).join("&");
  };
  const withQuery = (path, filters) => path + (query(filters) ? `?${query(filters)}` : "");
  const resultsLink = (filters) => withQuery("#/results", filters);
  const caseLink = (id, surface, step) => withQuery(`#/case/${id.split("/").map(encodeURIComponent).join("/")}`, { surface, step });

  const surfaceLink = (name) => `#/surface/${encodeURIComponent(name)}`;

  // Change the filter in the URL without adding a history entry.
  function goTo(link) {
    history.replaceState(null, "", link);
    window.dispatchEvent(new HashChangeEvent("hashchange"));
  }

  const queryLink = (view, filters) => goTo(withQuery(`#/${view}`, filters));

  // Allow line breaks after dots, underscores and slashes.
  const breakable = (name) => name.split(/(?<=[._/→])/).flatMap((piece, number) => (number ? [html`<wbr />`, piece] : [piece]));
  const inWords = (predicate) => predicate.replace(/(?<=[a-z0-9])(?=[A-Z])/g, " ").toLowerCase();
  const isWeb = (address) => /^https?:\/\//.test(address || "");

  function Select({ label, name, value, options, change, any = true }) {
    return html`<label>${label}
      <select name=${name} value=${value} onChange=${(event) => change(name, event.target.value)}>
        ${any && html`<option value="">all</option>`}
        ${options.map((option) => html`<option value=${option.value} selected=${option.value === value}>${option.label}</option>`)}
        ${value && !options.some((option) => option.value === value) && html`<option value=${value} selected>${value} (none)</option>`}
      </select></label>`;
  }

  function Chip({ status }) {
    return html`<span class="chip ${status.name}" title=${status.meaning}><span class="sign" aria-hidden="true">${status.sign}</span> ${status.word}</span>`;
  }

  // A text in which web addresses are links. Punctuation after an address does not belong to it.
  function Source({ text }) {
    const pieces = (text || "").split(/(https?:\/\/[^\s"<>]*[^\s"<>.,;:!?)\]])/);
    return pieces.map((piece) => (isWeb(piece) ? html`<a href=${piece} rel="noreferrer">${piece}</a>` : piece));
  }

  // Copy without the clipboard API, which may be missing on pages opened from file://.
  function copyBySelection(text) {
    const area = document.createElement("textarea");
    area.value = text;
    area.className = "hidden";
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }

  async function copy(text) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      return copyBySelection(text);
    }
  }

  // A program that runs: the setup code of its surface, and the program.
  const runnable = (setup, program) => (setup ? `${setup.trimEnd()}\n\n${program}` : program);

  // Code with a button that copies it. copied: the text to copy, if it is more than what is shown.
  function Code({ text, label, copied = text }) {
    const [state, setState] = useState("Copy");
    const click = async () => {
      setState((await copy(copied)) ? "Copied" : "Copying failed");
      setTimeout(() => setState("Copy"), COPIED_FOR);
    };
    return html`<div class="code">
      <button type="button" class="copy" onClick=${click} aria-label="Copy ${label}"><span aria-live="polite">${state}</span></button>
      <pre tabindex="0"><code>${text}</code></pre>
    </div>`;
  }

  Object.assign(window.Report, { resultsLink, caseLink, surfaceLink, goTo, queryLink, Select, breakable, inWords, isWeb, Chip, Source, Code, copy, runnable });
});
