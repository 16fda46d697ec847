import { IconRocket } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useTemplateNames } from "../../api/labels";
import { queries } from "../../api/queries";
import { withTemplates } from "../../ui/difference";
import { Export } from "../../ui/export";
import { brief, plural } from "../../ui/format";
import { List, Panel } from "../../ui/layout";
import { Loads, Nothing, Page } from "../../ui/page";
import { rollouts, State } from "../../ui/state";
import { Ago, Faint, Muted, Stacked, Text, To } from "../../ui/text";

/** Rollouts are changes that affect more than ten devices, newest first. */
export default function Rollouts() {
  const all = useQuery(queries.rollouts());
  const names = useTemplateNames();
  return (
    <Page
      title="Rollouts"
      updatedAt={all.dataUpdatedAt}
      sub={all.data && <span>{plural(all.data.length, "rollout")}, newest first</span>}
      actions={<Export name="rollouts" rows={() => all.data ?? []} />}
    >
      <Loads query={all}>
        {(data) =>
          data.length === 0 ? (
            <Panel>
              <Nothing
                icon={IconRocket}
                title="No rollout yet"
                actions={
                  <>
                    <To href="/templates">Templates</To>
                    <To href="/audit">Audit</To>
                  </>
                }
              >
                A change that affects more than ten devices goes out wave by wave, and stops by itself where a device does
                not come back. A smaller one goes out at once: the history of its template takes it back.
              </Nothing>
            </Panel>
          ) : (
            <Panel flush>
              <List
                kept="sort"
                rows={data}
                id={(one) => one.id}
                columns={[
                  {
                    title: "Rollout",
                    cell: (one) => <To href={`/rollouts/${one.id}`}>{`Rollout ${one.id}`}</To>,
                    by: (one) => one.id,
                  },
                  {
                    title: "Change",
                    cell: (one) => (
                      <Stacked>
                        <Text>{brief(withTemplates(one.cause, names))}</Text>
                        <Faint>{one.reason}</Faint>
                      </Stacked>
                    ),
                  },
                  { title: "Status", cell: (one) => <State badges={rollouts} state={one.status} filled />, by: (one) => one.status },
                  {
                    title: "Waves",
                    cell: (one) =>
                      one.waves.length > 0 ? `${one.wave} of ${one.waves.length}` : <Muted>not begun</Muted>,
                  },
                  {
                    title: "Devices",
                    right: true,
                    cell: (one) => one.waves.reduce((sum, n) => sum + n, 0) || <Muted>not known yet</Muted>,
                  },
                  { title: "Begun", cell: (one) => <Ago at={one.createdAt} />, by: (one) => one.createdAt },
                ]}
              />
            </Panel>
          )
        }
      </Loads>
    </Page>
  );
}
