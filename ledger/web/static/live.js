// Keeps a page that is open up with the ledger. Nothing else needs a script: without one, the reader draws the page again.
(() => {
  const notice = document.getElementById("moved"), main = document.getElementById("main"), data = document.body.dataset;
  if (!notice || !data.head) return;
  const PAUSED = "ledger-paused";
  let busy = false, ended = false, told = "";

  // Said once: whoever hears the page isn't told the same every few seconds.
  const say = (what, ...more) => {
    if (told === what) return;
    told = what;
    notice.replaceChildren(what, ...more);
    notice.hidden = false;
  };
  const again = () => {
    const link = document.createElement("a");
    link.href = location.href.split("#")[0];
    link.textContent = "Draw it again";
    return link;
  };
  const button = (text, act) => {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = text;
    made.addEventListener("click", act);
    return made;
  };
  const paused = () => sessionStorage.getItem(PAUSED) === "yes";
  // Whoever reads closely, marks a passage or fills in a form isn't interrupted.
  const occupied = () => {
    const held = document.activeElement, selected = document.getSelection();
    return (held && main.contains(held) && !notice.contains(held)) || (selected && !selected.isCollapsed);
  };
  const tellLive = () => {
    if (paused()) say("Paused: this page stays as it is. ", button("Go on", () => pause("no")));
    else say("This page keeps up with the run. ", button("Pause", () => pause("yes")));
  };
  const pause = (what) => {
    sessionStorage.setItem(PAUSED, what);
    tellLive();
    notice.querySelector("button").focus();
  };
  // Some figures are of an earlier moment, and the page says so.
  const behind = () => [...main.querySelectorAll(".notice")]
    .some((each) => each !== notice && each.textContent.includes("being worked out again"));
  const redraw = async () => {
    const answer = await fetch(location.href, { cache: "no-store" });
    if (!answer.ok) return;
    const drawn = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = drawn.getElementById("main");
    // The reader may have begun something while it came.
    if (!fresh || paused() || occupied()) return;
    fresh.querySelector("#moved")?.remove();
    const pairs = (what) => {
      const [old, next] = [main, fresh].map((each) => [...each.querySelectorAll(what)]);
      return old.length === next.length ? old.map((each, at) => [each, next[at]]) : [];
    };
    pairs("details").forEach(([old, next]) => { next.open = old.open; });
    const scrolled = pairs(".wide, pre").map(([old, next]) => [next, old.scrollLeft, old.scrollTop]);
    // The notice stays where it is, and what has the focus in it.
    for (const each of [...main.childNodes]) if (each !== notice) each.remove();
    main.append(...fresh.childNodes);
    for (const [each, left, top] of scrolled) each.scrollTo({ left, top, behavior: "instant" });
    const foot = drawn.querySelector("footer p");
    if (foot) document.querySelector("footer p").replaceWith(foot);
    for (const name of ["size", "live", "awaits"]) {
      if (name in drawn.body.dataset) data[name] = drawn.body.dataset[name];
      else delete data[name];
    }
    if (data.live) tellLive();
    else {
      ended = true;
      say("The run has stopped; this page shows how it ended.");
    }
  };
  const look = async () => {
    if (document.hidden || busy) return;
    busy = true;
    try {
      const answer = await fetch(data.head, { cache: "no-store" });
      if (!answer.ok) return;
      const { touched, awaited } = await answer.json();
      const moved = touched > Number(data.size), ready = data.awaits && !awaited;
      if ((data.live || ended) && !paused() && !occupied()) {
        if (moved || ready || behind()) await redraw();
      } else if (ready) say("What this page was waiting for is worked out. ", again(), ".");
      else if (moved && !(data.live && paused())) say("More was appended since this page was drawn. ", again(), ".");
    } catch {
      // The server is gone; the page that is open stays true of the moment it names.
    } finally {
      busy = false;
    }
  };
  if (data.live) tellLive();
  setInterval(look, data.awaits ? 2000 : 4000);
})();
