// Keeps a page that is open up with the ledger. Nothing else needs a script: without one, the reader draws the page again.
(() => {
  const notice = document.getElementById("moved");
  if (!notice || !document.body.dataset.head) return;
  const PAUSED = "ledger-paused";
  let busy = false;

  const say = (what, ...more) => {
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
    const held = document.activeElement;
    const selected = document.getSelection();
    return (held && held !== document.body && document.getElementById("main").contains(held)) ||
      (selected && !selected.isCollapsed);
  };
  const tellLive = () => {
    if (paused()) say("Paused: this page stays as it is. ", button("Go on", () => pause("no")));
    else say("This page keeps up with the run. ", button("Pause", () => pause("yes")));
  };
  const pause = (what) => {
    sessionStorage.setItem(PAUSED, what);
    tellLive();
  };
  const redraw = async () => {
    const answer = await fetch(location.href, { cache: "no-store" });
    if (!answer.ok) return;
    const drawn = new DOMParser().parseFromString(await answer.text(), "text/html");
    const old = document.getElementById("main"), fresh = drawn.getElementById("main");
    if (!fresh) return;
    const open = [...old.querySelectorAll("details")].map((each) => each.open);
    const folds = [...fresh.querySelectorAll("details")];
    if (folds.length === open.length) folds.forEach((each, at) => { each.open = open[at]; });
    fresh.querySelector("#moved")?.replaceWith(notice);
    old.replaceWith(document.adoptNode(fresh));
    document.querySelector("footer p").replaceWith(document.adoptNode(drawn.querySelector("footer p")));
    for (const name of ["size", "live", "awaits"]) {
      if (name in drawn.body.dataset) document.body.dataset[name] = drawn.body.dataset[name];
      else delete document.body.dataset[name];
    }
    if (document.body.dataset.live) tellLive();
    else say("The run has stopped; this page shows how it ended.");
  };
  const look = async () => {
    const { head, size, live, awaits } = document.body.dataset;
    if (document.hidden || busy) return;
    busy = true;
    try {
      const answer = await fetch(head, { cache: "no-store" });
      if (!answer.ok) return;
      const { touched, awaited } = await answer.json();
      const moved = touched > Number(size);
      if (awaits && !awaited) say("What this page was waiting for is worked out. ", again(), ".");
      else if (moved && live && !paused() && !occupied()) await redraw();
      else if (moved && !(live && paused())) say("More was appended since this page was drawn. ", again(), ".");
    } catch {
      // The server is gone; the page that is open stays true of the moment it names.
    } finally {
      busy = false;
    }
  };
  if (document.body.dataset.live) tellLive();
  setInterval(look, document.body.dataset.awaits ? 2000 : 4000);
})();
