// Which view the URL asks for: the page itself, the list (#/results?…) or a case (#/case/ID?surface=…).
(() => {
  "use strict";
  const { Results, Case } = window.Report;
  const { useState, useEffect, useRef } = preactHooks;
  const html = htm.bind(preact.h);
  const app = document.getElementById("app");
  const pages = document.getElementById("pages");
  const title = document.title;

  function decoded(text) {
    try {
      return decodeURIComponent(text);
    } catch {
      return text;
    }
  }

  function parse(hash) {
    if (!hash.startsWith("#/")) return null;
    const [path, query = ""] = hash.slice(2).split(/\?(.*)/s);
    const [view, ...rest] = path.split("/");
    return { view, id: rest.map(decoded).join("/"), query: Object.fromEntries(new URLSearchParams(query)) };
  }

  function View({ route }) {
    if (route.view === "results") return html`<${Results} filters=${route.query} />`;
    if (route.view === "case") return html`<${Case} id=${route.id} surface=${route.query.surface} />`;
    return html`<section><h1 tabindex="-1">No such page</h1><p><a href="#overview">Overview</a></p></section>`;
  }

  // A new view starts at its top, with its heading in focus; a changed filter leaves everything in place.
  function useArrival(route) {
    const place = route && `${route.view}/${route.id}?${route.query.surface && route.view === "case" ? route.query.surface : ""}`;
    const first = useRef(true);
    useEffect(() => {
      const heading = app.querySelector("h1");
      document.title = heading ? `${heading.textContent} – ${title}` : title;
      if (heading && !first.current) heading.focus({ preventScroll: true });
      if (route) window.scrollTo(0, 0);
      else if (location.hash) document.getElementById(location.hash.slice(1))?.scrollIntoView();
      first.current = false;
    }, [place]);
  }

  function App() {
    const [route, setRoute] = useState(() => parse(location.hash));
    useEffect(() => {
      const follow = () => setRoute(parse(location.hash));
      window.addEventListener("hashchange", follow);
      return () => window.removeEventListener("hashchange", follow);
    }, []);
    app.hidden = route === null;
    pages.hidden = route !== null;
    useArrival(route);
    for (const link of document.querySelectorAll(".bar-top nav a")) {
      const here = route ? link.hash === "#/results" : false;
      if (here) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    return route && html`<${View} route=${route} />`;
  }

  // The skip link must not leave the view that is open.
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault();
    document.getElementById("content").focus();
  });
  preact.render(html`<${App} />`, app);
})();
