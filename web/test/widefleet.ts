import type { Muster } from "./muster";

const long = "a-label-that-goes-on-and-on-without-any-place-where-it-could-be-broken-into-two-lines-of-text";

/** names are what people call things: without a place to break, in scripts without blanks, from right to left. */
export const names = [
  long,
  "東京都千代田区霞が関三丁目の会議室に置いてある共有ファイルサーバーの予備機その二十三番目の端末です",
  "مكتب المدير العام في الطابق الثاني عشر من المبنى الشمالي بجانب قاعة الاجتماعات الكبيرة رقم سبعة",
  "W".repeat(80),
  "Ω≈ç√∫˜µ≤≥÷ åß∂ƒ©˙∆˚¬…æ a name with blanks in it that is longer than any line on a narrow telephone",
];

const mostTags = 200;

/** wide gives a fleet long names, and one of its devices 200 tags. */
export async function wide(muster: Muster): Promise<{ device: string; folder: string; template: number; tag: string }> {
  const { devices } = await muster.call<{ devices: { deviceID: string }[] }>("GET", "/inventory");
  const ids = devices.map((one) => one.deviceID);
  const [device = "", other = ""] = ids;
  for (const [i, name] of names.entries()) await muster.call("PUT", `/devices/${ids[i] ?? ""}`, { label: name });
  const { generation } = await muster.call<{ generation: number }>("GET", "/overview");
  const tags = Array.from({ length: mostTags }, (_, i) => `site:${"verylongsitename".repeat(1 + (i % 4))}-${i}`);
  const tag = tags[3] ?? "";
  const label = `${long}-template`;
  const folder = "a-folder-whose-id-is-longer-than-sixty-characters-and-has-no-blanks-at-all";
  await muster.call("POST", "/changes", {
    generation,
    tags: { added: tags.map((one) => ({ device, tag: one })).concat({ device: other, tag }) },
    templates: {
      new: [
        { label, op: "set", key: "options.reconnectionIntervalS", template: "90", tags: [tag] },
        {
          ...{ label: names[1], op: "merge", key: `folders.${folder}`, tags: [tag] },
          template: `{ path: "~/${long}", label: "${names[2] ?? ""}" }`,
        },
      ],
    },
  });
  const all = await muster.call<{ id: number; label: string }[]>("GET", "/templates");
  await muster.call("POST", "/users", { name: "u".repeat(64), role: "viewer", password: "correct horse battery" });
  await muster.call("POST", "/tokens", { name: `${long}-token`.slice(0, 64), role: "viewer" });
  await muster.call("PUT", `/secrets/${"s".repeat(64)}`, { value: "hidden" });
  return { device, folder, template: all.find((one) => one.label === label)?.id ?? 0, tag };
}
