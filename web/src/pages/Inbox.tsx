import { Button, Modal, TextInput } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, ask, type Schemas } from "../api/client";
import { Act } from "../ui/act";
import { shortID } from "../ui/format";
import { Grow, Panel, Row, Rows, Stack } from "../ui/layout";
import { Ago, Faint, Strong, Text } from "../ui/text";

type Pending = Schemas["Pending"];

const most = 50;

/** Inbox is what asks managed daemons to be let in. */
export function Inbox({ asks }: { asks: Pending[] }) {
  const client = useQueryClient();
  const [accepting, setAccepting] = useState<Pending>();
  return (
    <Panel title={`${asks.length} ask to be let in`} tone="busy" flush>
      <Rows>
        {asks.slice(0, most).map((one) => (
          <li key={one.id}>
            <Grow>
              <Stack tight>
                <Strong>{nameOf(one)}</Strong>
                <Faint>
                  {one.kind === "folder" ? "offered to" : "asks"} {one.label || shortID(one.deviceID)}
                  {one.kind === "folder" && ` by ${one.fromLabel || shortID(one.from)}`}
                  {one.address && ` from ${one.address}`} · <Ago at={one.since} />
                </Faint>
              </Stack>
            </Grow>
            <Act
              needs="operator"
              says="Dismissed"
              run={async () => {
                await ask(api.DELETE("/api/v1/pending/{pendingID}", { params: { path: { pendingID: one.id } } }));
                void client.invalidateQueries({ queryKey: ["pending"] });
              }}
            >
              Dismiss
            </Act>
            <Act needs="admin" run={async () => setAccepting(one)}>
              Let in…
            </Act>
          </li>
        ))}
      </Rows>
      {asks.length > most && (
        <Row>
          <Faint>and {asks.length - most} more</Faint>
        </Row>
      )}
      {accepting && <Accept one={accepting} onClose={() => setAccepting(undefined)} />}
    </Panel>
  );
}

function nameOf(one: Pending): string {
  if (one.kind === "folder") return `Folder ${one.folderLabel || one.folder}`;
  return `Device ${one.fromLabel || one.name || shortID(one.from)}`;
}

function Accept({ one, onClose }: { one: Pending; onClose: () => void }) {
  const client = useQueryClient();
  const isFolder = one.kind === "folder";
  const [name, setName] = useState(isFolder ? one.folderLabel || one.folder : one.name);
  const [path, setPath] = useState(isFolder ? `~/${one.folder}` : "");
  return (
    <Modal opened onClose={onClose} title={`Let in: ${nameOf(one).slice(0, 80)}`}>
      <Stack>
        <Text>
          {isFolder
            ? `${one.label || shortID(one.deviceID)} gets the folder, and shares it with who offers it.`
            : `${one.label || shortID(one.deviceID)} accepts connections of this device. It is not managed here by that.`}
        </Text>
        <TextInput label={isFolder ? "Label" : "Name"} value={name} onChange={(e) => setName(e.currentTarget.value)} />
        {isFolder && (
          <TextInput
            label="Path"
            description="Where the folder is kept on that device; not needed if it has it already"
            value={path}
            onChange={(e) => setPath(e.currentTarget.value)}
          />
        )}
        <Row end>
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Act
            needs="admin"
            variant="filled"
            says={`${nameOf(one)} is let in`}
            run={async () => {
              await ask(
                api.POST("/api/v1/pending/{pendingID}/accept", {
                  params: { path: { pendingID: one.id } },
                  body: isFolder ? { label: name, path } : { name },
                }),
              );
              void client.invalidateQueries();
              onClose();
            }}
          >
            Let in
          </Act>
        </Row>
      </Stack>
    </Modal>
  );
}
