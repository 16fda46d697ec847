/** The order in which templates apply: ascending priority, then ascending ID. */

export interface Ordered {
  id: number;
  priority: number;
}

const step = 10; // between priorities that are given anew

export function compare(a: Ordered, b: Ordered): number {
  return a.priority - b.priority || a.id - b.id;
}

/**
 * moved gives the priorities that bring the template at one place to another one. Mostly only its own changes; where
 * there is no room between its new neighbours, those that come after it move up.
 */
export function moved(templates: Ordered[], from: number, to: number): Ordered[] {
  const template = templates[from];
  if (!template || from === to) return [];
  const rest = templates.filter((one) => one !== template);
  const [above, below] = [rest[to - 1], rest[to]];
  const fits = (priority: number) => {
    const placed = { id: template.id, priority };
    return (!above || compare(above, placed) < 0) && (!below || compare(placed, below) < 0);
  };
  const middle = Math.floor(((above?.priority ?? 0) + (below?.priority ?? 0)) / 2);
  const candidates = [
    template.priority,
    ...(above && below ? [middle, above.priority, below.priority] : []),
    ...(above && !below ? [above.priority + step] : []),
    ...(below && !above ? [below.priority - step] : []),
  ];
  const own = candidates.find(fits);
  if (own !== undefined) return own === template.priority ? [] : [{ id: template.id, priority: own }];
  const changed: Ordered[] = [];
  let last = above?.priority ?? 0;
  for (const one of [template, ...rest.slice(to)]) {
    if (one !== template && one.priority > last) break; // the rest comes after it already
    last += step;
    changed.push({ id: one.id, priority: last });
  }
  return changed;
}
