// Says when the ledger moved on past the page that is open, and when what the page lacks was worked out. Nothing else
// needs a script.
(() => {
  const notice = document.getElementById("moved");
  const { head, size, awaits } = document.body.dataset;
  if (!notice || !head) return;
  const drawn = Number(size);
  const say = (what) => {
    const again = document.createElement("a");
    again.href = location.href.split("#")[0];
    again.textContent = "Draw it again";
    notice.replaceChildren(what, again, ".");
    notice.hidden = false;
  };
  const look = async () => {
    if (document.hidden || !notice.hidden) return;
    try {
      const answer = await fetch(head, { cache: "no-store" });
      if (!answer.ok) return;
      const { touched, awaited } = await answer.json();
      if (awaits && !awaited) say("What this page was waiting for is worked out. ");
      else if (touched > drawn) say("More was appended since this page was drawn. ");
    } catch {
      // The server is gone; the page that is open stays true of the moment it names.
    }
  };
  setInterval(look, awaits ? 2000 : 5000);
})();
