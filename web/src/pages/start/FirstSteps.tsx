import { Button } from "@mantine/core";
import { IconCircleCheck, IconDeviceLaptop, IconTag, IconTemplate } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";
import { inventory } from "../../api/inventory";
import { useMay } from "../../session/me";
import { Act } from "../../ui/act";
import { plural, sentence, shortID } from "../../ui/format";
import { Columns, Panel, Row, Stack } from "../../ui/layout";
import { Page } from "../../ui/page";
import { Muted, Text, To } from "../../ui/text";
import { AddDevices } from "../devices/AddDevices";
import { Demo } from "./Demo";

/** FirstSteps leads from nothing to the first managed device and the first template. What is done is marked so. */
export function FirstSteps({ devices }: { devices: number }) {
  const fleet = useQuery(inventory());
  const tagged = (fleet.data?.devices ?? []).filter((device) => device.tags.length > 0).length;
  const silent = (fleet.data?.devices ?? []).filter((device) => device.connection !== "online").slice(0, 3);
  const [adding, setAdding] = useState(false);
  const mayAdd = useMay("admin");
  return (
    <Page title="Welcome to Muster" sub={<span>Three steps to a managed fleet.</span>}>
      <Columns wide>
        <Panel title="1. Add a device">
          <Stack>
            <IconDeviceLaptop size={28} stroke={1.5} aria-hidden />
            <Text>
              A device is one Syncthing daemon. Muster reads its configuration, and
              writes nothing until a template applies to it.
            </Text>
            {devices > 0 && <Done>{`${plural(devices, "device is", "devices are")} managed`}</Done>}
            {silent.map((device) => (
              <Muted key={device.deviceID}>
                <To href={`/devices/${device.deviceID}`}>{device.label.slice(0, 60) || shortID(device.deviceID)}</To>:{" "}
                {sentence(device.reason || "it has not answered yet")}
              </Muted>
            ))}
            <Act needs="admin" variant={devices > 0 ? "default" : "filled"} run={() => Promise.resolve(setAdding(true))}>
              {devices > 0 ? "Add another device" : "Add a device"}
            </Act>
          </Stack>
        </Panel>
        <Panel title="2. Tag it">
          <Stack>
            <IconTag size={28} stroke={1.5} aria-hidden />
            <Text>
              Tags tie devices and templates together: “office”, “site:lima”, “laptops”. Give the device one when you add
              it, or later on its page.
            </Text>
            {tagged > 0 && <Done>{`${plural(tagged, "device has", "devices have")} a tag`}</Done>}
            <To href="/devices">Devices</To>
          </Stack>
        </Panel>
        <Panel title="3. Write a template">
          <Stack>
            <IconTemplate size={28} stroke={1.5} aria-hidden />
            <Text>
              A template is a piece of configuration. You see what it does to every device before you save it.
            </Text>
            <Button
              component={Link}
              href="/templates/forms"
              variant={devices > 0 ? "filled" : "default"}
            >
              Write the first template
            </Button>
          </Stack>
        </Panel>
      </Columns>
      <Panel title="Or look around first">
        <Demo />
      </Panel>
      <AddDevices opened={adding} onClose={() => setAdding(false)} may={mayAdd} />
    </Page>
  );
}

function Done({ children }: { children: string }) {
  return (
    <Row>
      <IconCircleCheck size={16} aria-hidden />
      <Text>{children}</Text>
    </Row>
  );
}
