/** inButtons puts the words of buttons in the place of the commands that do the same: who has the button types nothing. */
export function inButtons(text: string, buttons: { command: string; verb: string }[]): string {
  return buttons.reduce((all, { command, verb }) => all.replaceAll(`\`${command}\``, verb), text);
}
