import { Select, TextInput } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { ask, titled } from "../../api/client";
import { queries } from "../../api/queries";
import { useMay } from "../../session/me";
import type { Role } from "../../session/roles";
import { Act } from "../../ui/act";
import { Export } from "../../ui/export";
import { List, Panel, Row, Stack } from "../../ui/layout";
import { Loads, Note } from "../../ui/page";
import { Ago, Chip, Command, Muted, Strong, Text } from "../../ui/text";
import { TitleField } from "../../ui/title";
import { NeedsAdmin } from "./NeedsAdmin";
import { hasPart, PartInput } from "./PartOfFleet";

const lives: Record<string, number | undefined> = {
  "an hour": 3600,
  "a day": 86_400,
  "30 days": 30 * 86_400,
  "a year": 365 * 86_400,
  "never": undefined,
};

/** Tokens are the credentials of programs. */
export default function Tokens() {
  const isAdmin = useMay("admin");
  const client = useQueryClient();
  const tokens = useQuery({ ...queries.tokens(), enabled: isAdmin });
  const [made, setMade] = useState("");
  const [name, setName] = useState("");
  const [role, setRole] = useState<Role>("viewer");
  const [life, setLife] = useState("30 days");
  const [tags, setTags] = useState<string[]>([]);
  const [title, setTitle] = useState("");
  if (!isAdmin) return <NeedsAdmin what="Tokens" />;
  const changed = () => void client.invalidateQueries({ queryKey: ["tokens"] });
  const create = async () => {
    const expiresInS = lives[life];
    const token = await ask(
      titled(title).POST("/api/v1/tokens", {
        body: {
          name: name.trim(),
          role,
          ...(expiresInS ? { expiresInS } : {}),
          ...(hasPart(role) && tags.length > 0 ? { tags } : {}),
        },
      }),
    );
    setTags([]);
    setMade(token.token);
    setName("");
    setTitle("");
    changed();
  };
  return (
    <Stack>
      {made && (
        <Note tone="busy">
          <Stack>
            <Text>This is shown once. Programs send it as Authorization: Bearer.</Text>
            <Command text={made} />
          </Stack>
        </Note>
      )}
      <Panel title="Tokens" flush actions={<Export name="tokens" rows={() => tokens.data ?? []} />}>
        <Loads query={tokens}>
          {(all) => (
            <List
              rows={all}
              id={(token) => token.name}
              columns={[
                { title: "Name", cell: (token) => <Strong>{token.name}</Strong> },
                { title: "Role", cell: (token) => token.role },
                { title: "Owner", cell: (token) => token.owner || <Muted>not known</Muted> },
                {
                  title: "Part of the fleet",
                  cell: (token) =>
                    token.tags.length === 0 ? (
                      <Muted>all of it</Muted>
                    ) : (
                      <Row>
                        {token.tags.map((tag) => (
                          <Chip key={tag}>{tag}</Chip>
                        ))}
                      </Row>
                    ),
                },
                {
                  title: "Last used",
                  cell: (token) => (
                    <>
                      <Ago at={token.lastUsedAt} /> <Muted>{token.lastUsedFrom}</Muted>
                    </>
                  ),
                },
                { title: "Ends", cell: (token) => <Ago at={token.expiresAt} /> },
                {
                  title: "",
                  right: true,
                  cell: (token) => (
                    <Act
                      needs="admin"
                      size="compact-xs"
                      color="red"
                      says={`${token.name} is revoked`}
                      run={async (title) => {
                        await ask(titled(title).DELETE("/api/v1/tokens/{name}", { params: { path: { name: token.name } } }));
                        changed();
                      }}
                      confirm={{
                        title: `Revoke ${token.name}?`,
                        verb: "Revoke",
                        body: <Text>Every program that uses it is refused from now on. This cannot be undone.</Text>,
                      }}
                    >
                      Revoke
                    </Act>
                  ),
                },
              ]}
            />
          )}
        </Loads>
      </Panel>
      <Panel title="New">
        <Stack>
        <Row>
          <TextInput label="Name" value={name} onChange={(event) => setName(event.currentTarget.value)} />
          <Select
            label="Role"
            w={120}
            data={["viewer", "operator", "author", "admin"]}
            value={role}
            allowDeselect={false}
            onChange={(value) => setRole(value as Role)}
          />
          <PartInput role={role} tags={tags} onChange={setTags} />
          <Select
            label="Ends after"
            w={120}
            data={Object.keys(lives)}
            value={life}
            allowDeselect={false}
            onChange={(value) => setLife(value ?? "30 days")}
          />
          <Act needs="admin" disabled={name.trim() === ""} why="Give a name." run={create}>
            Make a token
          </Act>
        </Row>
        {name.trim() !== "" && <TitleField value={title} onChange={setTitle} />}
        </Stack>
      </Panel>
    </Stack>
  );
}
