const filters = document.getElementById("filters");
const checks = [...document.querySelectorAll(".check")];
const fits = (check, wanted) =>
  (!wanted.area || check.id.startsWith(`${wanted.area}-`)) &&
  ["level", "verdict"].every((name) => !wanted[name] || check.dataset[name] === wanted[name]) &&
  check.querySelector("summary").textContent.toLowerCase().includes(wanted.text.trim().toLowerCase());
const filter = () => {
  const wanted = Object.fromEntries(new FormData(filters));
  for (const check of checks) check.hidden = !fits(check, wanted);
  for (const area of document.querySelectorAll(".area")) area.hidden = !area.querySelector(".check:not([hidden])");
  document.getElementById("shown").value = `${checks.filter((check) => !check.hidden).length} of ${checks.length}`;
};
const unfold = () => {
  const check = checks.find((one) => one.id === decodeURIComponent(location.hash.slice(1)));
  if (check) check.open = true;
};
filters.hidden = false;
filters.addEventListener("input", filter);
filters.addEventListener("submit", (event) => event.preventDefault());
addEventListener("hashchange", unfold);
filter();
unfold();
