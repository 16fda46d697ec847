import { afterEach, beforeEach, expect, test, vi } from "vitest";

const whoami = vi.hoisted(() => vi.fn());
vi.mock("../api/client", () => ({ root: "", api: { GET: whoami }, ask: (answer: unknown) => answer }));

const { Stream } = await import("./stream");

/** Answer is what the server answers to one request for the stream. */
class Answer {
  static all: Answer[] = [];
  static open = () => Answer.all.filter((one) => !one.isOver()).length;
  private isEnded = false;
  private body: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>> | undefined;
  private reply: (response: Response) => void = () => undefined;
  readonly response = new Promise<Response>((resolve) => (this.reply = resolve));

  constructor(readonly init: RequestInit) {
    Answer.all.push(this);
  }
  isOver() {
    return this.isEnded || this.init.signal?.aborted === true;
  }
  refuse() {
    this.isEnded = true;
    this.reply(new Response(null, { status: 401 }));
  }
  begin() {
    this.reply(new Response(new ReadableStream<Uint8Array<ArrayBuffer>>({ start: (body) => void (this.body = body) })));
  }
  send(text: string) {
    this.body?.enqueue(new TextEncoder().encode(text));
  }
  end() {
    this.isEnded = true;
    this.body?.close();
  }
}

const page = Object.assign(new EventTarget(), { hidden: false });
function show(isShown: boolean) {
  page.hidden = !isShown;
  page.dispatchEvent(new Event("visibilitychange"));
}

const events: number[] = [];
let stream: InstanceType<typeof Stream>;
beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("document", page);
  vi.stubGlobal("localStorage", { getItem: () => "the other half" });
  vi.stubGlobal("fetch", (_: string, init: RequestInit) => new Answer(init).response);
  whoami.mockReset().mockResolvedValue({});
  page.hidden = false;
  Answer.all = [];
  events.length = 0;
  stream = new Stream(
    (event) => events.push(event.id),
    () => undefined,
  );
});
afterEach(() => {
  stream.close();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test("a page that is hidden and shown while the stream waits to open again has one connection", async () => {
  Answer.all[0]?.refuse();
  show(false);
  show(true);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(Answer.open()).toBe(1);
});

test("a page that is shown while the server is asked whether it is back has one connection", async () => {
  let answer: (value: unknown) => void = () => undefined;
  whoami.mockReturnValue(new Promise((resolve) => (answer = resolve)));
  Answer.all[0]?.refuse();
  await vi.advanceTimersByTimeAsync(5000);
  show(false);
  show(true);
  answer({});
  await vi.advanceTimersByTimeAsync(60_000);
  expect(Answer.open()).toBe(1);
});

test("a page that stays hidden rests, also when the stream was lost, and comes back when it shows", async () => {
  Answer.all[0]?.refuse();
  show(false);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(Answer.open()).toBe(0);
  show(true);
  await vi.advanceTimersByTimeAsync(5000);
  expect(Answer.open()).toBe(1);
});

test("a stream that ended while the server is asked stays ended", async () => {
  let answer: (value: unknown) => void = () => undefined;
  whoami.mockReturnValue(new Promise((resolve) => (answer = resolve)));
  Answer.all[0]?.refuse();
  await vi.advanceTimersByTimeAsync(5000);
  stream.close();
  answer({});
  await vi.advanceTimersByTimeAsync(60_000);
  expect(Answer.open()).toBe(0);
});

test("a stream that breaks off goes on after its last event, later after each failure", async () => {
  Answer.all[0]?.begin();
  await vi.advanceTimersByTimeAsync(0);
  Answer.all[0]?.send('retry: 1000\nid: 3\n\nid: 4\nevent: device\ndata: {"id":4}\n\nid: 5\n\n');
  await vi.advanceTimersByTimeAsync(0);
  expect(new Headers(Answer.all[0]?.init.headers).get("Muster-Session")).toBe("the other half");
  Answer.all[0]?.end();
  await vi.advanceTimersByTimeAsync(1000);
  expect(events).toEqual([4]);
  expect(new Headers(Answer.all[1]?.init.headers).get("Last-Event-ID")).toBe("5");
  Answer.all[1]?.begin();
  await vi.advanceTimersByTimeAsync(0);
  Answer.all[1]?.end();
  await vi.advanceTimersByTimeAsync(1000);
  expect(Answer.all.length).toBe(2);
  await vi.advanceTimersByTimeAsync(1000);
  expect(Answer.all.length).toBe(3);
});
