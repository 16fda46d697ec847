import { Tabs } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense } from "react";
import { useSearchParams } from "wouter";
import { queries } from "../../api/queries";
import { Ghosts, Page } from "../../ui/page";
import { Writing } from "./Writing";

const General = lazy(() => import("./General"));
const Account = lazy(() => import("./Account"));
const People = lazy(() => import("./People"));
const Tokens = lazy(() => import("./Tokens"));
const Secrets = lazy(() => import("./Secrets"));
const Sinks = lazy(() => import("./Sinks"));
const Enrolment = lazy(() => import("./Enrolment"));
const Notifications = lazy(() => import("./Notifications"));
const Server = lazy(() => import("./Server"));

const tabs = {
  writing: "Writing",
  general: "General",
  account: "Your account",
  people: "People",
  tokens: "Tokens",
  enrolment: "Enrolment",
  secrets: "Secrets",
  notifications: "Notifications",
  sinks: "Sinks",
  server: "Server",
};

/** Settings are of the fleet, of people and of the server. */
export default function Settings() {
  const [params, setParams] = useSearchParams();
  const tab = params.get("tab") ?? "writing";
  const overview = useQuery(queries.overview());
  return (
    <Page title="Settings" updatedAt={overview.dataUpdatedAt}>
      <Tabs value={tab} onChange={(to) => setParams(to === "writing" ? {} : { tab: to ?? "" })}>
        <Tabs.List>
          {Object.entries(tabs).map(([value, title]) => (
            <Tabs.Tab key={value} value={value}>
              {title}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value={tab} pt="lg">
          <Suspense fallback={<Ghosts />}>
            {tab === "writing" && <Writing />}
            {tab === "general" && <General />}
            {tab === "account" && <Account />}
            {tab === "people" && <People />}
            {tab === "tokens" && <Tokens />}
            {tab === "enrolment" && <Enrolment />}
            {tab === "secrets" && <Secrets />}
            {tab === "notifications" && <Notifications />}
            {tab === "sinks" && <Sinks />}
            {tab === "server" && <Server />}
          </Suspense>
        </Tabs.Panel>
      </Tabs>
    </Page>
  );
}
