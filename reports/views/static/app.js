// Select the view by the URL hash: a static page, the list (#/results?…), a case (#/case/ID?surface=…), and so on.
window.Report.withData(() => {
  "use strict";
  const { Results, Case, Translations, Accuracy, Pairs, Surface, decoded, idIn, pageOf, turnTo } = window.Report;
  const { useState, useEffect, useRef } = preactHooks;
  const html = htm.bind(preact.h);
  const app = document.getElementById("app");
  const title = document.title;

  function parse(hash) {
    if (!hash.startsWith("#/")) return null;
    const [path, query = ""] = hash.slice(2).split(/\?(.*)/s);
    const [view, ...rest] = path.split("/");
    return { view, id: rest.map(decoded).join("/"), query: Object.fromEntries(new URLSearchParams(query)) };
  }

  function View({ route }) {
    if (route.view === "results") return html`<${Results} filters=${route.query} />`;
    if (route.view === "translations") return html`<${Translations} filters=${route.query} />`;
    if (route.view === "accuracy") return html`<${Accuracy} filters=${route.query} />`;
    if (route.view === "pairs") return html`<${Pairs} filters=${route.query} />`;
    if (route.view === "surface") return html`<${Surface} name=${route.id} />`;
    if (route.view === "case") return html`<${Case} id=${route.id} surface=${route.query.surface} step=${route.query.step} />`;
    return html`<section><h1 tabindex="-1">No such page</h1><p><a href="#overview">Overview</a></p></section>`;
  }

  function isCurrent(link, route, page) {
    const view = route && (route.view === "case" ? "results" : route.view);
    if (route) return link.hash === `#/${view}`;
    return pageOf(link.hash) === page && (link.hash === "#matrix") === (idIn(location.hash) === "matrix");
  }

  // Scroll the navigation of a narrow screen so that the current page is visible.
  function showInNavigation(link) {
    const nav = link.parentElement;
    nav.scrollLeft = link.offsetLeft - nav.offsetLeft - (nav.clientWidth - link.offsetWidth) / 2;
  }

  // Scroll a new view to the top and focus its heading. A changed filter does not change the scroll position.
  // `hash` belongs to the rendered view. location.hash may have changed before this effect runs.
  function useNavigation(hash, route, page) {
    const place = !route ? idIn(hash) : `${route.view}/${route.id}?${route.query.surface && route.view === "case" ? route.query.surface : ""}`;
    const first = useRef(true);
    const headingOf = () => (route ? app : page).querySelector("h1");
    useEffect(() => {
      const heading = headingOf();
      document.title = heading && heading.id !== "headline" ? `${heading.textContent} – ${title}` : title;
    }, [hash]);
    useEffect(() => {
      const heading = headingOf();
      if (heading && !first.current) heading.focus({ preventScroll: true });
      const section = route ? null : document.getElementById(idIn(hash));
      if (section && !section.contains(heading)) section.scrollIntoView();
      else window.scrollTo(0, 0);
      first.current = false;
    }, [place]);
  }

  function App() {
    const [hash, setHash] = useState(location.hash);
    const route = parse(hash);
    useEffect(() => {
      const follow = () => setHash(location.hash);
      window.addEventListener("hashchange", follow);
      follow(); // the hash may have changed between the first view and this effect
      return () => window.removeEventListener("hashchange", follow);
    }, []);
    app.hidden = route === null;
    const page = pageOf(hash);
    turnTo(page);
    useNavigation(hash, route, page);
    for (const link of document.querySelectorAll(".bar-top nav a")) {
      if (!isCurrent(link, route, page)) link.removeAttribute("aria-current");
      else {
        link.setAttribute("aria-current", "page");
        showInNavigation(link);
      }
    }
    return route && html`<${View} route=${route} />`;
  }

  // The skip link must not change the hash, which would leave the current view.
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault();
    document.getElementById("content").focus();
  });
  app.replaceChildren();
  preact.render(html`<${App} />`, app);
});
