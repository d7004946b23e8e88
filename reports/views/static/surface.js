// The page of one surface: its failures, known deviations, conventions, unsupported cases and badge.
window.Report.withData(() => {
  "use strict";
  const { data, results, surfaces, backendOf, caseLink, resultsLink, breakable, isWeb, pairLink, Chip, Code } = window.Report;
  const html = htm.bind(preact.h);

  const countedBy = (items, key) => {
    const counts = new Map();
    for (const item of items) counts.set(key(item), (counts.get(key(item)) || 0) + 1);
    return counts;
  };

  function Causes({ title, causes, surface, none }) {
    return html`<section><h2>${title}</h2>
      ${causes.length === 0 ? html`<p class="muted">${none}</p>` : html`<ol class="leading">${causes.map((cause) => html`<li class=${cause.status} key=${cause.id}>
        <p><span class="chip ${cause.status}">${cause.severity}</span> <a href="#${cause.id}">${cause.title}</a></p>
        <p class="pair"><span><span class="muted">expected</span> <code>${cause.expected}</code></span> <span><span class="muted">→ got</span> <code>${cause.got}</code></span>
          <span class="muted">${cause.results[surface].toLocaleString("en")} ${cause.results[surface] === 1 ? "result" : "results"}</span></p>
        ${cause.why && html`<p class="small">${cause.why}${" "}${isWeb(cause.issue) && html`<a href=${cause.issue} rel="noreferrer">upstream issue</a>`}</p>`}
      </li>`)}</ol>`}</section>`;
  }

  function Answers({ surface }) {
    const answers = data.conventions.filter((one) => one.surface === surface);
    if (answers.length === 0) return null;
    return html`<section><h2 id="answers-title">Conventions</h2><div class="scroll" tabindex="0" role="group" aria-labelledby="answers-title"><table>
      <thead><tr><th scope="col">convention</th><th scope="col">observed</th><th scope="col">declared</th><th scope="col">document</th></tr></thead>
      <tbody>${answers.map((one) => html`<tr key=${one.question}><th scope="row"><a href=${caseLink(one.case, surface)}>${breakable(one.question)}</a><span class="about">${one.about}</span></th>
        <td>${one.observed ?? html`<span class="muted">not observed</span>`}</td>
        <td>${one.contradicted ? html`<b class="contradicted">${one.declared}</b>` : one.declared ?? html`<span class="muted">nothing</span>`}</td>
        <td>${isWeb(one.source) ? html`<a href=${one.source.split(/\s/)[0]} title=${one.source} rel="noreferrer">document</a>` : html`<span class="muted">${one.source}</span>`}</td></tr>`)}</tbody>
    </table></div></section>`;
  }

  function Unsupported({ own, surface }) {
    const reasons = [...countedBy(own.filter((one) => ["unsupported", "refused"].includes(one.status.name)), (one) => one.reason || one.message || "no reason given")].sort(([, one], [, other]) => other - one);
    if (reasons.length === 0) return null;
    return html`<section><h2>Not supported</h2><p><a href=${resultsLink({ surface, status: "unsupported" })}>All unsupported cases</a></p>
      <table><thead><tr><th scope="col" class="number">results</th><th scope="col">reason</th></tr></thead>
      <tbody>${reasons.map(([reason, count]) => html`<tr><td class="number">${count.toLocaleString("en")}</td><td>${reason}</td></tr>`)}</tbody></table></section>`;
  }

  function Badge({ surface }) {
    const badge = data.badges[surface];
    if (!badge) return null;
    return html`<section><h2>Badge</h2>
      <p><img src=${`data:image/svg+xml,${encodeURIComponent(badge.svg)}`} alt="Badge of ${surface}" /></p>
      <p class="small muted"><code>conformance report --format badge</code> writes it to <code>build/conformance/badges/${badge.name}.svg</code>.</p>
      <${Code} text=${`![${surface}](build/conformance/badges/${badge.name}.svg)\n`} label="the embed code" /></section>`;
  }

  function Surface({ name }) {
    const surface = surfaces.find((one) => one.name === name);
    if (!surface) return html`<section><h1 tabindex="-1">No such surface</h1><p>The results do not contain the surface <code>${name}</code>. <a href="#overview">Overview</a></p></section>`;
    const own = results.filter((one) => one.surface === surface);
    const counts = countedBy(own, (one) => one.status);
    const backend = backendOf(surface);
    const causes = data.causes.filter((one) => name in one.results);
    return html`<article class="surface">
      <p class="path"><a href="#overview">Overview</a> › ${backend.name} ${backend.version || ""}</p>
      <h1 tabindex="-1">${breakable(name)}</h1>
      <p class="legend">${data.statuses.filter((status) => counts.has(status)).map((status) => html`<a href=${resultsLink({ surface: name, status: status.name })}>${counts.get(status).toLocaleString("en")} <${Chip} status=${status} /></a> `)}</p>
      <p class="tags">${data.conventions.some((one) => one.surface === name) && surfaces.length > 1 && html`<a href=${pairLink([name])}>Points on which it differs from another surface</a>`}
        ${document.getElementById(`history-${name}`) && html`<a href="#history-${name}">Past runs</a>`}</p>
      <div class="columns"><div>
        <${Causes} title="Unexpected differences" causes=${causes.filter((one) => one.status !== "known")} surface=${name} none="None." />
        <${Causes} title="Known deviations" causes=${causes.filter((one) => one.status === "known")} surface=${name} none="None." />
        <${Answers} surface=${name} />
      </div><aside><${Badge} surface=${name} /><${Unsupported} own=${own} surface=${name} /></aside></div>
    </article>`;
  }

  Object.assign(window.Report, { Surface });
});
