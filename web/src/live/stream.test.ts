import { afterEach, beforeEach, expect, test, vi } from "vitest";

const whoami = vi.hoisted(() => vi.fn());
vi.mock("../api/client", () => ({ root: "", api: { GET: whoami }, ask: (answer: unknown) => answer }));

const { Stream } = await import("./stream");

/** FakeSource is a connection of the browser that the test ends. */
class FakeSource {
  static readonly CLOSED = 2;
  static all: FakeSource[] = [];
  static open = () => FakeSource.all.filter((source) => source.readyState !== FakeSource.CLOSED).length;
  readyState = 1;
  onopen: () => void = () => undefined;
  onerror: () => void = () => undefined;

  constructor(readonly url: string) {
    FakeSource.all.push(this);
  }
  addEventListener() {}
  close() {
    this.readyState = FakeSource.CLOSED;
  }
  refuse() {
    this.close();
    this.onerror();
  }
}

const page = Object.assign(new EventTarget(), { hidden: false });
function show(isShown: boolean) {
  page.hidden = !isShown;
  page.dispatchEvent(new Event("visibilitychange"));
}

let stream: InstanceType<typeof Stream>;
beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("document", page);
  vi.stubGlobal("EventSource", FakeSource);
  whoami.mockReset().mockResolvedValue({});
  page.hidden = false;
  FakeSource.all = [];
  stream = new Stream(
    () => undefined,
    () => undefined,
  );
});
afterEach(() => {
  stream.close();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test("a page that is hidden and shown while the stream waits to open again has one connection", async () => {
  FakeSource.all[0]?.refuse();
  show(false);
  show(true);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(FakeSource.open()).toBe(1);
});

test("a page that is shown while the server is asked whether it is back has one connection", async () => {
  let answer: (value: unknown) => void = () => undefined;
  whoami.mockReturnValue(new Promise((resolve) => (answer = resolve)));
  FakeSource.all[0]?.refuse();
  await vi.advanceTimersByTimeAsync(5000);
  show(false);
  show(true);
  answer({});
  await vi.advanceTimersByTimeAsync(60_000);
  expect(FakeSource.open()).toBe(1);
});

test("a page that stays hidden rests, also when the stream was lost, and comes back when it shows", async () => {
  FakeSource.all[0]?.refuse();
  show(false);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(FakeSource.open()).toBe(0);
  show(true);
  await vi.advanceTimersByTimeAsync(5000);
  expect(FakeSource.open()).toBe(1);
});

test("a stream that ended while the server is asked stays ended", async () => {
  let answer: (value: unknown) => void = () => undefined;
  whoami.mockReturnValue(new Promise((resolve) => (answer = resolve)));
  FakeSource.all[0]?.refuse();
  await vi.advanceTimersByTimeAsync(5000);
  stream.close();
  answer({});
  await vi.advanceTimersByTimeAsync(60_000);
  expect(FakeSource.open()).toBe(0);
});
