import type { LiveEvent } from "./patch";
import { eventText } from "./eventtext";

/** Happened is one event as a page shows it: small, so that a thousand of them can be kept. */
export interface Happened {
  id: number;
  at: string;
  type: string;
  device: string;
  text: string;
  href: string; // of what it is about, where that is no device
}

const most = 1000;
const tellAfter = 500; // ms: many events make one change of the page

/** Recent keeps the last events of the one stream, the newest first. */
export class Recent {
  private kept: Happened[] = [];
  private shown: readonly Happened[] = [];
  private timer: ReturnType<typeof setTimeout> | undefined;
  private readonly listeners = new Set<() => void>();

  readonly add = (event: LiveEvent) => {
    const { id, type, device, time } = event;
    this.kept.push({ id, type, device, at: time, ...eventText(event) });
    if (this.kept.length >= 2 * most) this.kept = this.kept.slice(-most);
    if (this.listeners.size > 0) this.timer ??= setTimeout(this.tell, tellAfter);
  };

  readonly subscribe = (listener: () => void) => {
    if (this.listeners.size === 0) this.shown = this.newestFirst();
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  };

  readonly now = (): readonly Happened[] => this.shown;

  private readonly tell = () => {
    this.timer = undefined;
    this.shown = this.newestFirst();
    for (const listener of this.listeners) listener();
  };

  private newestFirst(): Happened[] {
    return this.kept.slice(-most).reverse();
  }
}

export const recent = new Recent();
