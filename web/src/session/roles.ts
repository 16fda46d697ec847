export type Role = "viewer" | "operator" | "author" | "admin";

const order: Role[] = ["viewer", "operator", "author", "admin"];

/** includes tells whether a role may do what another one may. Roles are cumulative. */
export function includes(has: Role, needs: Role): boolean {
  return order.indexOf(has) >= order.indexOf(needs);
}

/** refusal says why something is disabled, and who can do it. */
export function refusal(has: Role, needs: Role): string {
  const who = needs === "admin" ? "an administrator" : `a person with the role ${needs} or higher`;
  return `Your role, ${has}, may not do that. Ask ${who}.`;
}
