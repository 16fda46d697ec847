import type { Schemas } from "../../api/client";
import { sectionsOf } from "../devices/tabs/sections";

type Plan = Schemas["WhatIfPlan"];

const counts = ["free", "implied", "held"]; // classes of changes that are made, now or after consent

/**
 * restOf is a plan without the devices that are removed: the numbers are of those that stay. The server's sentences and
 * waves are of all devices, so they are left out.
 */
export function restOf(plan: Plan, removed: ReadonlySet<string>): Plan {
  const devices = plan.devices.filter(({ deviceID }) => !removed.has(deviceID));
  const made = devices.flatMap(({ changes }) => changes.filter((one) => counts.includes(one.class)));
  const keys = [...new Set(made.map(({ key }) => key))];
  const touched = {
    devices: devices.filter(({ changes }) => changes.some((one) => counts.includes(one.class))).length,
    failed: devices.filter(({ error }) => error !== "").length,
    folders: sectionsOf(keys).filter((section) => section.startsWith("folders.")).length,
    held: made.filter((one) => one.class === "held").length,
    keys: keys.length,
    refused: devices.flatMap(({ changes }) => changes).filter((one) => one.class === "refused").length,
    unread: devices.filter(({ unread }) => unread).length,
  };
  return { ...plan, devices, touched, summary: { ...plan.summary, sentences: [] }, waves: [], approval: "", truncated: false };
}
