import { Button, Menu, Tooltip } from "@mantine/core";
import { IconChevronDown } from "@tabler/icons-react";
import { useMe } from "../session/me";
import { includes, refusal, type Role } from "../session/roles";
import { Faint } from "./text";

/** Entry is one act of a menu. */
export interface Entry {
  name: string;
  about?: string;
  needs: Role;
  open: () => void;
}

/** ActMenu is a button with acts below it. Who may do none of them reads why; so it is for each act that needs more. */
export function ActMenu({ name, entries }: { name: string; entries: Entry[] }) {
  const { role } = useMe();
  const least = entries.find((entry) => includes(role, entry.needs));
  const button = (
    <Button
      variant="default"
      rightSection={<IconChevronDown size={14} aria-hidden />}
      aria-disabled={!least || undefined}
      data-disabled={!least || undefined}
    >
      {name}
    </Button>
  );
  if (!least) {
    return (
      <Tooltip label={refusal(role, entries[0]?.needs ?? "admin")} maw={300}>
        {button}
      </Tooltip>
    );
  }
  return (
    <Menu position="bottom-start">
      <Menu.Target>{button}</Menu.Target>
      <Menu.Dropdown maw={320}>
        {entries.map((entry) => {
          const may = includes(role, entry.needs);
          return (
            <Menu.Item key={entry.name} disabled={!may} onClick={entry.open}>
              <span className="u-stack" data-tight>
                <span>{entry.name}</span>
                {may ? entry.about && <Faint>{entry.about}</Faint> : <Faint>{refusal(role, entry.needs)}</Faint>}
              </span>
            </Menu.Item>
          );
        })}
      </Menu.Dropdown>
    </Menu>
  );
}
