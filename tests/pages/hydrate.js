// What a framework does once its script has come: the fields keep what they show, and only later input reaches the state.
{
  const state = {}, kind = new URLSearchParams(location.search).get("kind");
  const take = ({ target }) => (state[target.id] = target.type === "checkbox" ? target.checked : target.value);
  const save = ({ target }) => target.id === "order" && (saved.textContent = JSON.stringify(state));
  const hydrate = {
    root: () => {
      root.addEventListener("input", take);
      root.addEventListener("click", save);
    },
    element: () => {
      for (const field of root.querySelectorAll("input, select")) field.addEventListener("change", take);
      for (const field of root.querySelectorAll("input")) field.addEventListener("input", take);
      order.addEventListener("click", save);
    },
    // an early listener of another script, and the part itself only when the page is at rest
    island: () => {
      document.addEventListener("click", () => 0);
      setTimeout(hydrate.root, 700);
    },
  };
  hydrate[kind]();
}
