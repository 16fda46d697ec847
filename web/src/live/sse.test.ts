import { expect, test } from "vitest";
import { messages, type Message } from "./sse";

/** read gives the messages of a stream that comes in these pieces. */
async function read(...pieces: string[]): Promise<Message[]> {
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    start: (controller) => {
      for (const piece of pieces) controller.enqueue(encoder.encode(piece));
      controller.close();
    },
  });
  const all: Message[] = [];
  for await (const message of messages(body)) all.push(message);
  return all;
}

test("an event that comes in pieces is read once, whole, and one without its end is not", async () => {
  const whole = 'id: 7\nevent: device\ndata: {"a":\ndata: "ü: b"}\n\n';
  for (let cut = 0; cut <= whole.length; cut++) {
    expect(await read(whole.slice(0, cut), whole.slice(cut), "id: 8\nevent: plan\ndata: {}\n")).toEqual([
      { id: "7", type: "device", data: '{"a":\n"ü: b"}', retry: 0 },
    ]);
  }
});

test("a block without data tells the ID to go on after, and when to come back", async () => {
  expect(await read("retry: 2000\r\n: still here\r\nid: 3\r\n\r\n")).toEqual([
    { id: "3", type: "message", data: "", retry: 2000 },
  ]);
});
