import { IconLock } from "@tabler/icons-react";
import { useMe } from "../../session/me";
import { Panel } from "../../ui/layout";
import { Nothing } from "../../ui/page";

export function NeedsAdmin({ what }: { what: string }) {
  const me = useMe();
  return (
    <Panel>
      <Nothing icon={IconLock} title={`${what}: for administrators`}>
        Your role is {me.role}. Ask an administrator for what you need here.
      </Nothing>
    </Panel>
  );
}
