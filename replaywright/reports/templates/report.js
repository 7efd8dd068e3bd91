(() => {
  "use strict";
  const steps = () => document.querySelectorAll(".timeline .step > details");
  const tools = document.getElementById("tools");
  tools.hidden = !steps().length;
  const all = (open) => () => { for (const one of steps()) one.open = open; };
  document.getElementById("open-all").addEventListener("click", all(true));
  document.getElementById("close-all").addEventListener("click", all(false));
  document.getElementById("only-news").addEventListener("change", (event) => {
    document.body.classList.toggle("only-news", event.target.checked);
  });
  // A link to a step opens it.
  const show = () => {
    const step = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const details = step && step.matches(".step") && step.querySelector("details");
    if (details) details.open = true;
  };
  addEventListener("hashchange", show);
  show();
  addEventListener("beforeprint", all(true));
})();
