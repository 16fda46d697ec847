import { Modal } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, ask, root, titled, type Schemas } from "../api/client";
import { BulkOrder } from "../pages/devices/BulkOrder";
import { done, warn } from "../ui/act";
import { Confirm } from "../ui/confirm";
import { Stack } from "../ui/layout";
import { stopping } from "../ui/stopping";
import { Ago, Command, Strong, Text } from "../ui/text";
import type { Does } from "./actions";

type Asked = Extract<Does, { order: unknown } | { mode: unknown } | { linkFor: unknown }>;

/** ActionDialog asks before an action of the palette is done. */
export function ActionDialog({ asked, onClose }: { asked: Asked; onClose: () => void }) {
  if ("order" in asked) return <BulkOrder type={asked.order} devices={[asked.device]} onClose={onClose} />;
  if ("mode" in asked) return <SetMode to={asked.mode} onClose={onClose} />;
  return <LinkFor user={asked.linkFor} onClose={onClose} />;
}

const modeWords = {
  on: { title: "Write again to every device?", verb: stopping.observe.back, says: "What the plans of the devices have by now is applied." },
  observe: {
    ...{ title: "Stop writing to every device?", verb: stopping.observe.act },
    says: "Muster goes on watching and planning. Only an administrator has it write again.",
  },
  paused: {
    ...{ title: "Stop watching every device?", verb: stopping.paused.act },
    says: "No device is watched or written to: what is shown here becomes old. Only an administrator has it watch again.",
  },
};

function SetMode({ to, onClose }: { to: "on" | "observe" | "paused"; onClose: () => void }) {
  const client = useQueryClient();
  const { title: question, verb, says } = modeWords[to];
  return (
    <Confirm
      onClose={onClose}
      question={{ title: question, verb, body: <Text>{says} Daemons go on syncing.</Text> }}
      run={async (title) => {
        const now = await ask(titled(title).PUT("/api/v1/configurator", { body: { mode: to } }));
        void client.invalidateQueries();
        if (now.warning) warn(now.warning);
        else done(to === "on" ? "Muster writes again" : stopping[to].stops);
      }}
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
