import { Button } from "@mantine/core";
import { IconCircleCheck, IconCircleX, IconHelpCircle, IconPrinter } from "@tabler/icons-react";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, type Schemas } from "../../api/client";
import { everyPage, mostAtOnce } from "../../api/everypage";
import { queries } from "../../api/queries";
import { Export } from "../../ui/export";
import { count, plural, sentence, shortID } from "../../ui/format";
import { Columns, Fact, Facts, List, Panel, Stack } from "../../ui/layout";
import { Loads, More, Page } from "../../ui/page";
import { State, type Badge } from "../../ui/state";
import { Bar, CellLink, Faint, Mono, Muted, Prose, Stacked, Strong } from "../../ui/text";

/** stamp is a time as it stands on paper, which may be read anywhere. */
const stamp = (at: string) => `${at.slice(0, 10)} ${at.slice(11, 19)} UTC`;

type Certificate = Schemas["RevocationCertificate"];
type Proof = Schemas["RevocationProof"];

/** Revocation is the certificate of a revocation. It is printed for people outside. */
export default function Revocation({ id }: { id: string }) {
  const certificate = useQuery(queries.revocation(id));
  const name = certificate.data ? certificate.data.label || shortID(id) : shortID(id);
  return (
    <Page
      title={`Revocation of ${name}`}
      crumb={{ href: "/settings?tab=enrolment", text: "Revoked devices" }}
      updatedAt={certificate.dataUpdatedAt}
      actions={<Print id={id} />}
    >
      <Loads query={certificate}>{(data) => <Shown of={data} />}</Loads>
    </Page>
  );
}

/** Print prints the page once it has all devices. */
function Print({ id }: { id: string }) {
  const { hasNextPage, fetchNextPage } = useInfiniteQuery(queries.revocationProofs(id));
  const [busy, setBusy] = useState(false);
  const print = async () => {
    setBusy(true);
    for (let more = hasNextPage; more; ) more = (await fetchNextPage()).hasNextPage;
    setBusy(false);
    setTimeout(() => window.print()); // after the page shows them
  };
  return (
    <Button variant="default" leftSection={<IconPrinter size={16} aria-hidden />} loading={busy} onClick={() => void print()}>
      Print
    </Button>
  );
}

function Shown({ of }: { of: Certificate }) {
  return (
    <Stack>
      <Panel>
        <Facts>
          <Fact name="Device ID">
            <Mono>{of.deviceID}</Mono>
          </Fact>
          <Fact name="Revoked">
            {stamp(of.revokedAt)} by {of.revokedBy}
          </Fact>
          {of.reason && <Fact name="Reason">{of.reason}</Fact>}
          <Fact name="As of">
            {stamp(of.at)}
          </Fact>
          <Fact name="Proven gone">
            <Stacked>
              <Strong>
                {of.percent} %, from {count(of.gone)} of {plural(of.devices, "managed device")}
              </Strong>
              <Bar value={of.percent} tone={of.complete ? "good" : "plain"} label="Proven gone" />
              {of.since && (
                <Faint>
                  Since {stamp(of.since)}
                </Faint>
              )}
            </Stacked>
          </Fact>
        </Facts>
      </Panel>
      <Panel
        title="Managed devices"
        flush
        actions={<Export name={`revocation-of-${shortID(of.deviceID)}`} rows={() => everyProof(of.deviceID)} says="All devices" />}
      >
        <Proofs id={of.deviceID} />
      </Panel>
      <Columns wide>
        <Knew of={of.knew} />
        <Unknown of={of} />
      </Columns>
      <Panel title="What this says">
        <ul>
          {of.says.map((text) => (
            <li key={text}>
              <Prose>{text}</Prose>
            </li>
          ))}
        </ul>
      </Panel>
    </Stack>
  );
}

/** everyProof reads what is proven of all managed devices. */
function everyProof(deviceID: string) {
  return everyPage((after) =>
    api.GET("/api/v1/revocations/{deviceID}/devices", {
      params: { path: { deviceID }, query: { limit: mostAtOnce, ...(after ? { after } : {}) } },
    }),
  );
}

const states: Record<string, Badge> = {
  gone: { word: "Proven gone", tone: "good", icon: IconCircleCheck },
  unproven: { word: "Not proven", tone: "wait", icon: IconHelpCircle },
  there: { word: "Has the device", tone: "bad", icon: IconCircleX },
};

function Proofs({ id }: { id: string }) {
  const proofs = useInfiniteQuery(queries.revocationProofs(id));
  return (
    <Loads query={proofs} rows={4}>
      {(all) => (
        <>
          <List
            rows={all}
            id={({ deviceID }) => deviceID}
            columns={[
              {
                title: "Device",
                cell: ({ deviceID, label }) => (
                  <CellLink href={`/devices/${deviceID}`}>{label || shortID(deviceID)}</CellLink>
                ),
              },
              { title: "State", cell: (proof) => <Standing of={proof} /> },
              { title: "Configuration read", cell: ({ configAt }) => (configAt ? stamp(configAt) : <Muted>–</Muted>) },
              {
                title: "Connections read",
                cell: ({ connectionsAt }) => (connectionsAt ? stamp(connectionsAt) : <Muted>–</Muted>),
              },
            ]}
          />
          <More query={proofs}>More devices</More>
        </>
      )}
    </Loads>
  );
}

function Standing({ of: { state, reason, returns, returnedAt } }: { of: Proof }) {
  return (
    <Stacked>
      <State badges={states} state={state} />
      {reason && <Faint>{sentence(reason)}</Faint>}
      {returns > 0 && returnedAt && (
        <Faint>
          Was there again {plural(returns, "time")}, last seen {stamp(returnedAt)}
        </Faint>
      )}
    </Stacked>
  );
}

/** Knew lists the passwords and keys that people have to change. */
function Knew({ of: { passwords, sameKey, secrets } }: { of: Certificate["knew"] }) {
  if (passwords.length + sameKey.length + secrets.length === 0) return null;
  return (
    <Panel title="It knew these: change them">
      <ul>
        {passwords.map(({ folder, label, with: peer }) => (
          <li key={folder + peer}>
            The encryption password of folder <Strong>{label || folder}</Strong> for {shortID(peer)}
          </li>
        ))}
        {sameKey.map(({ deviceID, label }) => (
          <li key={deviceID}>
            The API key of <Strong>{label || shortID(deviceID)}</Strong>, which is the same
          </li>
        ))}
        {secrets.map((name) => (
          <li key={name}>
            The secret <Strong>{name}</Strong>, which templates of the device name
          </li>
        ))}
      </ul>
    </Panel>
  );
}

/** Unknown lists the devices of which nothing can be known. */
function Unknown({ of: { unmanaged, moreUnmanaged, revoked } }: { of: Certificate }) {
  if (unmanaged.length + revoked.length === 0) return null;
  return (
    <Panel title="Cannot be known">
      <ul>
        {unmanaged.map(({ deviceID, knownBy }) => (
          <li key={deviceID}>
            <Mono>{shortID(deviceID)}</Mono>, not managed, in the configuration of {plural(knownBy, "managed device")}
          </li>
        ))}
        {moreUnmanaged > 0 && <li>and {count(moreUnmanaged)} more</li>}
        {revoked.map(({ deviceID, label }) => (
          <li key={deviceID}>{label || shortID(deviceID)}, which is revoked itself</li>
        ))}
      </ul>
    </Panel>
  );
}
