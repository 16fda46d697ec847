import { Select, TextInput } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";
import { api, ask, root, titled, type Schemas } from "../../api/client";
import { queries } from "../../api/queries";
import { useMay, useMe } from "../../session/me";
import type { Role } from "../../session/roles";
import { Act, done, failed } from "../../ui/act";
import { Export } from "../../ui/export";
import { List, Panel, Row, Stack } from "../../ui/layout";
import { Loads, Note } from "../../ui/page";
import { logIns, State } from "../../ui/state";
import { Ago, Command, Strong, Text } from "../../ui/text";
import { TitleField } from "../../ui/title";
import { NeedsAdmin } from "./NeedsAdmin";
import { hasPart, PartInput, PartOfFleet } from "./PartOfFleet";

const roles: { value: Role; label: string }[] = [
  { value: "viewer", label: "viewer: reads" },
  { value: "operator", label: "operator: tags, applies, stops" },
  { value: "author", label: "author: writes templates" },
  { value: "admin", label: "admin: everything" },
];

interface Link {
  user: string;
  path: string;
  expiresAt: string;
}

const lives: Record<string, number | undefined> = { "15 minutes": undefined, "an hour": 3600, "a day": 86_400 };

/** People are the users of this server. */
export default function People() {
  const isAdmin = useMay("admin");
  const me = useMe();
  const client = useQueryClient();
  const users = useQuery({ ...queries.users(), enabled: isAdmin });
  const [link, setLink] = useState<Link>();
  const [life, setLife] = useState("15 minutes");
  if (!isAdmin) return <NeedsAdmin what="People" />;
  const changed = () => void client.invalidateQueries({ queryKey: ["users"] });
  const invite = async (user: string, role: Role) => {
    const expiresInS = role === "admin" ? undefined : lives[life];
    const made = await ask(api.POST("/api/v1/login-links", { body: { user, ...(expiresInS ? { expiresInS } : {}) } }));
    setLink({ user, path: made.path, expiresAt: made.expiresAt });
  };
  return (
    <Stack>
      {link && (
        <Note tone="busy">
          <Stack>
            <Text>
              Send this to <Strong>{link.user}</Strong>: it sets a password, once, and ends <Ago at={link.expiresAt} />.
            </Text>
            <Command text={`${root}${link.path}`} />
          </Stack>
        </Note>
      )}
      <Panel title="People" flush actions={<Export name="people" rows={() => users.data ?? []} />}>
        <Loads query={users}>
          {(all) => (
            <List
              rows={all}
              id={(user) => user.name}
              columns={[
                { title: "Name", cell: (user) => <Strong>{user.name}</Strong> },
                {
                  title: "Role",
                  cell: (user) => <RoleOf user={user} own={user.name === me.name} onChange={changed} />,
                },
                {
                  title: "Part of the fleet",
                  cell: (user) => (
                    <PartOfFleet
                      name={user.name}
                      role={user.role}
                      tags={user.tags}
                      fixed={user.signOn !== undefined || user.disabledAt !== null}
                      store={async (tags, title) => {
                        const params = { path: { user: user.name } };
                        await ask(titled(title).PUT("/api/v1/users/{user}", { params, body: { tags } }));
                        changed();
                      }}
                    />
                  ),
                },
                {
                  title: "Logs in by",
                  cell: (user) => (
                    <State badges={logIns} state={logInOf(user)} hint={user.disabledAt ? `since ${user.disabledAt}` : ""} />
                  ),
                },
                { title: "Last log-in", cell: (user) => <Ago at={user.lastLoginAt} /> },
                {
                  title: "",
                  right: true,
                  cell: (user) => (
                    <Row end nowrap>
                      <Act
                        needs="admin"
                        size="compact-xs"
                        disabled={user.signOn !== undefined || user.disabledAt !== null}
                        why={user.disabledAt ? "Enable the user first." : "The user logs in by single sign-on only."}
                        run={() => invite(user.name, user.role)}
                      >
                        Log-in link
                      </Act>
                      <Access user={user} own={user.name === me.name} onChange={changed} />
                      <Act
                        needs="admin"
                        size="compact-xs"
                        color="red"
                        disabled={user.name === me.name}
                        why="Another administrator has to delete you."
                        says={`${user.name} is deleted`}
                        run={async (title) => {
                          await ask(titled(title).DELETE("/api/v1/users/{user}", { params: { path: { user: user.name } } }));
                          changed();
                        }}
                        confirm={{
                          title: `Delete ${user.name}?`,
                          verb: "Delete",
                          body: (
                            <Text>
                              All sessions of this user end at once. The audit keeps the name.
                              {user.signOn && " The next log-in by single sign-on makes the user anew: Disable prevents it."}
                            </Text>
                          ),
                        }}
                      >
                        Delete
                      </Act>
                    </Row>
                  ),
                },
              ]}
            />
          )}
        </Loads>
      </Panel>
      <Panel title="New">
        <NewUser
          life={
            <Select
              label="The link ends after"
              w={150}
              data={Object.keys(lives)}
              value={life}
              allowDeselect={false}
              onChange={(value) => setLife(value ?? "15 minutes")}
            />
          }
          onMade={(name, role) => {
            changed();
            invite(name, role).catch(failed);
          }}
        />
      </Panel>
    </Stack>
  );
}

