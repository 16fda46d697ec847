import { PasswordInput, TagsInput, TextInput } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { ask, titled } from "../../api/client";
import { queries } from "../../api/queries";
import { useMay } from "../../session/me";
import { Act } from "../../ui/act";
import { Export } from "../../ui/export";
import { Columns, List, Panel, Row, Stack } from "../../ui/layout";
import { Loads, Nothing } from "../../ui/page";
import { Chip, Mono, Muted, Strong, Text } from "../../ui/text";
import { TitleField } from "../../ui/title";
import { NeedsAdmin } from "./NeedsAdmin";

/** Secrets are values that templates pass on and nobody reads. */
export default function Secrets() {
  const mayList = useMay("author");
  const client = useQueryClient();
  const secrets = useQuery({ ...queries.secrets(), enabled: mayList });
  const [name, setName] = useState("");
  const [value, setValue] = useState("");
  const [title, setTitle] = useState("");
  const [keys, setKeys] = useState<string[]>([]);
  const [tags, setTags] = useState<string[]>([]);
  if (!mayList) return <NeedsAdmin what="Secrets" />;
  const changed = () => void client.invalidateQueries({ queryKey: ["secrets"] });
  return (
    <Stack>
      <Panel title="Secrets" flush actions={<Export name="secrets" rows={() => secrets.data ?? []} says="All secrets, without their values" />}>
        <Loads query={secrets}>
          {(all) =>
            all.length === 0 ? (
              <Nothing title="No secret yet">
                Templates name a secret, as in {'"${secret:gui-password}"'}, and it is put in when a change is sent.
              </Nothing>
            ) : (
              <List
                rows={all}
                id={(secret) => secret.name}
                columns={[
                  { title: "Name", cell: (secret) => <Strong>{secret.name}</Strong> },
                  {
                    title: "For the keys",
                    cell: (secret) =>
                      secret.keys.length === 0 ? (
                        <Muted>every secret field</Muted>
                      ) : (
                        <Row>
                          {secret.keys.map((key) => (
                            <Mono key={key}>{key}</Mono>
                          ))}
                        </Row>
                      ),
                  },
                  {
                    title: "For devices with",
                    cell: (secret) =>
                      secret.tags.length === 0 ? (
                        <Muted>any tag</Muted>
                      ) : (
                        <Row>
                          {secret.tags.map((tag) => (
                            <Chip key={tag}>{tag}</Chip>
                          ))}
                        </Row>
                      ),
                  },
                  {
                    title: "",
                    right: true,
                    cell: (secret) => (
                      <Act
                        needs="admin"
                        size="compact-xs"
                        color="red"
                        says={`${secret.name} is forgotten`}
                        run={async (title) => {
                          await ask(
                            titled(title).DELETE("/api/v1/secrets/{secret}", { params: { path: { secret: secret.name } } }),
                          );
                          changed();
                        }}
                        confirm={{
                          title: `Forget ${secret.name}?`,
                          verb: "Forget",
                          body: <Text>Templates that name it fail from now on. Daemons keep what they have.</Text>,
                        }}
                      >
                        Forget
                      </Act>
                    ),
                  },
                ]}
              />
            )
          }
        </Loads>
      </Panel>
      <Panel title="New, or another value">
        <Stack>
          <Columns>
            <TextInput label="Name" value={name} onChange={(event) => setName(event.currentTarget.value)} />
            <PasswordInput
              label="Value"
              description="Shown nowhere"
              autoComplete="off"
              value={value}
              onChange={(event) => setValue(event.currentTarget.value)}
            />
            <TagsInput
              size="xs"
              label="For the keys"
              description="None: only templates of admins use it"
              value={keys}
              onChange={setKeys}
            />
            <TagsInput size="xs" label="For devices with the tags" value={tags} onChange={setTags} />
            <TitleField value={title} onChange={setTitle} />
          </Columns>
          <Row>
            <Act
              needs="admin"
              disabled={name.trim() === "" || value === ""}
              why="Name and value are needed."
              says="Saved"
              run={async () => {
                await ask(
                  titled(title).PUT("/api/v1/secrets/{secret}", {
                    params: { path: { secret: name.trim() } },
                    body: { value, keys, tags },
                  }),
                );
                setTitle("");
                setName("");
                setValue("");
                setKeys([]);
                setTags([]);
                changed();
              }}
            >
              Save
            </Act>
          </Row>
        </Stack>
      </Panel>
    </Stack>
  );
}
