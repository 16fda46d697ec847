import { Select, Switch } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useLocation } from "wouter";
import { api, ask, titled, type Schemas } from "../../../api/client";
import { queries } from "../../../api/queries";
import { useMay } from "../../../session/me";
import { Act, done, failed, warn } from "../../../ui/act";
import { Columns, Fact, Facts, Panel, Stack } from "../../../ui/layout";
import { Loads, Note } from "../../../ui/page";
import { modeChoices } from "../../../ui/stopping";
import { QuietAfter } from "../../../ui/QuietAfter";
import { Ago, Faint, Mono, Muted, Text } from "../../../ui/text";
import { ExportVars, Vars } from "../../vars/Vars";
import { Revoke } from "../Revoke";
import { Part } from "./Part";
import { Record } from "./Record";
import { WaysOfStopping } from "../../../ui/WaysOfStopping";

type DeviceSettings = Schemas["DeviceSettings"];

/** Settings of one device: whether Muster writes to it, what proves it, and its removal. */
export default function Settings({ id, name }: { id: string; name: string }) {
  const settings = useQuery(queries.deviceSettings(id));
  const trust = useQuery(queries.deviceTrust(id));
  return (
    <Columns wide>
      <Panel title="Name and access">
        <Record id={id} />
      </Panel>
      <Panel title="Writing">
        <Loads query={settings}>{(data) => <Writing id={id} settings={data} />}</Loads>
      </Panel>
      <Panel title="Away">
        <Loads query={settings} rows={2}>
          {({ quietAfter }) => <Quiet key={quietAfter} id={id} seconds={quietAfter} />}
        </Loads>
      </Panel>
      <Panel title="Vars" actions={<ExportVars of={{ device: id }} />}>
        <Vars of={{ device: id }} />
      </Panel>
      <Panel title="Part of the fleet">
        <Part id={id} />
      </Panel>
      <Panel title="Certificate of its API">
        <Loads query={trust}>{(data) => <Trust id={id} trust={data} />}</Loads>
      </Panel>
      <Panel title="Gone for good">
        <Revoke id={id} name={name} />
      </Panel>
      <Panel title="Removal">
        <Removal id={id} name={name} />
      </Panel>
    </Columns>
  );
}

type Changed = Partial<Pick<DeviceSettings, "mode" | "allowPlain" | "restart" | "quietAfter" | "way">>;

function useStore(id: string) {
  const client = useQueryClient();
  const isAdmin = useMay("admin");
  return async (body: Changed, former: Changed) => {
    const put = async (to: Changed) => {
      const now = await ask(
        api.PUT("/api/v1/devices/{deviceID}/settings", { params: { path: { deviceID: id } }, body: to }),
      );
      void client.invalidateQueries();
      return now;
    };
    try {
      const stored = await put(body);
      if (stored.warning) warn(stored.warning);
      else if (isAdmin || body.mode === undefined) done("Saved").undo(() => put(former));
      else done("Saved"); // Only an administrator has Muster write again.
    } catch (error) {
      failed(error);
    }
  };
}

function Quiet({ id, seconds }: { id: string; seconds: number }) {
  const store = useStore(id);
  return (
    <QuietAfter
      seconds={seconds}
      usual="as its tags say, or as usual for the server"
      store={(quietAfter) => store({ quietAfter }, { quietAfter: seconds })}
    />
  );
}

function Writing({ id, settings }: { id: string; settings: DeviceSettings }) {
  const isAdmin = useMay("admin");
  const isOperator = useMay("operator");
  const put = useStore(id);
  return (
    <Stack>
      <Select
        label="Mode"
        description={isAdmin ? undefined : "An operator may stop; only an administrator has Muster write again"}
        data={modeChoices(isAdmin, isOperator)}
        value={settings.mode}
        onChange={(mode) => void put({ mode: mode as DeviceSettings["mode"] }, { mode: settings.mode })}
        allowDeselect={false}
      />
      <WaysOfStopping />
      <Select
        label="How it is reached"
        disabled={!isAdmin}
        data={[
          { value: "auto", label: "By its agent while that is connected, else at its address" },
          { value: "agent", label: "By its agent only" },
          { value: "direct", label: "At its address only, or where it is discovered" },
        ]}
        value={settings.way}
        onChange={(way) => void put({ way: way as DeviceSettings["way"] }, { way: settings.way })}
        allowDeselect={false}
      />
      <Switch
        size="xs"
        label="Restart the daemon after a change that needs it"
        disabled={!isAdmin}
        checked={settings.restart}
        onChange={(event) => void put({ restart: event.currentTarget.checked }, { restart: settings.restart })}
      />
      <Switch
        size="xs"
        label="Allow plain HTTP, although the address is not this machine's own"
        disabled={!isAdmin}
        checked={settings.allowPlain}
        onChange={(event) => void put({ allowPlain: event.currentTarget.checked }, { allowPlain: settings.allowPlain })}
      />
      {!isAdmin && <Faint>What is disabled needs an administrator.</Faint>}
    </Stack>
  );
}

