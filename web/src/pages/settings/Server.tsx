import { useQuery } from "@tanstack/react-query";
import { download } from "../../api/download";
import { queries } from "../../api/queries";
import { count, plural, sentence, size } from "../../ui/format";
import { Columns, Fact, Facts, Panel, Rows, Stack } from "../../ui/layout";
import { Loads, Note, Nothing } from "../../ui/page";
import { RunningDemo } from "../start/Demo";
import { Ago, Faint, Mono, Muted, Strong, Text, To } from "../../ui/text";

/** Server is what the service itself has to say: backup, certificate, who is told of problems. */
export default function Server() {
  const overview = useQuery(queries.overview());
  const version = useQuery(queries.version());
  return (
    <Loads query={overview}>
      {(data) => (
        <Columns wide>
          <Panel title="This server">
            <Facts>
              {version.data && (
                <Fact name="Muster">
                  {version.data.version}
                  {version.data.commit && <Muted> commit {version.data.commit}</Muted>}
                </Fact>
              )}
              <Fact name="Devices">{count(data.devices)}</Fact>
              <Fact name="Templates">{count(data.templates)}</Fact>
              <Fact name="Tags">{count(data.tags)}</Fact>
              <Fact name="Changes of templates and tags">{count(data.generation)}</Fact>
              <Fact name="API">
                <button type="button" className="u-link" onClick={() => void download("/api/v1/openapi.json")}>
                  OpenAPI document
                </button>
              </Fact>
              {data.certificate && (
                <>
                  <Fact name="Certificate">
                    <Mono>{data.certificate.fingerprint}</Mono>
                  </Fact>
                  <Fact name="Ends">
                    <Ago at={data.certificate.expiresAt} />
                  </Fact>
                </>
              )}
            </Facts>
          </Panel>
          <RunningDemo />
          <Panel title="Backup">
            {data.backup ? (
              <Stack>
                {data.backup.trouble && <Note tone="bad">{sentence(data.backup.trouble)}</Note>}
                <Facts>
                  <Fact name="Newest">
                    <Ago at={data.backup.lastAt} />
                  </Fact>
                  <Fact name="File">{data.backup.file || <Muted>none yet</Muted>}</Fact>
                  <Fact name="Size">{size(data.backup.bytes)}</Fact>
                </Facts>
              </Stack>
            ) : (
              <Nothing title="No backups are made by themselves">
                Set <Mono>backupTo</Mono> and <Mono>backupEvery</Mono>, under{" "}
                <To href="/settings?tab=general">General</To>.
              </Nothing>
            )}
          </Panel>
          <Panel title="Who is told of problems" flush>
            {data.receivers.length === 0 ? (
              <Nothing title="Nobody">
                Set <Mono>notifyURLs</Mono> or <Mono>notifyMailTo</Mono>, under <To href="/settings?tab=general">General</To>.
              </Nothing>
            ) : (
              <Rows>
                {data.receivers.map((receiver) => (
                  <li key={receiver.name}>
                    <Stack tight>
                      <Strong>{receiver.name}</Strong>
                      <Faint>{plural(receiver.waiting, "message")} not delivered yet</Faint>
                      {receiver.trouble && <Text>{sentence(receiver.trouble)}</Text>}
                    </Stack>
                  </li>
                ))}
              </Rows>
            )}
          </Panel>
        </Columns>
      )}
    </Loads>
  );
}
