import type { Icon } from "@tabler/icons-react";
import type { ReactElement } from "react";

interface Drawing {
  render: (props: object, ref: null) => ReactElement<{ children: (ReactElement<{ d: string }> | undefined)[] }>;
}

/** strokesOf is what an icon is drawn with: paths, which can be joined into one. */
export function strokesOf(icon: Icon): string[] {
  const drawn = (icon as unknown as Drawing).render({}, null);
  return drawn.props.children.flatMap((stroke) => (stroke ? [stroke.props.d] : []));
}
