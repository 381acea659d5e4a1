// Says when the ledger moved on past the page that is open. Nothing else needs a script.
(() => {
  const notice = document.getElementById("moved");
  const { head, size } = document.body.dataset;
  if (!notice || !head) return;
  const drawn = Number(size);
  const look = async () => {
    if (document.hidden) return;
    try {
      const answer = await fetch(head, { cache: "no-store" });
      if (!answer.ok) return;
      const { touched } = await answer.json();
      if (touched > drawn && notice.hidden) {
        const again = document.createElement("a");
        again.href = location.href;
        again.textContent = "Draw it again";
        notice.replaceChildren("More was appended since this page was drawn. ", again, ".");
        notice.hidden = false;
      }
    } catch {
      // The server is gone; the page that is open stays true of the moment it names.
    }
  };
  setInterval(look, 5000);
})();
