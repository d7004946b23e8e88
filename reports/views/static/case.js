// The page of one case on one surface: program, result and expected result.
window.Report.withData(() => {
  "use strict";
  const { data, resultsOf, caseOf, backendOf, answerOf, format, share, caseLink, surfaceLink, goTo, resultsLink, breakable, inWords, isWeb } = window.Report;
  const { Chip, Source, Code, runnable, ArrayView, Comparison, WindowView, signature } = window.Report;
  const html = htm.bind(preact.h);

  const isArray = (value) => Array.isArray(value.shape);
  const HOW = { native: "one native call", padded: "explicit padding, then the call", composed: "composed of several operators" };

  // The expected result for a surface. For a convention case, it is the answer that the surface declares.
  function expectationOf(result) {
    const { expected, question } = result.case;
    if (!expected.answers) return expected;
    const answer = answerOf(question, result.surface.name);
    return expected.answers[answer?.declared ?? answer?.observed] || null;
  }

  function Outcome({ result }) {
    const programError = result.outcome === "crashed" && result.message?.startsWith("error in the program: ");
    const outcome = programError ? "The program has an error." : {
      rejected: "The surface rejected the parameters.",
      unsupported: "The surface does not support this case.",
      crashed: "The process crashed.",
      timed_out: "The program timed out.",
    }[result.outcome];
    const kind = result.status.name === "flaky" ? "flaky" : result.kind;
    const worst = result.worst;
    const deviation = worst && html`Worst at <code>[${worst.index.join(", ")}]</code>: expected <b>${format(worst.expected, 9)}</b>, got <b>${format(worst.got, 9)}</b>${
      worst.absolute !== null && html`, error ${format(worst.absolute, 4)}`}${worst.ulp !== null && html` (${format(worst.ulp, 4)} ulp)`}. `;
    const used = result.verdict !== "none" && result.outcome === "returned" && result.budget && result.case.bound
      ? html`The largest error is ${share(result)} times the error bound. ` : "";
    return html`<div class="outcome ${result.status.name}">
      <p><${Chip} status=${result.status} />${" "}${kind && html`<strong>The surface ${data.actions[kind]}.</strong> `}${!kind && outcome}${" "}${deviation}${used}</p>
      ${result.reason && html`<p>${result.reason}${" "}${result.issue && (isWeb(result.issue) ? html`<a href=${result.issue} rel="noreferrer">upstream issue</a>` : `(${result.issue})`)}</p>`}
      ${result.message && html`<pre class="message" tabindex="0">${result.message}</pre>`}
      ${result.changed_by && html`<p>First part of the route whose result is not right: <strong>${result.changed_by}</strong>.</p>`}
      ${result.after_others && html`<p>The result is that of the program alone in a process. After other programs it differed:</p><pre class="message" tabindex="0">${result.after_others}</pre>`}
    </div>`;
  }

  function Rejection({ predicate }) {
    return html`<p>Must be rejected: <strong>${inWords(predicate)}</strong> <code>${predicate}</code>.</p>`;
  }

  function Answer({ name, value, answer }) {
    const marks = [answer?.declared === name && "declared", answer?.observed === name && "observed"].filter(Boolean);
    return html`<div class="answer"><h3><code>${name}</code>${" "}${marks.map((mark) => html`<span class="chip">${mark}</span> `)}</h3>
      ${isArray(value) ? html`<${ArrayView} title="answer" array=${value} />` : html`<${Rejection} predicate=${value.rejected} />`}</div>`;
  }

  function Answers({ result }) {
    const { expected, question } = result.case;
    if (!expected.answers) return null;
    const answer = answerOf(question, result.surface.name);
    return html`<section><h2>Convention</h2>
      <p>${answer?.about || question}</p>
      <p>Declared: <b>${answer?.declared ?? "nothing"}</b>${answer?.declared && html` (<${Source} text=${answer.source} />)`}.
        Observed: <b>${answer?.observed ?? "not observed"}</b>.</p>
      <div class="answers">${Object.entries(expected.answers).map(([name, value]) => html`<${Answer} name=${name} value=${value} answer=${answer} />`)}</div>
    </section>`;
  }

  function Evidence({ result }) {
    const expected = expectationOf(result);
    const got = result.got;
    if (expected && isArray(expected) && got) return html`<${Comparison} expected=${expected} got=${got} worst=${result.worst} />`;
    const returnedEqual = result.outcome === "returned" && result.verdict === "agree" && expected && isArray(expected);
    return html`
      ${expected && (isArray(expected)
        ? html`<${ArrayView} title=${returnedEqual ? "expected and got, bitwise equal" : "expected"} array=${expected} />`
        : html`<${Rejection} predicate=${expected.rejected} />`)}
      ${got && html`<${ArrayView} title="got" array=${got} />`}`;
  }

  function Siblings({ result }) {
    return html`<nav class="siblings" aria-label="The same case on all surfaces"><ul>${resultsOf(result.case.id).map((one) => html`<li>
      <a class=${`sibling ${one.status.name}`} href=${caseLink(one.case.id, one.surface.name)} aria-current=${one === result ? "page" : undefined}>
        <span class="sign" aria-hidden="true">${one.status.sign}</span><span>${breakable(one.surface.name)}</span>
        <span class="small">${one.status.word}</span></a></li>`)}</ul></nav>`;
  }

  const shown = (value) => (typeof value === "string" ? value : JSON.stringify(value).replace(/,/g, ", "));

  function Facts({ title, entries }) {
    const given = entries.filter(([, value]) => value !== null && value !== undefined && value !== "");
    return given.length > 0 && html`<section><h2>${title}</h2><table class="facts"><tbody>
      ${given.map(([name, value]) => html`<tr><th scope="row">${name}</th><td>${shown(value)}</td></tr>`)}
    </tbody></table></section>`;
  }

  function Aside({ result }) {
    const one = result.case;
    const backend = backendOf(result.surface);
    const cost = Object.entries(one.cost || {}).map(([name, value]) => [name.replace(/_/g, " "), typeof value === "number" ? value.toLocaleString("en") : value]);
    const expectation = expectationOf(result);
    return html`<aside>
      <${Facts} title="Parameters" entries=${Object.entries(one.parameters)} />
      <${Facts} title="Case" entries=${[
        ["level", one.level], ["via", one.via.join(" → ")], ["convention", one.question], ["printed outputs", one.pinned || null],
        ["terms", one.terms], ["error bound", format(one.bound, 3)], ["output", expectation && isArray(expectation) ? signature(expectation) : null], ["digest", one.digest],
      ]} />
      <${Facts} title="Cost" entries=${cost} />
      <${Facts} title="Ran on" entries=${[
        ...Object.entries(backend.packages), ["Python", backend.python], ["platform", backend.platform], ["threads", backend.threads],
        ["seconds", result.outcome === "unsupported" ? null : format(result.seconds, 3)],
      ]} />
    </aside>`;
  }

  function Program({ result }) {
    const setup = backendOf(result.surface).setup[result.surface.name];
    return html`<section><h2>The program that ran</h2>
      ${result.program === undefined
        ? html`<p class="muted">There is no program for this case on this surface.</p>`
        : html`<p class="muted">${HOW[result.how] || result.how || ""}</p><${Code} text=${result.program} copied=${runnable(setup, result.program)} label="the program" />`}
      ${setup && html`<details><summary>Setup code</summary><${Code} text=${setup} label="the setup code" /></details>`}
      ${result.program !== undefined && html`<h3>Reproduce</h3>
        <${Code} text=${`conformance repro ${result.case.id} --surface ${result.surface.name.split("@")[0]}`} label="the command" />`}
    </section>`;
  }

  // The same case on all surfaces, with results and programs.
  function Surfaces({ result }) {
    const all = resultsOf(result.case.id);
    return html`<section class="surfaces"><h2 id="surfaces-title">On all surfaces</h2>
      <div class="scroll" tabindex="0" role="group" aria-labelledby="surfaces-title"><table>
        <thead><tr><th scope="col">surface</th><th scope="col">status</th><th scope="col">how</th><th scope="col" class="number">error ÷ bound</th>
          <th scope="col" class="number">ulp</th><th scope="col">expected</th><th scope="col">got</th><th scope="col">program</th></tr></thead>
        <tbody>${all.map((one) => html`<${OnSurface} key=${one.position} one=${one} here=${one === result} />`)}</tbody>
      </table></div></section>`;
  }

  function OnSurface({ one, here }) {
    const name = breakable(one.surface.name);
    const worst = (key, digits) => (one.worst ? format(one.worst[key], digits) : "");
    return html`<tr>
      <th scope="row">${here ? html`<strong>${name}</strong>` : html`<a href=${caseLink(one.case.id, one.surface.name)}>${name}</a>`}</th>
      <td><${Chip} status=${one.status} /></td><td>${one.how || ""}</td><td class="number">${one.verdict === "none" ? "" : share(one)}</td>
      <td class="number">${worst("ulp", 4)}</td><td>${worst("expected", 9)}</td><td>${worst("got", 9)}</td>
      <td>${one.program === undefined ? html`<span class="muted">none</span>` : html`<details><summary>Show</summary>
        <${Code} text=${one.program} copied=${runnable(backendOf(one.surface).setup[one.surface.name], one.program)} label=${`the program for ${one.surface.name}`} /></details>`}</td></tr>`;
  }

  function Case({ id, surface, step }) {
    const found = resultsOf(id);
    if (!caseOf(id) || found.length === 0)
      return html`<section><h1 tabindex="-1">No such case</h1><p>The results do not contain the case <code>${id}</code>. <a href="#/results">All results</a></p></section>`;
    const worstFirst = [...found].sort((one, other) => one.rank - other.rank);
    const result = found.find((one) => one.surface.name === surface) || worstFirst[0];
    const one = result.case;
    const go = (target) => goTo(caseLink(one.id, result.surface.name, target));
    return html`<article class="case">
      <p class="path"><a href="#/results">Results</a> › <a href=${resultsLink({ operator: one.operator })}>${one.operator}</a></p>
      <h1 tabindex="-1">${breakable(one.id)} <span class="on">on <a href=${surfaceLink(result.surface.name)}>${breakable(result.surface.name)}</a></span></h1>
      ${surface && result.surface.name !== surface && html`<p class="note">There is no result for this case on ${surface}.</p>`}
      ${one.about && html`<p class="lead">${one.about}</p>`}
      ${one.source && html`<p class="muted">Source: <${Source} text=${one.source} /></p>`}
      <div class="columns"><div class="evidence">
        <section><h2>What happened</h2><${Outcome} result=${result} /><${Evidence} result=${result} /></section>
        <${Siblings} result=${result} />
        <${WindowView} one=${one} got=${result.got} step=${step} go=${go} worst=${result.worst} />
        <${Answers} result=${result} />
        <${Program} result=${result} />
        <section><h2>Inputs</h2><div class="inputs">${Object.entries(one.inputs).map(([name, array]) => html`<${ArrayView} title=${name} array=${array} />`)}</div></section>
      </div><${Aside} result=${result} /></div>
      <${Surfaces} result=${result} />
    </article>`;
  }

  Object.assign(window.Report, { Case, Outcome, Evidence });
});
