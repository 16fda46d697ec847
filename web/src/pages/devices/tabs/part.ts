/** peopleOf are those who see a device by its tags, with the tags by which they do, and how many see the whole fleet. */
export function peopleOf(all: { name: string; tags: string[] }[], tags: string[]) {
  const inside = all
    .map(({ name, tags: theirs }) => ({ name, by: theirs.filter((tag) => tags.includes(tag)) }))
    .filter(({ by }) => by.length > 0);
  return { inside, whole: all.filter((one) => one.tags.length === 0).length };
}
