import { PasswordInput } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, ask } from "../../api/client";
import { queries } from "../../api/queries";
import { half } from "../../session/half";
import { useMe } from "../../session/me";
import { Act } from "../../ui/act";
import { Export } from "../../ui/export";
import { Columns, Fact, Facts, List, Panel, Stack } from "../../ui/layout";
import { Loads } from "../../ui/page";
import { Ago, Chip, Faint, Text } from "../../ui/text";

/** Account is the person's own: role, password, sessions. */
export default function Account() {
  const client = useQueryClient();
  const me = useMe();
  const sessions = useQuery(queries.sessions());
  return (
    <Stack>
      <Columns wide>
        <Panel title="You">
          <Facts>
            <Fact name="Name">{me.name}</Fact>
            <Fact name="Role">{me.role}</Fact>
          </Facts>
        </Panel>
        <Panel title="Password">
          <Password />
        </Panel>
      </Columns>
      <Panel title="Sessions" flush actions={<Export name="sessions" rows={() => sessions.data ?? []} says="All sessions" />}>
        <Loads query={sessions}>
          {(all) => (
            <List
              rows={all}
              id={(one) => one.id}
              columns={[
                { title: "User", cell: (one) => one.user },
                { title: "From", cell: (one) => <Text>{one.address}</Text> },
                { title: "With", cell: (one) => <Faint>{one.client.slice(0, 120)}</Faint> },
                { title: "Begun", cell: (one) => <Ago at={one.createdAt} /> },
                { title: "Used", cell: (one) => <Ago at={one.lastUsedAt} /> },
                {
                  title: "",
                  right: true,
                  cell: (one) =>
                    one.current ? (
                      <Chip>this one</Chip>
                    ) : (
                      <Act
                        needs="viewer"
                        size="compact-xs"
                        says="The session is ended"
                        run={async () => {
                          await ask(
                            api.DELETE("/api/v1/sessions/{session}", { params: { path: { session: one.id } } }),
                          );
                          void client.invalidateQueries({ queryKey: ["sessions"] });
                        }}
                      >
                        End
                      </Act>
                    ),
                },
              ]}
            />
          )}
        </Loads>
      </Panel>
    </Stack>
  );
}

function Password() {
  const [current, setCurrent] = useState("");
  const [password, setPassword] = useState("");
  const [again, setAgain] = useState("");
  const ready = current !== "" && password.length >= 12 && password === again;
  return (
    <Stack>
      <PasswordInput
        label="Password now"
        autoComplete="current-password"
        value={current}
        onChange={(event) => setCurrent(event.currentTarget.value)}
      />
      <PasswordInput
        label="New password"
        description="At least 12 characters"
        autoComplete="new-password"
        value={password}
        onChange={(event) => setPassword(event.currentTarget.value)}
      />
      <PasswordInput
        label="The new one again"
        autoComplete="new-password"
        value={again}
        error={again !== "" && again !== password ? "The two are not the same" : undefined}
        onChange={(event) => setAgain(event.currentTarget.value)}
      />
      <Act
        needs="viewer"
        disabled={!ready}
        why="Fill in all three; the new password has at least 12 characters."
        says="The password is changed, and your other sessions have ended"
        run={async () => {
          const session = await ask(api.PUT("/api/v1/password", { body: { current, password } }));
          half.keep(session.half);
          setCurrent("");
          setPassword("");
          setAgain("");
        }}
      >
        Change the password
      </Act>
    </Stack>
  );
}
