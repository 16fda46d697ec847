import { MantineProvider } from "@mantine/core";
import { Notifications } from "@mantine/notifications";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { lazy, Suspense, type ReactNode } from "react";
import { Route, Router, Switch, useLocation } from "wouter";
import { asProblem } from "./api/problem";
import { Frame } from "./frame/Frame";
import { Live } from "./live/Live";
import { Device } from "./pages/devices/Device";
import { Devices } from "./pages/devices/Devices";
import { Waiting } from "./pages/waiting/Waiting";
import { Session } from "./session/Session";
import { Boundary } from "./ui/boundary";
import { Copies } from "./ui/copies";
import { decoded } from "./ui/format";
import { Hints } from "./ui/hint";
import { nonce } from "./ui/nonce";
import { Ghosts, Nothing, Page } from "./ui/page";
import { To } from "./ui/text";
import { theme } from "./ui/theme";


const Audit = lazy(() => import("./pages/audit/Audit"));
const Events = lazy(() => import("./pages/events/Events"));
const KeptEvents = lazy(() => import("./pages/events/KeptEvents"));
const File = lazy(() => import("./pages/folders/File"));
const Folder = lazy(() => import("./pages/folders/Folder"));
const FolderMatrix = lazy(() => import("./pages/folders/FolderMatrix"));
const Folders = lazy(() => import("./pages/folders/Folders"));
const Revocation = lazy(() => import("./pages/revocations/Revocation"));
const Rollout = lazy(() => import("./pages/rollouts/Rollout"));
const Rollouts = lazy(() => import("./pages/rollouts/Rollouts"));
const Settings = lazy(() => import("./pages/settings/Settings"));
const Tag = lazy(() => import("./pages/tags/Tag"));
const Tags = lazy(() => import("./pages/tags/Tags"));
const FormPage = lazy(() => import("./pages/templates/FormPage"));
const Wishes = lazy(() => import("./pages/templates/Wishes"));
const ShareFolder = lazy(() => import("./pages/templates/Share"));
const Template = lazy(() => import("./pages/templates/Template"));
const TemplateOrder = lazy(() => import("./pages/templates/TemplateOrder"));
const Templates = lazy(() => import("./pages/templates/Templates"));

const client = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      retry: (times, error) => times < 2 && asProblem(error).status >= 500,
    },
  },
});

const prefix = new URL(document.baseURI).pathname.replace(/\/$/, "");

export function App() {
  return (
    <MantineProvider theme={theme} defaultColorScheme="auto" getStyleNonce={() => nonce}>
      <QueryClientProvider client={client}>
        <Router base={prefix}>
          <Notifications position="bottom-right" />
          <Hints />
          <Copies />
          <Session>
            <Live>
              <Frame>
                <Here>
                  <Suspense fallback={<Waits />}>
                    <Routes />
                  </Suspense>
                </Here>
              </Frame>
            </Live>
          </Session>
        </Router>
      </QueryClientProvider>
    </MantineProvider>
  );
}

/** Here shows the page of the address; one that fails leaves the frame as it is. */
function Here({ children }: { children: ReactNode }) {
  const [location] = useLocation();
  return <Boundary at={location}>{children}</Boundary>;
}

function Waits() {
  return (
    <main className="u-page">
      <Ghosts />
    </main>
  );
}

function Routes() {
  return (
    <Switch>
      <Route path="/" component={Waiting} />
      <Route path="/devices" component={Devices} />
      <Route path="/devices/:id/:tab?">{({ id, tab }) => <Device key={id} id={id} tab={tab ?? "overview"} />}</Route>
      <Route path="/templates" component={Templates} />
      <Route path="/templates/share">{() => <ShareFolder />}</Route>
      <Route path="/templates/forms" component={Wishes} />
      <Route path="/templates/forms/:name">{({ name }) => <FormPage key={name} name={name} />}</Route>
      <Route path="/templates/order" component={TemplateOrder} />
      <Route path="/templates/:id">{({ id }) => <Template key={id} id={id} />}</Route>
      <Route path="/folder-matrix" component={FolderMatrix} />
      <Route path="/folders" component={Folders} />
      <Route path="/folders/:id/file">{({ id }) => <File key={id} id={id} />}</Route>
      <Route path="/folders/:id">{({ id }) => <Folder key={id} id={id} />}</Route>
      <Route path="/revocations/:id">{({ id }) => <Revocation key={id} id={id} />}</Route>
      <Route path="/rollouts" component={Rollouts} />
      <Route path="/rollouts/:id">{({ id }) => <Rollout key={id} id={Number(id)} />}</Route>
      <Route path="/tags" component={Tags} />
      <Route path="/tags/:tag">{({ tag }) => <Tag key={tag} tag={decoded(tag)} />}</Route>
      <Route path="/events" component={Events} />
      <Route path="/events/kept" component={KeptEvents} />
      <Route path="/audit" component={Audit} />
      <Route path="/settings" component={Settings} />
      <Route>
        <Page title="Nothing here">
          <Nothing title="There is no page at this address">
            <To href="/">Go to what waits</To>
          </Nothing>
        </Page>
      </Route>
    </Switch>
  );
}
