import { Modal } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, ask, root, type Schemas } from "../api/client";
import { queries } from "../api/queries";
import { BulkOrder } from "../pages/devices/BulkOrder";
import { modeQuestions, useSetMode, type FleetMode } from "../pages/settings/fleetmode";
import { Confirm } from "../ui/confirm";
import { Stack } from "../ui/layout";
import { Ago, Command, Strong, Text } from "../ui/text";
import type { Does } from "./actions";

/** Asked are the acts of the palette that a person confirms. */
export type Asked = Extract<Does, { order: unknown } | { mode: unknown } | { linkFor: unknown }>;

/** ActionDialog asks before an action of the palette is done. */
export function ActionDialog({ asked, onClose }: { asked: Asked; onClose: () => void }) {
  if ("order" in asked) return <BulkOrder type={asked.order} devices={[asked.device]} onClose={onClose} />;
  if ("mode" in asked) return <SetMode to={asked.mode} onClose={onClose} />;
  return <LinkFor user={asked.linkFor} onClose={onClose} />;
}

function SetMode({ to, onClose }: { to: FleetMode; onClose: () => void }) {
  const mode = useQuery(queries.configurator());
  const setMode = useSetMode();
  const { says, ...question } = modeQuestions[to];
  return (
    <Confirm
      onClose={onClose}
      question={{ ...question, body: <Text>{says}</Text> }}
      run={(title) => setMode(to, mode.data?.mode, title)}
    />
  );
}

function LinkFor({ user, onClose }: { user: string; onClose: () => void }) {
  const [link, setLink] = useState<Schemas["LoginLink"]>();
  if (link) {
    return (
      <Modal opened onClose={onClose} size="lg" title={`Log-in link for ${user}`}>
        <Stack>
          <Text>
            Send this to <Strong>{user}</Strong>: it sets a password, once, and ends <Ago at={link.expiresAt} />.
          </Text>
          <Command text={`${root}${link.path}`} />
        </Stack>
      </Modal>
    );
  }
  return (
    <Confirm
      onClose={onClose}
      onDone={() => undefined}
      question={{
        title: `Make a log-in link for ${user}?`,
        verb: "Make it",
        untitled: true,
        body: <Text>Who has the link sets a password for {user} and is logged in. It works once, and ends after 15 minutes.</Text>,
      }}
      run={async () => setLink(await ask(api.POST("/api/v1/login-links", { body: { user } })))}
    />
  );
}
