import { useSyncExternalStore } from "react";
import { each } from "../api/each";

/** JobItem is a device of a job. */
export interface JobItem {
  deviceID: string;
  label: string;
}

/** Job is one act for many devices that this page of the browser sends, one request for each device. */
export interface Job {
  id: number;
  says: string; // what is done
  total: number;
  done: number; // requests that were answered, also those that were refused
  waiting: JobItem[]; // a change of theirs waits for a person's answer
  failed: { item: JobItem; reason: string }[];
  isOver: boolean;
  again: () => void; // for those on which it failed
}

let jobs: Job[] = [];
let last = 0;
const listeners = new Set<() => void>();

function replace(next: Job[]) {
  jobs = next;
  for (const listener of listeners) listener();
}

function change(id: number, part: Partial<Job>) {
  replace(jobs.map((job) => (job.id === id ? { ...job, ...part } : job)));
}

/** stay asks a person who closes the page while a job runs: what is not sent yet would not be done. */
const stay = (event: BeforeUnloadEvent) => event.preventDefault();

function watchLeaving() {
  if (jobs.some((job) => !job.isOver)) window.addEventListener("beforeunload", stay);
  else window.removeEventListener("beforeunload", stay);
}

/**
 * startJob does something for each device. The job goes on while the person looks at other pages of the console. act
 * gives "waits" where a change waits for an answer. The promise gives the job once it is over.
 */
export async function startJob<T extends JobItem>(
  says: string,
  items: T[],
  act: (item: T) => Promise<unknown>,
  onOver: () => void,
): Promise<Job> {
  const id = ++last;
  const waiting: JobItem[] = [];
  const first: Job = { id, says, total: items.length, done: 0, waiting, failed: [], isOver: false, again: () => undefined };
  replace([first, ...jobs]);
  watchLeaving();
  const outcome = await each(
    items,
    async (item) => {
      if ((await act(item)) === "waits") waiting.push(item);
    },
    (done, so) => change(id, { done, failed: [...so.failed], waiting: [...waiting] }),
  );
  const again = () => {
    dismissJob(id);
    void startJob(says, outcome.failed.map(({ item }) => item), act, onOver);
  };
  change(id, { isOver: true, again });
  watchLeaving();
  onOver();
  return jobs.find((job) => job.id === id) ?? { ...first, ...outcome, done: items.length, isOver: true, again };
}

/** dismissJob takes a job that is over from the page. */
export function dismissJob(id: number) {
  replace(jobs.filter((job) => job.id !== id));
}

function subscribe(listener: () => void) {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/** useJobs are the jobs of this page of the browser, the newest first. */
export function useJobs(): Job[] {
  return useSyncExternalStore(subscribe, () => jobs);
}
