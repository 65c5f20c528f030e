// The places that somebody looked at last, the newest first: where the palette leads before anything is typed.

const KEY = "visited";
const MOST = 20;

/** Keep them, from now on. */
export function keepVisited({ kept, model, router, signal }) {
  const keep = () => {
    const { place } = router.current;
    if (place && model.place(place.id)) kept.set(KEY, [place.id, ...others(place.id)].slice(0, MOST));
  };
  const others = (id) => kept.get(KEY, []).filter((one) => one !== id && model.place(one));
  router.on("changed", keep, signal);
  keep();
}

/** Their ids. */
export function visited({ kept }) {
  return kept.get(KEY, []);
}