const origins: Record<string, string> = {
  firstUse: "trusted on first use",
  given: "given by an administrator, or on the daemon’s machine",
  forgotten: "forgotten by an administrator",
};

function Trust({ id, trust }: { id: string; trust: Schemas["DeviceTrust"] }) {
  const client = useQueryClient();
  const { pinned, presented } = trust;
  const pin = async (fingerprint: string) => {
    await ask(
      api.PUT("/api/v1/devices/{deviceID}/settings", { params: { path: { deviceID: id } }, body: { pin: fingerprint } }),
    );
    void client.invalidateQueries();
  };
  const differs = presented.fingerprint !== "" && presented.fingerprint !== pinned.fingerprint;
  return (
    <Stack>
      {trust.altered && (
        <Note tone="bad">The record of this device was not written by Muster. It is not contacted until a pin is given.</Note>
      )}
      <Facts>
        <Fact name="Pinned">
          {pinned.fingerprint ? <Mono>{pinned.fingerprint}</Mono> : <Muted>none yet</Muted>}
        </Fact>
        {trust.origin && <Fact name="How">{origins[trust.origin] ?? trust.origin}</Fact>}
        {pinned.notAfter && (
          <Fact name="Ends">
            <Ago at={pinned.notAfter} />
          </Fact>
        )}
        {differs && (
          <>
            <Fact name="Shown instead">
              <Mono>{presented.fingerprint}</Mono>
            </Fact>
            <Fact name="Where">
              {presented.address} ({presented.foundBy}), <Ago at={presented.at} />
            </Fact>
          </>
        )}
      </Facts>
      {differs && (
        <>
          <Note>
            The daemon at this address is not proven to be the device. Compare the fingerprint with the one that
            Syncthing’s own page, or its https-cert.pem, has. No API key was sent there.
          </Note>
          <Act
            needs="admin"
            says="The certificate is trusted"
            undo={pinned.fingerprint ? () => pin(pinned.fingerprint) : undefined}
            run={async (title) => {
              await ask(
                titled(title).POST("/api/v1/devices/{deviceID}/trust", {
                  params: { path: { deviceID: id } },
                  body: { fingerprint: presented.fingerprint },
                }),
              );
              void client.invalidateQueries();
            }}
            confirm={{
              title: "Trust this certificate?",
              verb: "I compared it: trust it",
              body: (
                <Stack>
                  <Text>From then on the API key of the device is sent to who shows it:</Text>
                  <Mono>{presented.fingerprint}</Mono>
                </Stack>
              ),
            }}
          >
            Trust the certificate that is shown
          </Act>
        </>
      )}
    </Stack>
  );
}

function Removal({ id, name }: { id: string; name: string }) {
  const client = useQueryClient();
  const [, navigate] = useLocation();
  return (
    <Stack>
      <Text>
        Muster forgets the device: its tags, its history and what it knows of its folders. The daemon is left as it is
        and goes on syncing. The audit stays.
      </Text>
      <Act
        needs="admin"
        color="red"
        says={`${name} is no longer managed`}
        run={async (title) => {
          await ask(titled(title).DELETE("/api/v1/devices/{deviceID}", { params: { path: { deviceID: id } } }));
          navigate("/devices");
          void client.invalidateQueries();
        }}
        confirm={{
          title: `Remove ${name.slice(0, 60)}?`,
          verb: "Remove",
          body: (
            <Text>
              Its tags, vars, settings and history are deleted, and nothing brings them back. The daemon is left as it
              is and goes on syncing.
            </Text>
          ),
        }}
      >
        Remove this device
      </Act>
    </Stack>
  );
}
