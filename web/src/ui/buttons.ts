/** inButtons puts the words of buttons in the place of the commands that do the same: who has the button types nothing. */
export function inButtons(text: string, buttons: { command: string; verb: string }[]): string {
  return buttons.reduce((all, { command, verb }) => all.replaceAll(`\`${command}\``, verb), text);
}

/** linked is the page that has the button of a command about a rollout, and the text of a link to it. */
export function linked(command: string): { href: string; text: string } | undefined {
  const [, verb = "", id = ""] = /^muster rollout (show|approve|resume|undo) (\d+)$/.exec(command) ?? [];
  if (id === "") return undefined;
  const rollout = `rollout ${id}`;
  return { href: `/rollouts/${id}`, text: verb === "show" ? rollout : `${verb.charAt(0).toUpperCase()}${verb.slice(1)} ${rollout}` };
}
