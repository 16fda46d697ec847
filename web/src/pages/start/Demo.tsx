import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, ask } from "../../api/client";
import { queries } from "../../api/queries";
import { useMay } from "../../session/me";
import { Act } from "../../ui/act";
import { Panel, Row, Stack } from "../../ui/layout";
import { Command, Muted, Text } from "../../ui/text";

const start = "muster serve --demo 30";

/** Demo starts a fleet of simulated devices in a server of its own, opens it, and throws it away. */
export function Demo() {
  const may = useMay("admin");
  const demo = useQuery({ ...queries.demo(), enabled: may });
  const client = useQueryClient();
  const [first, setFirst] = useState(""); // makes the demo's administrator, once
  const read = () => client.invalidateQueries({ queryKey: queries.demo().queryKey });
  const run = async () => {
    const made = await ask(api.POST("/api/v1/demo"));
    setFirst(made.first);
    window.open(made.first, "_blank", "noopener");
    await read();
  };
  const end = async () => {
    await ask(api.DELETE("/api/v1/demo"));
    setFirst("");
    await read();
  };
  if (demo.data?.url) {
    return (
      <Stack>
        <Text>A demo with thirty simulated devices runs beside this server. It ends with it, and after four hours.</Text>
        <Row>
          <a className="u-link" href={first || demo.data.url} target="_blank" rel="noopener">
            Open the demo
          </a>
          <Act
            needs="admin"
            variant="default"
            run={end}
            says="The demo is gone"
            confirm={{
              title: "Throw the demo away?",
              untitled: true,
              verb: "Throw it away",
              body: <Text>Its server ends, with the simulated devices and all that was changed there. Your fleet stays as it is.</Text>,
            }}
          >
            Throw it away
          </Act>
        </Row>
      </Stack>
    );
  }
  const isHere = demo.isSuccess && demo.data.unreachable === "";
  return (
    <Stack>
      <Text>Thirty simulated devices in a server of their own, thrown away when you stop it.</Text>
      {isHere || !may ? (
        <Row>
          <Act needs="admin" variant="default" run={run}>
            Start a demo
          </Act>
        </Row>
      ) : (
        <>
          <Muted>A demo is reached on the machine alone where it runs. Type there:</Muted>
          <Command text={start} />
        </>
      )}
    </Stack>
  );
}

/** RunningDemo is where one finds the demo again that one has started. */
export function RunningDemo() {
  const demo = useQuery({ ...queries.demo(), enabled: useMay("admin") });
  if (!demo.data?.url) return null;
  return (
    <Panel title="Demo">
      <Demo />
    </Panel>
  );
}
