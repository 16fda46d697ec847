import { Button } from "@mantine/core";
import { useLocalStorage } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { queries } from "../../api/queries";
import { useMe } from "../../session/me";
import { count, plural, sentence, shortID } from "../../ui/format";
import { dismissJob, useJobs, type Job } from "../../ui/jobs";
import { Grow, Panel, Row, Rows, Stack } from "../../ui/layout";
import { useNow } from "../../ui/now";
import { Bar, Strong, Text, To } from "../../ui/text";
import { Named } from "../whatif/Effect";
import { OrderLine } from "./OrderLine";
import { recentOrders } from "./recentorders";

/**
 * Progress shows what is under way for many devices, and what came of it lately: orders as the server knows them, so that
 * they show again to who comes back, and what this page of the browser does itself.
 */
export function Progress() {
  const me = useMe();
  const now = useNow();
  const jobs = useJobs();
  const orders = useQuery(queries.orders());
  const [hidden, setHidden] = useLocalStorage<number[]>({ key: "muster.orders.hidden", defaultValue: [] });
  const shown = recentOrders(orders.data ?? [], me.name, now, hidden);
  if (shown.length + jobs.length === 0) return null;
  const hide = () => {
    for (const job of jobs) if (job.isOver) dismissJob(job.id);
    setHidden((before) => [...before, ...shown.filter((one) => one.status !== "running").map(({ id }) => id)].slice(-100));
  };
  const hasEnded = shown.some((one) => one.status !== "running") || jobs.some((job) => job.isOver);
  return (
    <Panel
      flush
      title="For many devices"
      actions={
        hasEnded && (
          <Button variant="subtle" color="gray" size="compact-xs" onClick={hide}>
            Hide what has ended
          </Button>
        )
      }
    >
      <Rows>
        {jobs.map((job) => (
          <li key={`job-${job.id}`}>
            <JobLine job={job} />
          </li>
        ))}
        {shown.map((order) => (
          <li key={order.id}>
            <OrderLine order={order} />
          </li>
        ))}
      </Rows>
    </Panel>
  );
}

const mostListed = 50; // devices

function JobLine({ job }: { job: Job }) {
  const [opened, setOpened] = useState(false);
  const { failed, waiting } = job;
  const counts = [
    `${count(job.done)} of ${plural(job.total, "device")}`,
    ...(failed.length > 0 ? [`${count(failed.length)} failed`] : []),
    ...(waiting.length > 0 ? [`${count(waiting.length)} wait for an answer`] : []),
  ].join(", ");
  return (
    <Stack tight>
      <Row>
        <Strong>{job.says}</Strong>
        <Text>{counts}</Text>
        {waiting.length > 0 && <To href="/">What waits</To>}
        {failed.length > 0 && (
          <button type="button" className="u-link" onClick={() => setOpened(!opened)}>
            {opened ? "Hide why" : "Why"}
          </button>
        )}
        <Grow />
        {job.isOver && failed.length > 0 && (
          <Button size="compact-xs" variant="default" onClick={job.again}>
            {`Again for ${plural(failed.length, "device")}`}
          </Button>
        )}
      </Row>
      {!job.isOver && (
        <>
          <Bar value={Math.floor((job.done / job.total) * 100)} tone="plain" label={`${job.says}: ${counts}`} />
          <Text>This page of the browser sends it: it goes on while you look at other pages here, and ends when you close it.</Text>
        </>
      )}
      {waiting.length > 0 && job.isOver && <Named devices={waiting} />}
      {opened && (
        <Rows dense>
          {failed.slice(0, mostListed).map(({ item, reason }) => (
            <li key={item.deviceID}>
              <Strong>{item.label || shortID(item.deviceID)}</Strong> <Text>{sentence(reason)}</Text>
            </li>
          ))}
          {failed.length > mostListed && <li>and {count(failed.length - mostListed)} more</li>}
        </Rows>
      )}
    </Stack>
  );
}
