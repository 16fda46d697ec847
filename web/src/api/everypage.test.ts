import { expect, test, vi } from "vitest";

vi.stubGlobal("document", { baseURI: "http://muster.example/ui/" });

test("a list is read to its end", async () => {
  const { everyPage } = await import("./everypage");
  const asked: string[] = [];
  const all = await everyPage((after) => {
    asked.push(after);
    const [data, next] = after === "" ? [[1, 2], "2"] : after === "2" ? [[3, 4], "4"] : [[5], ""];
    const headers = next ? { Link: `</api/v1/things?limit=2&after=${next}>; rel="next"` } : undefined;
    return Promise.resolve({ data, response: new Response(null, headers ? { headers } : {}) });
  });
  expect(all).toEqual([1, 2, 3, 4, 5]);
  expect(asked).toEqual(["", "2", "4"]);
});