function logInOf(user: Schemas["User"]) {
  if (user.disabledAt) return "disabled";
  if (user.signOn) return "signOn";
  return user.hasPassword ? "password" : "none";
}

/** Access keeps a person from logging in, or lets them in again. */
function Access({ user, own, onChange }: { user: Schemas["User"]; own: boolean; onChange: () => void }) {
  const params = { path: { user: user.name } };
  const disable = async (title: string) => {
    await ask(titled(title).PUT("/api/v1/users/{user}/disabled", { params }));
    onChange();
  };
  const enable = async () => {
    await ask(api.DELETE("/api/v1/users/{user}/disabled", { params }));
    onChange();
  };
  if (user.disabledAt) {
    return (
      <Act
        needs="admin"
        size="compact-xs"
        says={`${user.name} can log in again`}
        undo={() => disable("")}
        run={enable}
      >
        Enable
      </Act>
    );
  }
  return (
    <Act
      needs="admin"
      size="compact-xs"
      disabled={own}
      why="Another administrator has to disable you."
      says={`${user.name} is disabled`}
      undo={enable}
      run={(title) => disable(title)}
      confirm={{
        title: `Disable ${user.name}?`,
        verb: "Disable",
        body: (
          <Text>
            All sessions of this user end at once, and no log-in works, by single sign-on neither. Enable undoes it. Tokens
            belong to no user: revoke those that {user.name} knows under Tokens.
          </Text>
        ),
      }}
    >
      Disable
    </Act>
  );
}

function RoleOf({ user, own, onChange }: { user: Schemas["User"]; own: boolean; onChange: () => void }) {
  const store = async (body: Schemas["PutUser"]) => {
    await ask(api.PUT("/api/v1/users/{user}", { params: { path: { user: user.name } }, body })).finally(onChange);
  };
  const put = async (role: Role) => {
    const part = user.tags.length > 0 ? { tags: user.tags } : {}; // A role without a part of the fleet ends it.
    try {
      await store({ role });
      done(`${user.name} is ${role} now`).undo(() => store({ role: user.role, ...part }));
    } catch (error) {
      failed(error);
    }
  };
  return (
    <Select
      aria-label={`Role of ${user.name}`}
      w={110}
      disabled={own || user.signOn !== undefined || user.disabledAt !== null}
      data={roles.map((role) => role.value)}
      value={user.role}
      allowDeselect={false}
      onChange={(role) => void put(role as Role)}
    />
  );
}

function NewUser({ onMade, life }: { onMade: (name: string, role: Role) => void; life: ReactNode }) {
  const [name, setName] = useState("");
  const [role, setRole] = useState<Role>("operator");
  const [tags, setTags] = useState<string[]>([]);
  const [title, setTitle] = useState("");
  return (
    <Stack>
    <Row>
      <TextInput label="Name" value={name} maxLength={64} onChange={(event) => setName(event.currentTarget.value)} />
      <Select
        label="Role"
        w={240}
        data={roles}
        value={role}
        allowDeselect={false}
        onChange={(value) => setRole(value as Role)}
      />
      <PartInput role={role} tags={tags} onChange={setTags} />
      {role !== "admin" && life /* The link of an admin ends after 15 minutes. */}
      <Act
        needs="admin"
        disabled={name.trim() === ""}
        why="Give a name."
        run={async () => {
          const part = hasPart(role) && tags.length > 0 ? { tags } : {};
          await ask(titled(title).POST("/api/v1/users", { body: { name: name.trim(), role, ...part } }));
          setName("");
          setTags([]);
          setTitle("");
          onMade(name.trim(), role);
        }}
      >
        Add, and make a log-in link
      </Act>
    </Row>
    {name.trim() !== "" && <TitleField value={title} onChange={setTitle} />}
    </Stack>
  );
}
