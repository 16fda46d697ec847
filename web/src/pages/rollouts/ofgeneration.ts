/** ofGeneration is the rollout that brings a generation to devices: the oldest that has it. The newest come first. */
export function ofGeneration(
  rollouts: { id: number; before: number; generation: number }[],
  generation: number,
): number | undefined {
  return rollouts.findLast((one) => one.before < generation && generation <= one.generation)?.id;
}
