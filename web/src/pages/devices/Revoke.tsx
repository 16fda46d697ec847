import { TextInput } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, ask, titled } from "../../api/client";
import { queries } from "../../api/queries";
import { Act } from "../../ui/act";
import { Export } from "../../ui/export";
import { plural, shortID } from "../../ui/format";
import { List, Panel, Row, Stack } from "../../ui/layout";
import { Loads, Note, Nothing } from "../../ui/page";
import { Ago, CellLink, Chip, Faint, Muted, Stacked, Strong, Text, To } from "../../ui/text";
import { AtRisk } from "./AtRisk";

/** Revoke takes the device off every daemon, for good. The dialog shows what goes before one answers. */
export function Revoke({ id, name }: { id: string; name: string }) {
  const client = useQueryClient();
  const revocations = useQuery(queries.revocations());
  const [reason, setReason] = useState("");
  const revoked = revocations.data?.find((one) => one.deviceID === id);
  if (revoked) {
    return (
      <Stack>
        <Note>
          The device was revoked by {revoked.revokedBy}, <Ago at={revoked.revokedAt} />
          {revoked.reason && `: ${revoked.reason}`}. Every daemon drops it, and nothing is written to its own.
        </Note>
        <To href={`/revocations/${id}`}>Where it is proven to be gone</To>
        <EndRevocation id={id} name={name} />
      </Stack>
    );
  }
  return (
    <Stack>
      <Text>
        For a device that was stolen, or whose owner left: every managed daemon drops it and the shares with it, now and
        whenever somebody brings it back. Its agent is refused, and nothing is written to its own daemon.
      </Text>
      <Act
        needs="admin"
        color="red"
        says={`${name} is revoked`}
        undo={async () => {
          await ask(api.DELETE("/api/v1/revocations/{deviceID}", { params: { path: { deviceID: id } } }));
          void client.invalidateQueries();
        }}
        run={async () => {
          await ask(
            api.POST("/api/v1/devices/{deviceID}/revoke", {
              params: { path: { deviceID: id } },
              body: reason.trim() ? { reason: reason.trim() } : {},
            }),
          );
          void client.invalidateQueries();
        }}
        confirm={{
          title: `Revoke ${name.slice(0, 60)}?`,
          untitled: true,
          verb: "Revoke",
          body: (
            <Stack>
              <WhatGoes id={id} />
              <AtRisk id={id} />
              <Text>
                The files on the device stay there, and daemons that Muster does not manage keep it. Passwords and keys
                that it knew have to be changed by hand.
              </Text>
              <TextInput
                label="Reason"
                description="For other people; it stands in the list of revocations"
                maxLength={300}
                value={reason}
                onChange={(event) => setReason(event.currentTarget.value)}
              />
            </Stack>
          ),
        }}
      >
        Revoke this device
      </Act>
    </Stack>
  );
}

/** WhatGoes lists the devices from which the device would be taken, as far as their daemons were read. */
function WhatGoes({ id }: { id: string }) {
  const plan = useQuery(queries.revocationPlan(id));
  return (
    <Loads query={plan} rows={2}>
      {({ devices, touched, folders }) => {
        const having = devices.filter((one) => one.changes.length > 0);
        return (
          <Stack tight>
            {touched.devices === 0 ? (
              <Text>No daemon that was read has it. It is kept off all of them from now on.</Text>
            ) : (
              <Strong>
                It goes from {plural(touched.devices, "device")}
                {folders.length > 0 && `, and out of ${plural(folders.length, "folder")}`}, at once:
              </Strong>
            )}
            <Row>
              {having.slice(0, shown).map((one) => (
                <Chip key={one.deviceID}>{one.label || shortID(one.deviceID)}</Chip>
              ))}
              {having.length > shown && <Muted>and {having.length - shown} more</Muted>}
            </Row>
            {touched.failed > 0 && (
              <Muted>
                No plan can be made for {plural(touched.failed, "device")}: it goes from there, too, if it is there.
              </Muted>
            )}
            {touched.unread > 0 && <Muted>Never read, so not known: {plural(touched.unread, "device")}.</Muted>}
          </Stack>
        );
      }}
    </Loads>
  );
}

const shown = 20; // devices that the dialog names

function EndRevocation({ id, name, compact }: { id: string; name: string; compact?: boolean }) {
  const client = useQueryClient();
  return (
    <Act
      needs="admin"
      size={compact ? "compact-xs" : undefined}
      says={`${name} is no longer revoked`}
      run={async (title) => {
        await ask(titled(title).DELETE("/api/v1/revocations/{deviceID}", { params: { path: { deviceID: id } } }));
        void client.invalidateQueries();
      }}
      confirm={{
        title: `End the revocation of ${name.slice(0, 60)}?`,
        verb: "End it",
        body: (
          <Text>
            Daemons may let the device in again, and templates that share with it do so at once. Nothing else comes back
            by itself.
          </Text>
        ),
      }}
    >
      End the revocation…
    </Act>
  );
}

/** Revocations are all devices that are out for good. */
export function Revocations() {
  const revocations = useQuery(queries.revocations());
  return (
    <Panel title="Revoked devices" flush actions={<Export name="revocations" rows={() => revocations.data ?? []} says="All revoked devices" />}>
      <Loads query={revocations} rows={2}>
        {(all) =>
          all.length === 0 ? (
            <Nothing title="No device is revoked">The settings of a device have the button that revokes it.</Nothing>
          ) : (
            <List
              rows={all}
              id={(one) => one.deviceID}
              columns={[
                {
                  title: "Device",
                  cell: (one) => (
                    <Stacked>
                      <CellLink href={`/revocations/${one.deviceID}`}>
                        {one.label.slice(0, 200) || shortID(one.deviceID)}
                      </CellLink>
                      <Faint>{one.deviceID}</Faint>
                    </Stacked>
                  ),
                },
                { title: "Why", cell: (one) => one.reason || <Faint>no reason was given</Faint> },
                {
                  title: "Revoked",
                  cell: (one) => (
                    <Stacked>
                      <Ago at={one.revokedAt} />
                      <Faint>by {one.revokedBy}</Faint>
                    </Stacked>
                  ),
                },
                {
                  title: "Still on",
                  cell: (one) => (
                    <Stacked>
                      <span>{one.stillOn.map(({ label, deviceID }) => label || shortID(deviceID)).join(", ") || "–"}</span>
                      {one.unknown > 0 && <Faint>{plural(one.unknown, "device")} not read since the start</Faint>}
                    </Stacked>
                  ),
                },
                {
                  title: "",
                  right: true,
                  cell: (one) => (
                    <EndRevocation id={one.deviceID} name={one.label || shortID(one.deviceID)} compact />
                  ),
                },
              ]}
            />
          )
        }
      </Loads>
    </Panel>
  );
}
