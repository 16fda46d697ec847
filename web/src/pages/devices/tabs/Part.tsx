import { useQuery } from "@tanstack/react-query";
import { inventory } from "../../../api/inventory";
import { queries } from "../../../api/queries";
import { useMay } from "../../../session/me";
import { plural } from "../../../ui/format";
import { Row, Rows, Stack } from "../../../ui/layout";
import { Loads } from "../../../ui/page";
import { TagChips } from "../../../ui/tags";
import { Faint, Muted, Strong, Text, To } from "../../../ui/text";
import { peopleOf } from "./part";

/** Part is who sees a device because of its tags, besides those who see the whole fleet. */
export function Part({ id }: { id: string }) {
  const isAdmin = useMay("admin");
  const fleet = useQuery(inventory());
  const users = useQuery({ ...queries.users(), enabled: isAdmin });
  const tokens = useQuery({ ...queries.tokens(), enabled: isAdmin });
  const tags = fleet.data?.devices.find((one) => one.deviceID === id)?.tags ?? [];
  return (
    <Stack>
      <Text>
        People and tokens that are limited to tags see this device if one of its tags is theirs. Its tags are changed on the{" "}
        <To href={`/devices/${id}`}>overview</To>.
      </Text>
      {!isAdmin ? (
        <Muted>Only an administrator sees who is limited to which tags.</Muted>
      ) : (
        <Loads query={users} rows={1}>
          {(people) => {
            const { inside, whole } = peopleOf([...people, ...(tokens.data ?? [])], tags);
            return (
              <>
                <Rows dense>
                  {inside.map((one) => (
                    <li key={one.name}>
                      <Row>
                        <Strong>{one.name.slice(0, 60)}</Strong>
                        <TagChips tags={one.by} />
                      </Row>
                    </li>
                  ))}
                </Rows>
                {inside.length === 0 && <Faint>Nobody is limited to a tag of this device.</Faint>}
                <Faint>{`${plural(whole, "person or token sees", "people and tokens see")} the whole fleet.`}</Faint>
              </>
            );
          }}
        </Loads>
      )}
    </Stack>
  );
}
