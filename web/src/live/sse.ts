/** A Message is one block of an event stream; its data is blank where the block only tells the ID to go on after. */
export interface Message {
  id: string;
  type: string;
  data: string;
  retry: number; // ms; 0: the block does not say when to come back
}

/**
 * messages reads server-sent events. EventSource sends no header, and so not the half of the session that no cookie
 * holds.
 */
export async function* messages(body: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<Message> {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  let lines: string[] = [];
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n");
    rest = parts.pop() ?? "";
    for (const part of parts) {
      const line = part.replace(/\r$/, "");
      if (line !== "") {
        lines.push(line);
        continue;
      }
      yield messageOf(lines);
      lines = [];
    }
  }
}

function messageOf(lines: string[]): Message {
  const message: Message = { id: "", type: "message", data: "", retry: 0 };
  const data: string[] = [];
  for (const line of lines) {
    const [, name, value = ""] = /^([^:]*)(?:: ?(.*))?$/.exec(line) ?? [];
    if (name === "id") message.id = value;
    else if (name === "event") message.type = value;
    else if (name === "data") data.push(value);
    else if (name === "retry" && /^\d+$/.test(value)) message.retry = Number(value);
  }
  message.data = data.join("\n");
  return message;
}
