import { Button } from "@mantine/core";
import { IconDeviceLaptop, IconTag, IconTemplate } from "@tabler/icons-react";
import { useState } from "react";
import { useMay } from "../session/me";
import { Columns, Panel, Stack } from "../ui/layout";
import { Page } from "../ui/page";
import { Command, Text, To } from "../ui/text";
import { AddDevices } from "./AddDevices";

/** FirstSteps leads from nothing to the first managed device and the first template. */
export function FirstSteps() {
  const [adding, setAdding] = useState(false);
  const mayAdd = useMay("admin");
  return (
    <Page title="Welcome to Muster" sub={<span>Three steps to a managed fleet.</span>}>
      <Columns wide>
        <Panel title="1. Add a device">
          <Stack>
            <IconDeviceLaptop size={28} stroke={1.5} aria-hidden />
            <Text>
              A device is one Syncthing daemon. It takes one line on its machine. Muster reads its configuration, and
              writes nothing until a template applies to it.
            </Text>
            <Button onClick={() => setAdding(true)}>Add a device</Button>
          </Stack>
        </Panel>
        <Panel title="2. Tag it">
          <Stack>
            <IconTag size={28} stroke={1.5} aria-hidden />
            <Text>
              Tags tie devices and templates together: “office”, “site:lima”, “laptops”. Give the device one when you add
              it, or later on its page.
            </Text>
            <To href="/devices">Devices</To>
          </Stack>
        </Panel>
        <Panel title="3. Write a template">
          <Stack>
            <IconTemplate size={28} stroke={1.5} aria-hidden />
            <Text>
              A template is a piece of configuration. You see what it does to every device before you save it.
            </Text>
            <To href="/templates/new">Write the first template</To>
          </Stack>
        </Panel>
      </Columns>
      <Panel title="Or look around first">
        <Stack>
          <Text>A fleet of thirty simulated devices, thrown away when you stop it:</Text>
          <Command text="muster serve --demo 30" />
        </Stack>
      </Panel>
      <AddDevices opened={adding} onClose={() => setAdding(false)} may={mayAdd} />
    </Page>
  );
}
